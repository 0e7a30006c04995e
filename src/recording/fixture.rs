//! Operations over handles of no device, for the tests of this module.

use crate::kernel::{BindingInfo, BindingSpace, Kernel, KernelSource, MemberInfo, Reflection, ScalarType, ValueType};
use crate::memory::{Access, BufferBinding, Handle, MemoryService};
use crate::op::{BufferArg, GridArg, Launch, Op, ValueArg};
use crate::stream::StreamId;

/// A device's memory service and one kernel of it: `axpy` reads its first buffer, writes its second, and takes `lr`.
pub(super) struct Fixture {
    pub(super) service: MemoryService,
    kernel: Kernel,
}

impl Fixture {
    pub(super) fn new() -> Self {
        Self::with(MemoryService::new())
    }

    /// The kernel compiled again on the same device.
    pub(super) fn with(service: MemoryService) -> Self {
        Self::with_source(service, "// axpy")
    }

    pub(super) fn with_source(service: MemoryService, source: &str) -> Self {
        let binding = |binding, name: &str, access| BindingInfo {
            group: 0,
            binding,
            name: name.to_owned(),
            space: BindingSpace::Storage,
            declared_write: access == Access::Write,
            access: Some(access),
            min_bytes: 4,
            runtime_stride: Some(4),
            runtime_offset: 0,
            align: 4,
        };
        let ty = ValueType { scalar: ScalarType::F32, lanes: 1 };
        let reflection = Reflection {
            entry: "axpy".into(),
            bindings: vec![binding(0, "x", Access::Read), binding(1, "y", Access::Write)],
            immediates: vec![MemberInfo { name: "lr".to_owned(), ty, offset: 0 }],
            immediate_bytes: 4,
            workgroup_size: [64, 1, 1],
            workgroup_bytes: 0,
            uses_num_workgroups: false,
            needs: Vec::new(),
        };
        let kernel = Kernel::new(service.device(), KernelSource::from(source), reflection, Box::new(()));
        Self { service, kernel }
    }

    pub(super) fn buffer(&self, bytes: u64) -> BufferBinding {
        Handle::new(&self.service, StreamId { value: 1 }, bytes).binding()
    }

    pub(super) fn launch(&self, buffers: Vec<BufferArg>, values: Vec<ValueArg>) -> Op {
        self.launch_with(GridArg::Fixed([1; 3]), buffers, values)
    }

    pub(super) fn launch_with(&self, grid: GridArg, buffers: Vec<BufferArg>, values: Vec<ValueArg>) -> Op {
        Op::Launch(Launch { kernel: self.kernel.clone(), grid, buffers, values, label: None })
    }

    pub(super) fn copy(&self, src: BufferArg, dst: BufferArg) -> Op {
        Op::Copy { src, dst }
    }
}

pub(super) fn slot(name: &str, binding: &BufferBinding) -> BufferArg {
    BufferArg { slot: Some(name.into()), ..binding.clone().into() }
}

pub(super) fn baked(value: f32) -> ValueArg {
    ValueArg::Baked(value.into())
}

pub(super) fn param(name: &str, value: f32) -> ValueArg {
    ValueArg::Param { name: name.into(), value: value.into() }
}

pub(super) fn grid_param(name: &str, groups: [u32; 3], max: [u32; 3]) -> GridArg {
    GridArg::Param { name: name.into(), groups, max }
}
