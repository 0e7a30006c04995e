//! Kernels on wgpu: naga's module lowered to what wgpu takes, an explicit layout, a pipeline. Compiles without the server's
//! lock.
//!
//! Bindings declare what the kernel does with them, so that wgpu orders only work that depends on other work; a
//! `var<uniform>` is read as storage, since a buffer cannot be written as one and read as the other at once. wgpu refuses a
//! dispatch that binds one buffer both to be read and to be written. Where a launch does that with two slices of one
//! buffer, it runs a second variant of the kernel, in which every binding is `read_write`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use graphreel::ServerError;
use graphreel::error::{InvalidKernel, KernelProblem, Result};
use graphreel::kernel::{
    BindingInfo, Compiler, Kernel, KernelSource, Lowering, Reflection, Scalars, StorageAccessAs, lower, reflect,
};
use graphreel::memory::Access;
use graphreel::op::Op;
use graphreel::sync::{Arc, OnceLock};

use crate::gpu::{Gpu, resource_id};

/// What wgpu made of a kernel.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) scalars: ScalarShape,
    exact: Variant,
    /// Whether each argument is bound to be written, in the exact variant.
    written: Vec<bool>,
    /// Where arguments are read and others written: for launches in which one buffer is both.
    meeting: Option<Meeting>,
}

/// One pipeline of a kernel.
#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) id: u64,
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) groups: Vec<GroupShape>,
}

/// The variant with every binding `read_write`, compiled when a launch first needs it.
#[derive(Debug)]
struct Meeting {
    gpu: Arc<Gpu>,
    source: KernelSource,
    variant: OnceLock<Variant>,
}

impl Compiled {
    /// The variant for arguments that lie in these buffers, by number.
    ///
    /// # Errors
    ///
    /// What compiling the second variant answers.
    pub(crate) fn variant<P: PartialEq>(&self, places: impl Fn(usize) -> P) -> Result<&Variant> {
        match &self.meeting {
            Some(meeting) if self.meets(places) => meeting.variant(self.scalars),
            _ => Ok(&self.exact),
        }
    }

    /// Whether one buffer is to be read and written at once.
    fn meets<P: PartialEq>(&self, places: impl Fn(usize) -> P) -> bool {
        let pairs = (1..self.written.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
        pairs
            .into_iter()
            .any(|(first, second)| self.written[first] != self.written[second] && places(first) == places(second))
    }
}

impl Meeting {
    /// A compilation that failed is tried again: memory may have been short.
    fn variant(&self, scalars: ScalarShape) -> Result<&Variant> {
        if let Some(variant) = self.variant.get() {
            return Ok(variant);
        }
        let lowered = lower(&self.source, lowering(scalars, StorageAccessAs::ReadWrite))?;
        let (reflection, module) = (&lowered.reflection, lowered.module);
        let variant =
            guarded(&self.gpu, &reflection.entry, || build(&self.gpu, reflection, scalars, module, |_| true))?;
        Ok(self.variant.get_or_init(|| variant))
    }
}

/// One bind group of a kernel.
#[derive(Debug)]
pub(crate) struct GroupShape {
    /// `@group`.
    pub(crate) index: u32,
    pub(crate) layout: wgpu::BindGroupLayout,
    /// `@binding`, and the buffer argument that fills it.
    pub(crate) slots: Vec<(u32, usize)>,
}

/// How a kernel gets its scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarShape {
    /// It has none.
    None,
    /// As immediates, this many bytes.
    Immediate(u32),
    /// As the uniform entry bound at this group.
    Uniform(u32),
}

/// Compiles for one device.
#[derive(Debug)]
pub(crate) struct WgpuCompiler {
    pub(crate) gpu: Arc<Gpu>,
}

