//! Graphs and what is made of them. Kinds of nodes, flags and results of updates have the same numbers in both.
#![expect(unsafe_code, reason = "the driver is called")]

use std::ffi::{c_uint, c_ulonglong, c_void};
use std::ptr::{null, null_mut};

use graphreel_hip_sys::constant::hipErrorInvalidValue;
use graphreel_hip_sys::handle::{
    hipGraph_t, hipGraphExec_t, hipGraphExecUpdateResult, hipGraphNode_t, hipGraphNodeType, hipMemcpyKind,
};
use graphreel_hip_sys::structure::{hipHostNodeParams, hipKernelNodeParams, hipMemsetParams};

use super::exported;
use crate::context::current;
use crate::cuda::UpdateResult;
use crate::node::{Copy3D, Extra, Fill, KernelNode};

exported! {
    bound hipGraphCreate(graph: *mut hipGraph_t, flags: c_uint) |cuda| (cuda.cuGraphCreate)(graph.cast(), flags);
    bound hipGraphDestroy(graph: hipGraph_t) |cuda| (cuda.cuGraphDestroy)(graph.cast());
    bound hipGraphClone(clone: *mut hipGraph_t, graph: hipGraph_t) |cuda| (cuda.cuGraphClone)(clone.cast(), graph.cast());
    bound hipGraphAddKernelNode(
        node: *mut hipGraphNode_t,
        graph: hipGraph_t,
        after: *const hipGraphNode_t,
        count: usize,
        params: *const hipKernelNodeParams,
    ) |cuda| {
        let Some(launch) = params.as_ref() else { return hipErrorInvalidValue };
        let mut extra = Extra::of(launch.extra);
        let params = KernelNode::new(launch, extra.as_mut().map_or(null_mut(), Extra::as_out));
        (cuda.cuGraphAddKernelNode)(node.cast(), graph.cast(), after.cast(), count, &raw const params)
    };
    bound hipGraphAddMemcpyNode1D(
        node: *mut hipGraphNode_t,
        graph: hipGraph_t,
        after: *const hipGraphNode_t,
        count: usize,
        dst: *mut c_void,
        src: *const c_void,
        bytes: usize,
        kind: hipMemcpyKind,
    ) |cuda| {
        let copy = Copy3D::row(dst, src, bytes, kind);
        (cuda.cuGraphAddMemcpyNode)(node.cast(), graph.cast(), after.cast(), count, &raw const copy, current(cuda))
    };
    bound hipGraphAddMemsetNode(
        node: *mut hipGraphNode_t,
        graph: hipGraph_t,
        after: *const hipGraphNode_t,
        count: usize,
        params: *const hipMemsetParams,
    ) |cuda| {
        let Some(fill) = params.as_ref().map(Fill::from) else { return hipErrorInvalidValue };
        (cuda.cuGraphAddMemsetNode)(node.cast(), graph.cast(), after.cast(), count, &raw const fill, current(cuda))
    };
    bound hipGraphAddEmptyNode(
        node: *mut hipGraphNode_t, graph: hipGraph_t, after: *const hipGraphNode_t, count: usize
    ) |cuda| (cuda.cuGraphAddEmptyNode)(node.cast(), graph.cast(), after.cast(), count);
    // The structure is the same in both.
    bound hipGraphAddHostNode(
        node: *mut hipGraphNode_t,
        graph: hipGraph_t,
        after: *const hipGraphNode_t,
        count: usize,
        params: *const hipHostNodeParams,
    ) |cuda| (cuda.cuGraphAddHostNode)(node.cast(), graph.cast(), after.cast(), count, params.cast());
    bound hipGraphAddChildGraphNode(
        node: *mut hipGraphNode_t, graph: hipGraph_t, after: *const hipGraphNode_t, count: usize, child: hipGraph_t
    ) |cuda| (cuda.cuGraphAddChildGraphNode)(node.cast(), graph.cast(), after.cast(), count, child.cast());
    bound hipGraphAddDependencies(
        graph: hipGraph_t, from: *const hipGraphNode_t, to: *const hipGraphNode_t, count: usize
    ) |cuda| (cuda.cuGraphAddDependencies)(graph.cast(), from.cast(), to.cast(), null(), count);
    bound hipGraphGetNodes(graph: hipGraph_t, nodes: *mut hipGraphNode_t, count: *mut usize) |cuda|
        (cuda.cuGraphGetNodes)(graph.cast(), nodes.cast(), count);
    bound hipGraphGetRootNodes(graph: hipGraph_t, nodes: *mut hipGraphNode_t, count: *mut usize) |cuda|
        (cuda.cuGraphGetRootNodes)(graph.cast(), nodes.cast(), count);
    bound hipGraphGetEdges(
        graph: hipGraph_t, from: *mut hipGraphNode_t, to: *mut hipGraphNode_t, count: *mut usize
    ) |cuda| (cuda.cuGraphGetEdges)(graph.cast(), from.cast(), to.cast(), null_mut(), count);
    bound hipGraphNodeGetType(node: hipGraphNode_t, is: *mut hipGraphNodeType) |cuda|
        (cuda.cuGraphNodeGetType)(node.cast(), is);
    bound hipGraphInstantiateWithFlags(exec: *mut hipGraphExec_t, graph: hipGraph_t, flags: c_ulonglong) |cuda|
        (cuda.cuGraphInstantiate)(exec.cast(), graph.cast(), flags);
    bound hipGraphUpload(exec: hipGraphExec_t, stream: graphreel_hip_sys::handle::hipStream_t) |cuda|
        (cuda.cuGraphUpload)(exec.cast(), stream.cast());
    bound hipGraphLaunch(exec: hipGraphExec_t, stream: graphreel_hip_sys::handle::hipStream_t) |cuda|
        (cuda.cuGraphLaunch)(exec.cast(), stream.cast());
    bound hipGraphExecUpdate(
        exec: hipGraphExec_t, graph: hipGraph_t, wrong: *mut hipGraphNode_t, result: *mut hipGraphExecUpdateResult
    ) |cuda| {
        let mut told = UpdateResult { result: 0, node: null_mut(), from: null_mut() };
        let code = (cuda.cuGraphExecUpdate)(exec.cast(), graph.cast(), &raw mut told);
        if !wrong.is_null() {
            wrong.write(told.node.cast());
        }
        if !result.is_null() {
            result.write(told.result);
        }
        code
    };
    bound hipGraphExecKernelNodeSetParams(
        exec: hipGraphExec_t, node: hipGraphNode_t, params: *const hipKernelNodeParams
    ) |cuda| {
        let Some(launch) = params.as_ref() else { return hipErrorInvalidValue };
        let mut extra = Extra::of(launch.extra);
        let params = KernelNode::new(launch, extra.as_mut().map_or(null_mut(), Extra::as_out));
        (cuda.cuGraphExecKernelNodeSetParams)(exec.cast(), node.cast(), &raw const params)
    };
    bound hipGraphExecMemcpyNodeSetParams1D(
        exec: hipGraphExec_t,
        node: hipGraphNode_t,
        dst: *mut c_void,
        src: *const c_void,
        bytes: usize,
        kind: hipMemcpyKind,
    ) |cuda| {
        let copy = Copy3D::row(dst, src, bytes, kind);
        (cuda.cuGraphExecMemcpyNodeSetParams)(exec.cast(), node.cast(), &raw const copy, current(cuda))
    };
    bound hipGraphExecMemsetNodeSetParams(
        exec: hipGraphExec_t, node: hipGraphNode_t, params: *const hipMemsetParams
    ) |cuda| {
        let Some(fill) = params.as_ref().map(Fill::from) else { return hipErrorInvalidValue };
        (cuda.cuGraphExecMemsetNodeSetParams)(exec.cast(), node.cast(), &raw const fill, current(cuda))
    };
    bound hipGraphNodeSetEnabled(exec: hipGraphExec_t, node: hipGraphNode_t, enabled: c_uint) |cuda|
        (cuda.cuGraphNodeSetEnabled)(exec.cast(), node.cast(), enabled);
    bound hipGraphExecGetFlags(exec: hipGraphExec_t, flags: *mut c_ulonglong) |cuda|
        (cuda.cuGraphExecGetFlags)(exec.cast(), flags);
    bound hipGraphExecDestroy(exec: hipGraphExec_t) |cuda| (cuda.cuGraphExecDestroy)(exec.cast());
}
