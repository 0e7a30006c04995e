//! A plan on a device: its kernels compiled, its buffers filled, ready to run eagerly or as a graph.

use graphreel::device::{ArgList, Buffer, Device, Graph, Grid};
use graphreel::{CapturePolicy, Kernel, KernelSource, Result};

use super::plan::{Contents, Node, POISON, Plan};

/// A device with the kernels that were compiled for it.
pub(crate) struct Target {
    pub(crate) device: Device,
    /// Steps of a GPU-bound node, once they are found.
    pub(crate) rounds: Option<u32>,
    kernels: Vec<(KernelSource, Kernel)>,
}

/// A plan with everything it needs on the device.
pub(crate) struct Bound<'p> {
    device: Device,
    plan: &'p Plan,
    kernels: Vec<Kernel>,
    buffers: Vec<Buffer>,
}

impl Target {
    /// A device with no kernels yet.
    pub(crate) fn new(device: Device) -> Self {
        Self { device, rounds: None, kernels: Vec::new() }
    }

    /// Compile what is missing, allocate and fill the buffers.
    pub(crate) fn bind<'p>(&mut self, plan: &'p Plan) -> Result<Bound<'p>> {
        let kernels = plan.kernels.iter().map(|source| self.kernel(source)).collect::<Result<_>>()?;
        let buffers = plan.buffers.iter().map(|contents| self.device.upload(&contents.initial()));
        let buffers = buffers.collect::<Result<_>>()?;
        Ok(Bound { device: self.device.clone(), plan, kernels, buffers })
    }

    fn kernel(&mut self, source: &KernelSource) -> Result<Kernel> {
        if let Some((_, kernel)) = self.kernels.iter().find(|(known, _)| known == source) {
            return Ok(kernel.clone());
        }
        let kernel = self.device.kernel(source.clone())?;
        self.kernels.push((source.clone(), kernel.clone()));
        Ok(kernel)
    }
}

impl Bound<'_> {
    /// Launch every node, one call each. Does not wait.
    pub(crate) fn eager(&self) -> Result<()> {
        self.eager_with(|| Ok(()))
    }

    /// As [`Bound::eager`], with `after` called behind each launch.
    pub(crate) fn eager_with(&self, mut after: impl FnMut() -> Result<()>) -> Result<()> {
        self.plan.nodes.iter().try_for_each(|node| {
            let (kernel, grid, args) = self.call(node);
            self.device.launch(kernel, grid, args)?;
            after()
        })
    }

    /// Record every node.
    pub(crate) fn capture(&self, policy: CapturePolicy) -> Result<Graph> {
        let record = |capture: &mut graphreel::device::Capture| {
            self.plan.nodes.iter().try_for_each(|node| {
                let (kernel, grid, args) = self.call(node);
                capture.launch(kernel, grid, args)
            })
        };
        Ok(self.device.capture_as(policy, record)?.0)
    }

    fn call(&self, node: &Node) -> (&Kernel, Grid, ArgList) {
        let with_buffers = node.buffers.iter().fold(ArgList::new(), |args, index| args.with(&self.buffers[*index]));
        let args = node.scalars.iter().fold(with_buffers, |args, scalar| args.with(*scalar));
        (&self.kernels[node.kernel], Grid::Groups(node.groups), args)
    }

    /// Fill all buffers but the inputs with what no node leaves, so that work which does not run shows.
    pub(crate) fn poison(&self) -> Result<()> {
        let results =
            self.buffers.iter().zip(&self.plan.buffers).filter(|(_, contents)| !matches!(contents, Contents::Input(_)));
        results.into_iter().try_for_each(|(buffer, _)| buffer.fill(POISON))
    }

    /// Hold the results against the host's: what differs first, if anything does.
    pub(crate) fn check(&self) -> Result<Result<(), String>> {
        for expected in &self.plan.expected {
            if let Err(difference) = expected.check(&self.buffers[expected.buffer].read::<u8>()?) {
                return Ok(Err(difference));
            }
        }
        Ok(Ok(()))
    }

    /// The device it is on.
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// What is run.
    pub(crate) fn plan(&self) -> &Plan {
        self.plan
    }

    /// One of the plan's buffers.
    pub(crate) fn buffer(&self, index: usize) -> &Buffer {
        &self.buffers[index]
    }

    /// Wait until the device has nothing to do.
    pub(crate) fn settle(&self) -> Result<()> {
        self.device.sync()
    }
}

/// The device of tests. `None`, after saying why, where the machine has none; one that is there and does not open fails.
#[cfg(test)]
pub(super) fn wgpu_device() -> Option<Device> {
    use graphreel_backends::{Select, list, open};
    if let Some(why) = list().into_iter().find(|backend| backend.name == "wgpu").and_then(|backend| backend.absent) {
        let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
        let is_required = required.split(',').any(|name| name.trim() == "wgpu");
        assert!(!is_required, "wgpu is required and absent: {why}");
        println!("skipped: {why}");
        return None;
    }
    Some(open(&Select::Backend("wgpu".to_owned())).expect("a device that is there opens"))
}
