//! The same plan as hand-written wgpu, on the same device: what a replay is held against.
//!
//! Written as an expert would: pipelines, bind groups and buffers are made once, a run only encodes and submits.

use std::time::Duration;

use graphreel::KernelSource;
use graphreel::device::Device;
use graphreel::kernel::{BindingSpace, Reflection, reflect};

use super::baseline_run::Run;
use super::plan::{Contents, Expected, POISON, Plan};
use super::stopwatch::Stopwatch;

/// The longest that one run may take.
const RUN_MAX: Duration = Duration::from_secs(120);

/// A plan in wgpu's own objects.
pub(crate) struct Baseline {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipelines: Vec<wgpu::ComputePipeline>,
    buffers: Vec<wgpu::Buffer>,
    results: Vec<usize>,
    nodes: Vec<Dispatch>,
}

struct Dispatch {
    pipeline: usize,
    bind_group: wgpu::BindGroup,
    immediates: Vec<u8>,
    groups: [u32; 3],
}

impl Baseline {
    /// The plan on the wgpu device below `device`; `None` where that is no wgpu device.
    ///
    /// # Errors
    ///
    /// Why the plan cannot be run by hand there.
    pub(crate) fn of(device: &Device, plan: &Plan) -> Result<Option<Self>, String> {
        let raw = device.with_server(|server: &mut graphreel_wgpu::WgpuServer| {
            let (device, queue) = server.raw_device();
            (device.clone(), queue.clone())
        });
        let Some((device, queue)) = raw else { return Ok(None) };
        Self::new(device, queue, plan).map(Some)
    }

    /// Make everything that a run needs.
    ///
    /// # Errors
    ///
    /// What wgpu says, as text.
    fn new(device: wgpu::Device, queue: wgpu::Queue, plan: &Plan) -> Result<Self, String> {
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let made = Self::make(&device, &queue, plan);
        match (pollster::block_on(scope.pop()), made) {
            (Some(error), _) => Err(error.to_string()),
            (None, made) => made,
        }
    }

    fn make(device: &wgpu::Device, queue: &wgpu::Queue, plan: &Plan) -> Result<Self, String> {
        let reflections = plan.kernels.iter().map(|source| reflect(source).map_err(|error| error.to_string()));
        let reflections: Vec<Reflection> = reflections.collect::<Result<_, _>>()?;
        if reflections.iter().any(|kernel| kernel.bindings.iter().any(|binding| binding.group != 0)) {
            return Err("it is written for kernels with one bind group".to_owned());
        }
        if reflections.iter().any(|kernel| kernel.immediate_bytes > device.limits().max_immediate_size) {
            return Err("it passes scalars as immediates, which this device lacks".to_owned());
        }
        let layouts: Vec<_> = reflections.iter().map(|kernel| group_layout(device, kernel)).collect();
        let kernels = plan.kernels.iter().zip(&reflections).zip(&layouts);
        let pipelines = kernels.map(|((source, kernel), layout)| pipeline(device, source, kernel, layout)).collect();
        let buffers: Vec<_> = plan.buffers.iter().map(|contents| buffer(device, queue, contents)).collect();
        let nodes = plan.nodes.iter().map(|node| {
            let bindings = &reflections[node.kernel].bindings;
            let entries = bindings.iter().zip(&node.buffers).map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding: binding.binding,
                resource: buffers[*buffer].as_entire_binding(),
            });
            let entries: Vec<_> = entries.collect();
            let layout = &layouts[node.kernel];
            Dispatch {
                pipeline: node.kernel,
                bind_group: device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: None,
                    layout,
                    entries: &entries,
                }),
                immediates: node.scalars.iter().flat_map(|scalar| scalar.bytes().to_vec()).collect(),
                groups: node.groups,
            }
        });
        let nodes = nodes.collect();
        let is_result = |index: &usize| matches!(plan.buffers[*index], Contents::Result(_));
        let results = (0..buffers.len()).filter(is_result).collect();
        Ok(Self { device: device.clone(), queue: queue.clone(), pipelines, buffers, results, nodes })
    }

    /// Run all nodes with a submit after every `cut` of them, and wait.
    ///
    /// # Errors
    ///
    /// What wgpu says, as text.
    pub(crate) fn run(&self, cut: usize) -> Result<Run, String> {
        let stopwatch = Stopwatch::start();
        self.submit(cut);
        self.wait()?;
        Ok(Run { total: stopwatch.elapsed(), cpu: stopwatch.cpu() })
    }

    /// Submit all nodes, `cut` at a time: CPU time until the last submission. Waits for their end afterwards.
    ///
    /// # Errors
    ///
    /// What wgpu says, as text.
    pub(crate) fn issue(&self, cut: usize) -> Result<Option<Duration>, String> {
        let stopwatch = Stopwatch::start();
        self.submit(cut);
        let cpu = stopwatch.cpu();
        self.wait()?;
        Ok(cpu)
    }

    fn submit(&self, cut: usize) {
        for nodes in self.nodes.chunks(cut.max(1)) {
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                self.encode(&mut pass, nodes);
            }
            self.queue.submit([encoder.finish()]);
        }
    }

    fn encode(&self, pass: &mut wgpu::ComputePass<'_>, nodes: &[Dispatch]) {
        let mut current = None;
        for node in nodes {
            if current != Some(node.pipeline) {
                pass.set_pipeline(&self.pipelines[node.pipeline]);
                current = Some(node.pipeline);
            }
            pass.set_bind_group(0, &node.bind_group, &[]);
            if !node.immediates.is_empty() {
                pass.set_immediates(0, &node.immediates);
            }
            let [x, y, z] = node.groups;
            pass.dispatch_workgroups(x, y, z);
        }
    }

    fn wait(&self) -> Result<(), String> {
        let wait = wgpu::PollType::Wait { submission_index: None, timeout: Some(RUN_MAX) };
        self.device.poll(wait).map(|_| ()).map_err(|error| error.to_string())
    }

    /// Fill all buffers but the inputs with what no node leaves.
    pub(crate) fn poison(&self) {
        for index in &self.results {
            let buffer = &self.buffers[*index];
            let words = vec![POISON; (buffer.size() / 4) as usize];
            self.queue.write_buffer(buffer, 0, bytemuck::cast_slice(&words));
        }
    }

    /// Hold the results against the host's.
    ///
    /// # Errors
    ///
    /// What differs first, or what wgpu says.
    pub(crate) fn check(&self, expected: &[Expected]) -> Result<(), String> {
        expected.iter().try_for_each(|expected| expected.check(&self.read(&self.buffers[expected.buffer])?))
    }

    fn read(&self, buffer: &wgpu::Buffer) -> Result<Vec<u8>, String> {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let staging = wgpu::BufferDescriptor { label: None, size: buffer.size(), usage, mapped_at_creation: false };
        let staging = self.device.create_buffer(&staging);
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
        self.queue.submit([encoder.finish()]);
        staging.map_async(wgpu::MapMode::Read, .., |_| {});
        self.wait()?;
        // A range that is not mapped says so here.
        let view = staging.get_mapped_range(..).map_err(|error| error.to_string())?;
        Ok(view.to_vec())
    }
}