impl Compiler for WgpuCompiler {
    fn compile(&self, source: &KernelSource) -> Result<Kernel> {
        self.gpu.monitor.check()?;
        if let Some(native) = source.native() {
            return Err(native.refused_by("wgpu").into());
        }
        let reflection = reflect(source)?;
        let refuse = |problem| InvalidKernel { kernel: Some(reflection.entry.to_string()), problem };
        self.check_caps(&reflection).map_err(|why| refuse(KernelProblem::Unsupported(why)))?;
        let scalars = self.scalar_shape(&reflection).map_err(|why| refuse(KernelProblem::Unsupported(why)))?;
        let lowered = lower(source, lowering(scalars, StorageAccessAs::Used))?;
        let make = || build(&self.gpu, &reflection, scalars, lowered.module, writes);
        let exact = guarded(&self.gpu, &reflection.entry, make)?;
        self.gpu.monitor.check()?;
        tracing::debug!(entry = &*reflection.entry, ?scalars, "kernel compiled");
        let written: Vec<bool> = reflection.bindings.iter().map(writes).collect();
        let mixed = written.contains(&true) && written.contains(&false);
        let meeting =
            mixed.then(|| Meeting { gpu: self.gpu.clone(), source: source.clone(), variant: OnceLock::new() });
        let compiled = Compiled { scalars, exact, written, meeting };
        Ok(Kernel::new(self.gpu.info.id, source.clone(), reflection, Box::new(compiled)))
    }

    fn prepare(&self, op: &Op) -> Result<()> {
        let Some(launch) = op.launch() else { return Ok(()) };
        let Some(compiled) = launch.kernel.compiled::<Compiled>() else { return Ok(()) };
        // A launch with another number of buffers is refused by its argument check.
        let Some(meeting) = &compiled.meeting else { return Ok(()) };
        if launch.buffers.len() != compiled.written.len() {
            return Ok(());
        }
        // An update may put any buffer into a slot, and holds the lock while it does.
        if launch.buffers.iter().any(|buffer| buffer.slot.is_some()) {
            return meeting.variant(compiled.scalars).map(|_| ());
        }
        compiled.variant(|argument| launch.buffers[argument].binding.memory.id()).map(|_| ())
    }
}

/// Build a pipeline with wgpu's errors caught, and its panics: naga's SPIR-V writer panics over some valid kernels (a pointer
/// to an element at a computed index, given to a function).
fn guarded(gpu: &Gpu, entry: &str, make: impl FnOnce() -> Variant) -> Result<Variant> {
    let made = gpu.scoped(|| catch_unwind(AssertUnwindSafe(make)));
    let text = match made {
        Ok(Ok(variant)) => return Ok(variant),
        Ok(Err(_)) => {
            "wgpu's compiler panicked over it; write the kernel in another way, and report it to wgpu".to_owned()
        }
        Err(caught) => caught.text,
    };
    Err(refused(gpu, entry, KernelProblem::Backend(text)))
}

/// What a failed compilation answers.
fn refused(gpu: &Gpu, entry: &str, problem: KernelProblem) -> ServerError {
    gpu.monitor.lost().unwrap_or_else(|| InvalidKernel { kernel: Some(entry.to_owned()), problem }.into())
}

/// Whether a binding is bound to be written. One that is not used is bound as it is declared.
fn writes(binding: &BindingInfo) -> bool {
    binding.access.map_or(binding.declared_write, Access::writes)
}

impl WgpuCompiler {
    /// What wgpu would refuse with a text that names none of ours.
    fn check_caps(&self, reflection: &Reflection) -> Result<(), String> {
        reflection.check(&self.gpu.caps)?;
        let groups = self.gpu.limits.max_bind_groups;
        match reflection.bindings.iter().find(|binding| binding.group >= groups) {
            Some(binding) => {
                Err(format!("`{}` is in @group({}), and this device has {groups} groups", binding.name, binding.group))
            }
            None => Ok(()),
        }
    }

    fn scalar_shape(&self, reflection: &Reflection) -> Result<ScalarShape, String> {
        let bytes = reflection.immediate_bytes.next_multiple_of(4);
        if reflection.immediates.is_empty() {
            return Ok(ScalarShape::None);
        }
        if bytes <= self.gpu.caps.immediate_bytes_max {
            return Ok(ScalarShape::Immediate(bytes));
        }
        let taken = |group: &u32| reflection.bindings.iter().any(|binding| binding.group == *group);
        let free = (0..self.gpu.limits.max_bind_groups).find(|group| !taken(group));
        free.map(ScalarShape::Uniform).ok_or_else(|| {
            "it has scalars and uses every bind group; this device has no immediates, so leave one group free"
                .to_owned()
        })
    }
}

