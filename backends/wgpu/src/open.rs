//! Opening a device: the adapter, the features and limits asked of it, and what they amount to.

use graphreel::device::Monitor;
use graphreel::error::Result;
use graphreel::lifecycle::hold_direct;
use graphreel::memory::MemoryService;
use graphreel::op::MAX_GROUPS;
use graphreel::recording::Tier;
use graphreel::sync::Arc;
use graphreel::{Caps, Config, DeviceInfo, ServerError};

use crate::adapters::{Select, adapters, instance, select};
use crate::fault::{Faults, poll, watch_errors, watch_loss};
use crate::gpu::{Gpu, Queue};
use crate::pages::PAGE_ALIGNMENT_MIN;
use crate::server::WgpuServer;
use crate::{needs, scalars};
use graphreel::kernel::SCALAR_BYTES_MAX;

/// Which device to open, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The adapter.
    pub select: Select,
    /// Bounds and choices.
    pub config: Config,
    /// Do as if the device had no immediates: scalars go through a uniform buffer, as on devices that have none.
    pub without_immediates: bool,
    /// Claim nothing: a backend that lives does not refuse this device, and this device refuses no backend.
    pub unleased: bool,
}

/// Features that are used where the adapter has them, with the WGSL name of those that kernels ask for.
const FEATURES: [(wgpu::Features, Option<&str>); 10] = [
    (wgpu::Features::IMMEDIATES, None),
    (wgpu::Features::TIMESTAMP_QUERY, None),
    (wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS, None),
    (wgpu::Features::TIMESTAMP_QUERY_INSIDE_PASSES, None),
    (wgpu::Features::SHADER_F16, Some("f16")),
    (wgpu::Features::SUBGROUP, Some("subgroups")),
    (wgpu::Features::SHADER_INT64, Some("int64")),
    (wgpu::Features::SHADER_F64, Some("f64")),
    (wgpu::Features::SHADER_INT64_ATOMIC_ALL_OPS, Some("int64-atomics")),
    (wgpu::Features::SHADER_FLOAT32_ATOMIC, Some("f32-atomics")),
];

/// Open the device that `options` select. Blocks while the driver opens it. Until the server is dropped the device is in
/// direct use: no backend is built beside it, unless one of the two is unleased.
///
/// # Errors
///
/// `Unsupported` when there is no such adapter, with the reason in one line; `DevicesOwned` while a backend of this process
/// lives, before the device is touched; what the driver says when it cannot be opened.
pub fn open(options: Options) -> Result<WgpuServer> {
    let (chosen, why) = select(adapters(), &options.select)?;
    let claim = match options.unleased {
        true => None,
        false => Some(hold_direct(&format!("wgpu device {}", chosen.info.name))?),
    };
    let mut wanted = FEATURES.iter().map(|(feature, _)| *feature).fold(wgpu::Features::empty(), |a, b| a | b);
    if options.without_immediates {
        wanted.remove(wgpu::Features::IMMEDIATES);
    }
    let mut limits = chosen.adapter.limits();
    if options.without_immediates {
        limits.max_immediate_size = 0;
    }
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("graphreel"),
        required_features: chosen.adapter.features() & wanted,
        required_limits: limits,
        ..wgpu::DeviceDescriptor::default()
    };
    let opening = instance();
    let (device, queue) = pollster::block_on(chosen.adapter.request_device(&descriptor)).map_err(|error| {
        ServerError::unsupported(format!("opening {} ({})", chosen.info.name, chosen.info.api), error.to_string())
    })?;
    drop(opening);
    let faults = Faults::default();
    watch_errors(&device, &faults);
    let mut server = assemble(device, queue, chosen.info, faults, options.config)?;
    server.claim = claim;
    let info = &server.gpu.info;
    tracing::info!(device = info.id.0, name = %info.name, api = %info.api, driver = %info.driver, %why, "device opened");
    Ok(server)
}

/// A server over a device, its own or an application's.
pub(crate) fn assemble(
    device: wgpu::Device,
    queue: wgpu::Queue,
    info: DeviceInfo,
    faults: Faults,
    config: Config,
) -> Result<WgpuServer> {
    let (features, limits) = (device.features(), device.limits());
    needs::check(&limits)?;
    let service = MemoryService::new();
    let monitor = Arc::new(Monitor::new(service.device()));
    watch_loss(&device, &monitor);
    // wgpu tells of a device that was destroyed before at the next poll.
    poll(&device);
    monitor.check()?;
    let caps = caps(features, &limits, config.allowed_tiers()?);
    let scalar_layout = crate::fault::scoped(&device, || scalars::layout(&device))
        .map_err(|caught| caught.into_fault(&monitor, "opening the device"))?;
    let info = DeviceInfo { id: service.device(), ..info };
    let gpu = Gpu { device, queue: Queue::new(queue), features, limits, info, caps, monitor, faults, scalar_layout };
    WgpuServer::new(Arc::new(gpu), service, config)
}

fn caps(features: wgpu::Features, limits: &wgpu::Limits, allowed: Vec<Tier>) -> Caps {
    let mut caps = Caps::minimal();
    let ours = [Tier::ReEncoded, Tier::Eager];
    caps.tiers = ours.into_iter().filter(|tier| allowed.contains(tier)).collect();
    caps.binding_alignment = u64::from(limits.min_storage_buffer_offset_alignment);
    caps.binding_bytes_max = limits.max_storage_buffer_binding_size / 4 * 4;
    // What the pool hands out is a multiple of its alignment.
    let alignment = u64::from(limits.min_storage_buffer_offset_alignment).max(PAGE_ALIGNMENT_MIN);
    caps.buffer_bytes_max = limits.max_buffer_size / alignment * alignment;
    caps.bindings_max = limits.max_storage_buffers_per_shader_stage;
    if features.contains(wgpu::Features::IMMEDIATES) {
        caps.immediate_bytes_max = limits.max_immediate_size.min(SCALAR_BYTES_MAX as u32);
    }
    caps.groups_max = limits.max_compute_workgroups_per_dimension.min(MAX_GROUPS);
    caps.workgroup_invocations_max = limits.max_compute_invocations_per_workgroup;
    caps.workgroup_size_max =
        [limits.max_compute_workgroup_size_x, limits.max_compute_workgroup_size_y, limits.max_compute_workgroup_size_z];
    caps.workgroup_bytes_max = limits.max_compute_workgroup_storage_size;
    let named = FEATURES.iter().filter(|(feature, _)| features.contains(*feature));
    caps.features = named.filter_map(|(_, name)| name.map(str::to_owned)).collect();
    caps.times_eager = features.contains(wgpu::Features::TIMESTAMP_QUERY);
    caps.times_nodes = caps.times_eager;
    caps
}