fn group_layout(device: &wgpu::Device, kernel: &Reflection) -> wgpu::BindGroupLayout {
    let entries = kernel.bindings.iter().map(|binding| wgpu::BindGroupLayoutEntry {
        binding: binding.binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: match binding.space {
                BindingSpace::Storage => wgpu::BufferBindingType::Storage { read_only: !binding.declared_write },
                BindingSpace::Uniform => wgpu::BufferBindingType::Uniform,
            },
            has_dynamic_offset: false,
            min_binding_size: std::num::NonZeroU64::new(binding.min_bytes),
        },
        count: None,
    });
    let entries: Vec<_> = entries.collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries })
}

fn pipeline(
    device: &wgpu::Device,
    source: &KernelSource,
    kernel: &Reflection,
    layout: &wgpu::BindGroupLayout,
) -> wgpu::ComputePipeline {
    let text = wgpu::ShaderSource::Wgsl((*source.wgsl).into());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source: text });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: None,
        bind_group_layouts: &[Some(layout)],
        immediate_size: kernel.immediate_bytes,
    });
    let constants: Vec<_> = source.overrides.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let options = wgpu::PipelineCompilationOptions { constants: &constants, ..Default::default() };
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(&kernel.entry),
        layout: Some(&layout),
        module: &module,
        entry_point: Some(&kernel.entry),
        compilation_options: options,
        cache: None,
    })
}

fn buffer(device: &wgpu::Device, queue: &wgpu::Queue, contents: &Contents) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let bytes = contents.initial();
    let size = bytes.len() as u64;
    let buffer = device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    queue.write_buffer(&buffer, 0, &bytes);
    buffer
}

#[cfg(test)]
mod tests {
    use super::super::target::wgpu_device;
    use super::super::topology::{Shape, gpu_bound, launch_bound};
    use super::*;

    #[test]
    fn work_by_hand_gives_the_hosts_bytes() {
        let Some(device) = wgpu_device() else { return };
        let (digits, _) = crate::digits::plan(
            &crate::digits::network().expect("shipped"),
            &crate::digits::images().expect("shipped"),
        );
        let shapes = [Shape::Chain, Shape::Independent, Shape::Fanout, Shape::Diamond];
        let plans = shapes.map(|shape| launch_bound(shape, 45)).into_iter().chain([gpu_bound(3, 100), digits]);
        for (index, plan) in plans.enumerate() {
            let baseline = Baseline::of(&device, &plan).expect("valid work").expect("a device of wgpu");
            for cut in [usize::MAX, 7, 1] {
                baseline.poison();
                assert!(baseline.check(&plan.expected).is_err(), "plan {index}: poisoned buffers are not the result");
                baseline.run(cut).expect("the device is there");
                assert_eq!(baseline.check(&plan.expected), Ok(()), "plan {index}, cut at {cut}");
            }
        }
    }
}
