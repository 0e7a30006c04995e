//! A factory of simulators, and the parts over one of them.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use graphreel::lifecycle::config::MemoryManagerOptions;
use graphreel::lifecycle::parts::{DeviceMemoryManager, ServiceStreamPool, StreamSet, granted_account};
use graphreel::lifecycle::telemetry::TelemetrySource;
use graphreel::lifecycle::{BackendKind, DeviceFacts, FakeInventory, GpuInventory, ServerFactory};
use graphreel::sync::{Arc, Mutex};
use graphreel::{Account, Buffer, Config, Device, Grid, Kernel, Result, Server, ServerError};
use graphreel_sim::{Probe, SimOptions};

/// No wait takes as long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Adds one to each word.
const BUMP: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(1) fn bump(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] += 1u; }";

/// Opens simulators, and keeps a look into each.
#[derive(Debug)]
pub(crate) struct SimFactory {
    options: SimOptions,
    pub(crate) probes: Mutex<Vec<Probe>>,
    pub(crate) opened: Mutex<Vec<Config>>,
    /// What the native layer answers to an opening.
    pub(crate) refuses: Option<ServerError>,
}

impl SimFactory {
    pub(crate) fn new(options: SimOptions) -> Self {
        Self { options, probes: Mutex::default(), opened: Mutex::default(), refuses: None }
    }
}

impl ServerFactory for SimFactory {
    fn kind(&self) -> BackendKind {
        BackendKind::Sim
    }

    fn inventory(&self) -> Arc<dyn GpuInventory> {
        let bytes = self.options.memory_bytes;
        Arc::new(FakeInventory::default().with_device(DeviceFacts::new(BackendKind::Sim, 0, bytes, bytes)))
    }

    fn open(&self, _ordinal: usize, config: Config) -> Result<Box<dyn Server>> {
        if let Some(refusal) = &self.refuses {
            return Err(refusal.clone());
        }
        let server = graphreel_sim::open(self.options.clone(), config.clone())?;
        self.probes.lock().push(server.driver().probe());
        self.opened.lock().push(config);
        Ok(Box::new(server))
    }

    fn validate_memory_options(&self, _ordinal: usize, options: &MemoryManagerOptions) -> Result<()> {
        match options.allocation_limit_bytes {
            Some(bytes) if bytes as u64 > self.options.memory_bytes => {
                Err(ServerError::unsupported("a cap above the device", "lower it"))
            }
            _ => Ok(()),
        }
    }

    fn telemetry(&self, _ordinal: usize) -> Option<Arc<dyn TelemetrySource>> {
        None
    }
}

/// One device with its parts.
pub(crate) struct Rig {
    pub(crate) manager: DeviceMemoryManager,
    pub(crate) device: Device,
    pub(crate) probe: Probe,
    pub(crate) bump: Kernel,
    pub(crate) account: Account,
}

impl Rig {
    /// The ordinal is of this test alone, in case tests share a process.
    pub(crate) fn new(ordinal: usize, options: SimOptions, streams: usize) -> Self {
        Self::with(ordinal, options, streams, Config::default())
    }

    pub(crate) fn with(ordinal: usize, options: SimOptions, streams: usize, config: Config) -> Self {
        let factory = SimFactory::new(options);
        let options = MemoryManagerOptions::default();
        let manager = DeviceMemoryManager::install(&factory, ordinal, options, config, streams).unwrap();
        let (device, probe) = (manager.device().clone(), factory.probes.lock()[0].clone());
        let bump = device.kernel(BUMP).unwrap();
        Self { manager, device, probe, bump, account: granted_account("test", None) }
    }

    pub(crate) fn pool(&self, size: usize) -> ServiceStreamPool {
        ServiceStreamPool::install(&self.device, 0, size).unwrap()
    }

    pub(crate) fn buffer(&self) -> Buffer {
        self.device.alloc_charged(256, &self.account).unwrap()
    }

    /// Queue work on the root stream.
    pub(crate) fn work(&self, set: &StreamSet, buffer: &Buffer) {
        set.root().fill(buffer, 7).unwrap();
        set.root().launch(&self.bump, Grid::groups(64), (buffer,)).unwrap();
    }

    /// Everything goes, and the driver was used and left as it should be.
    pub(crate) fn close(self) {
        let Self { manager, device, probe, bump, account } = self;
        manager.retire("the test is over");
        drop((manager, device, bump, account));
        let end = Instant::now() + PATIENCE;
        while probe.live().total() > 0 && Instant::now() < end {
            probe.run_all();
            std::thread::sleep(Duration::from_millis(1));
        }
        probe.check().unwrap();
    }
}

pub(crate) fn count(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

pub(crate) fn later(millis: u64) -> Instant {
    Instant::now() + Duration::from_millis(millis)
}
