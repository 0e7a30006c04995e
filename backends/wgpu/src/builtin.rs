//! Our own small kernels: filling with a word, and the guard before an indirect dispatch.

use graphreel::error::Result;

use crate::gpu::{Gpu, resource_id};
use crate::pipeline::storage_entry;

const FILL: &str = "
struct Fill { word: u32, first: u32, count: u32, stride: u32 }
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@group(1) @binding(0) var<uniform> fill: Fill;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    for (var i = id.x; i < fill.count; i += fill.stride) {
        words[fill.first + i] = fill.word;
    }
}
";

/// Copies the counts, or zeros where one is above the limit, so that a dispatch never exceeds what was declared.
const GUARD: &str = "
struct Guard { most: vec3<u32>, first: u32 }
@group(0) @binding(0) var<storage, read> counts: array<u32>;
@group(0) @binding(1) var<storage, read_write> grid: array<u32, 3>;
@group(1) @binding(0) var<uniform> guard: Guard;

@compute @workgroup_size(1)
fn main() {
    let wanted = vec3(counts[guard.first], counts[guard.first + 1u], counts[guard.first + 2u]);
    let allowed = all(wanted <= guard.most);
    grid[0] = select(0u, wanted.x, allowed);
    grid[1] = select(0u, wanted.y, allowed);
    grid[2] = select(0u, wanted.z, allowed);
}
";

/// Invocations of one workgroup of the fill kernel.
pub(crate) const FILL_WIDTH: u32 = 64;

/// Workgroups of a fill at most: more only cost time, since each invocation strides.
pub(crate) const FILL_GROUPS_MAX: u32 = 4096;

/// Bytes of an indirect buffer: three counts, padded.
pub(crate) const GRID_BYTES: u64 = 16;

/// Usage of an indirect buffer that the guard writes.
pub(crate) const GRID_USAGE: wgpu::BufferUsages = wgpu::BufferUsages::INDIRECT.union(wgpu::BufferUsages::STORAGE);

/// A kernel of ours: its pipeline, and the layout of its group 0. Group 1 is the scalar entry.
#[derive(Debug)]
pub(crate) struct Builtin {
    pub(crate) id: u64,
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
}

/// The kernels of this file.
#[derive(Debug)]
pub(crate) struct Builtins {
    pub(crate) fill: Builtin,
    pub(crate) guard: Builtin,
}

impl Builtins {
    /// Compile them.
    ///
    /// # Errors
    ///
    /// `DeviceFault` with what wgpu says; the device's loss.
    pub(crate) fn new(gpu: &Gpu) -> Result<Self> {
        let make = || Self {
            fill: builtin(gpu, "fill", FILL, &[(true, 4)]),
            guard: builtin(gpu, "guard", GUARD, &[(false, 4), (true, 12)]),
        };
        gpu.scoped(make).map_err(|caught| caught.into_fault(&gpu.monitor, "compiling the built-in kernels"))
    }
}

fn builtin(gpu: &Gpu, label: &'static str, source: &'static str, bindings: &[(bool, u64)]) -> Builtin {
    let device = &gpu.device;
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(label),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    let entries: Vec<_> =
        (0..).zip(bindings).map(|(binding, (written, bytes))| storage_entry(binding, *written, *bytes)).collect();
    let layout =
        device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(label), entries: &entries });
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(label),
        bind_group_layouts: &[Some(&layout), Some(&gpu.scalar_layout)],
        immediate_size: 0,
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(label),
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    Builtin { id: resource_id(), pipeline, layout }
}

/// One dispatch of the fill kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FillPart {
    /// The bound range: aligned start and length in bytes.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// The kernel's scalars.
    pub(crate) scalars: [u8; 16],
    /// Workgroups in x.
    pub(crate) groups: u32,
}

/// The dispatches that fill `bytes` from `offset` on with `word`: more than one where a binding cannot hold the range.
pub(crate) fn fill_parts(gpu: &Gpu, offset: u64, bytes: u64, word: u32) -> Vec<FillPart> {
    let alignment = u64::from(gpu.limits.min_storage_buffer_offset_alignment);
    // A binding also holds the bytes between its aligned start and the first word.
    let most = (gpu.caps.binding_bytes_max.min(1 << 31) - alignment) / alignment * alignment;
    let mut parts = Vec::new();
    let mut at = offset;
    while at < offset + bytes {
        let part = (offset + bytes - at).min(most);
        let start = at / alignment * alignment;
        let (first, count) = (((at - start) / 4) as u32, (part / 4) as u32);
        let groups = count.div_ceil(FILL_WIDTH).min(FILL_GROUPS_MAX);
        let mut scalars = [0; 16];
        for (place, value) in scalars.chunks_exact_mut(4).zip([word, first, count, groups * FILL_WIDTH]) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        parts.push(FillPart { offset: start, bytes: at + part - start, scalars, groups });
        at += part;
    }
    parts
}

/// The guard's bound range and scalars for counts at `offset`, at most `most`.
pub(crate) fn guard_part(gpu: &Gpu, offset: u64, most: [u32; 3]) -> (u64, u64, [u8; 16]) {
    let alignment = u64::from(gpu.limits.min_storage_buffer_offset_alignment);
    let start = offset / alignment * alignment;
    let first = ((offset - start) / 4) as u32;
    let mut scalars = [0; 16];
    for (place, value) in scalars.chunks_exact_mut(4).zip([most[0], most[1], most[2], first]) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    (start, offset + 12 - start, scalars)
}