fn lowering(scalars: ScalarShape, storage: StorageAccessAs) -> Lowering {
    Lowering {
        scalars: match scalars {
            ScalarShape::Uniform(group) => Scalars::Uniform { group, binding: 0 },
            ScalarShape::None | ScalarShape::Immediate(_) => Scalars::Immediate,
        },
        storage,
        uniform_as_storage: true,
    }
}

/// Called in an error scope.
fn build(
    gpu: &Gpu,
    reflection: &Reflection,
    scalars: ScalarShape,
    module: naga::Module,
    written: impl Fn(&BindingInfo) -> bool,
) -> Variant {
    let device = &gpu.device;
    let label = Some(&*reflection.entry);
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label,
        source: wgpu::ShaderSource::Naga(Cow::Owned(module)),
    });
    let groups = group_shapes(device, reflection, written);
    let (immediate_size, scalar_group) = match scalars {
        ScalarShape::None => (0, None),
        ScalarShape::Immediate(bytes) => (bytes, None),
        ScalarShape::Uniform(group) => (0, Some(group)),
    };
    let mut layouts: BTreeMap<u32, &wgpu::BindGroupLayout> =
        groups.iter().map(|group| (group.index, &group.layout)).collect();
    if let Some(group) = scalar_group {
        layouts.insert(group, &gpu.scalar_layout);
    }
    let count = layouts.last_key_value().map_or(0, |(last, _)| last + 1);
    let layouts: Vec<_> = (0..count).map(|index| layouts.get(&index).copied()).collect();
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &layouts,
        immediate_size,
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label,
        layout: Some(&layout),
        module: &module,
        entry_point: Some(&reflection.entry),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    Variant { id: resource_id(), pipeline, groups }
}

fn group_shapes(
    device: &wgpu::Device,
    reflection: &Reflection,
    written: impl Fn(&BindingInfo) -> bool,
) -> Vec<GroupShape> {
    let mut slots: BTreeMap<u32, Vec<(u32, usize)>> = BTreeMap::new();
    for (argument, binding) in reflection.bindings.iter().enumerate() {
        slots.entry(binding.group).or_default().push((binding.binding, argument));
    }
    let shape = |(index, slots): (u32, Vec<(u32, usize)>)| {
        let entries: Vec<_> = slots
            .iter()
            .map(|(binding, argument)| {
                let info = &reflection.bindings[*argument];
                storage_entry(*binding, written(info), info.min_bytes)
            })
            .collect();
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(&reflection.entry),
            entries: &entries,
        });
        GroupShape { index, layout, slots }
    };
    slots.into_iter().map(shape).collect()
}

/// A storage buffer at `binding`, bound to be written or only read. With the least size known here, wgpu need not look at
/// it again at each dispatch.
pub(crate) fn storage_entry(binding: u32, written: bool, min_bytes: u64) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Storage { read_only: !written },
            has_dynamic_offset: false,
            min_binding_size: wgpu::BufferSize::new(min_bytes),
        },
        count: None,
    }
}

#[cfg(test)]
mod tests {
    use graphreel::Server;
    use graphreel::error::KernelProblem;
    use graphreel::kernel::Wgsl;

    use crate::tests::Breakable;

    #[test]
    fn a_kernel_over_which_wgpu_panics_is_refused() {
        let Some(rig) = Breakable::open() else { return };
        let text = "
            @group(0) @binding(0) var<storage, read_write> b: array<u32>;
            fn bump(p: ptr<function, u32>) { *p += 1u; }
            @compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
                var a = array<u32, 4>();
                bump(&a[id.x & 3u]);
                b[0] = a[0];
            }";
        let compiler = rig.server.compiler();
        // A later wgpu may compile it, which is as good.
        if let Err(error) = compiler.compile(&Wgsl::new(text).into()) {
            let graphreel::ServerError::InvalidKernel(invalid) = &error else { panic!("{error:?}") };
            assert!(matches!(invalid.problem, KernelProblem::Backend(_)), "{error}");
            assert!(error.to_string().contains("another way"), "{error}");
        }
        let plain = "@group(0) @binding(0) var<storage, read_write> b: array<u32>;
            @compute @workgroup_size(1) fn main() { b[0] = 1u; }";
        compiler.compile(&Wgsl::new(plain).into()).expect("the device goes on");
    }
}
