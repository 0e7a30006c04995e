//! A fault of a kernel through the handles, launched eagerly and replayed by both tiers: what was done before stays, and
//! everything after answers the loss.

use std::time::{Duration, Instant};

use graphreel::recording::Tier;
use graphreel::{Buffer, Config, Device, Done, Graph, Grid, Kernel, Result, ServerError};
use graphreel_cuda::{CudaOptions, open};
use graphreel_testkit::announce;
use graphreel_testkit::suite::loss::every_call_answers_the_loss;

use crate::child::leave;
use crate::kernels::{ARMED, Fault, WORDS};

/// Longer than a device takes to tell of a fault.
const TOLD_WITHIN: Duration = Duration::from_secs(15);

/// What the operation behind the kernel fills its buffer with.
const BEHIND: u32 = 7;

fn opened(config: Config) -> Result<Device> {
    let server = open(&CudaOptions::default(), config.clone())?;
    Ok(Device::new(Box::new(server), config))
}

/// A device with the kernel's buffer, one that work behind the kernel writes, and one that nobody touches.
struct Scene {
    fault: Fault,
    device: Device,
    kernel: Kernel,
    out: Buffer,
    behind: Buffer,
    bystander: Buffer,
}

impl Scene {
    fn new(fault: Fault, tiers: Vec<Tier>) -> Self {
        let device = opened(Config { tiers, ..Config::default() }).unwrap();
        let kernel = device.kernel(fault.source()).unwrap();
        let buffer = |word: u32| device.upload(&[word; WORDS as usize]).unwrap();
        let (out, behind, bystander) = (buffer(0), buffer(0), buffer(9));
        Self { fault, device, kernel, out, behind, bystander }
    }

    /// What a run that went well has left.
    fn holds_results(&self) {
        assert_eq!(self.out.read::<u32>().unwrap(), Fault::written());
        assert_eq!(self.behind.read::<u32>().unwrap(), [BEHIND; WORDS as usize]);
    }

    /// The device is gone by this fault, told once, and nothing reads bytes that were not written (C-75, C-78, C-84), nor others:
    /// they are gone with the context.
    fn is_lost(&self) {
        let error = self.device.lost().expect("the loss is known");
        announce(&format!("{:?}: {error}", self.fault));
        self.fault.lost(&error);
        for buffer in [&self.out, &self.behind, &self.bystander] {
            self.fault.lost(&buffer.read::<u32>().unwrap_err());
        }
        self.fault.lost(&self.device.launch(&self.kernel, Grid::cover(WORDS.into()), (0u32, &self.out)).unwrap_err());
        every_call_answers_the_loss(&self.device, &self.bystander);
        assert_eq!(self.device.counters().device_faults, 1, "{:?}", self.device.counters());
    }

    /// NVIDIA's driver keeps the broken context as long as the process: a device beside the lost one answers an error, too, at once.
    fn stays_lost(&self) {
        let started = Instant::now();
        let again = opened(Config::default()).and_then(|device| device.upload(&[1u32; 4])?.read::<u32>());
        announce(&format!("{:?}: a second device of the process: {again:?}", self.fault));
        assert!(again.is_err(), "the process got over the fault: {again:?}");
        assert!(started.elapsed() < TOLD_WITHIN, "it took {:?}", started.elapsed());
    }

    fn case(&self, form: &str) -> String {
        format!("{form}/{}", self.fault.name())
    }
}

/// Launched eagerly. All handles are dropped before the end: what is destroyed on a lost device hangs nobody.
pub(crate) fn eager(fault: Fault) -> ! {
    let scene = Scene::new(fault, Tier::ALL.to_vec());
    let run = |armed: u32| {
        scene.device.launch(&scene.kernel, Grid::cover(WORDS.into()), (armed, &scene.out))?;
        scene.behind.fill(BEHIND)
    };
    run(0).unwrap();
    scene.holds_results();
    let kept = scene.bystander.read::<u32>().unwrap();
    // The calls themselves may meet the fault, or whoever waits for them.
    let told = run(1).and_then(|()| scene.out.read_async::<u32>()?.wait_for(TOLD_WITHIN));
    fault.lost(&told.unwrap_err());
    assert_eq!(kept, [9; WORDS as usize], "a read before the fault keeps its bytes");
    scene.is_lost();
    scene.stays_lost();
    let case = scene.case("eager");
    let started = Instant::now();
    drop(scene);
    assert!(started.elapsed() < TOLD_WITHIN, "dropping what a lost device made took {:?}", started.elapsed());
    leave(&case)
}

/// Captured by one tier, replayed well, and replayed with its parameter changed to the fault.
pub(crate) fn replayed(fault: Fault, tier: Tier) -> ! {
    let scene = Scene::new(fault, vec![tier]);
    let captured = scene.device.capture(|c| {
        let armed = c.param(ARMED, 0u32);
        c.launch(&scene.kernel, Grid::cover(WORDS.into()), (&armed, &scene.out))?;
        c.fill(&scene.behind, BEHIND)
    });
    let (graph, ()) = captured.unwrap();
    assert_eq!((graph.report().tier, graph.report().nodes), (tier, 2));
    let (good, timed) = (graph.replay().unwrap(), graph.replay_timed().unwrap());
    let reports = [good.wait_for(TOLD_WITHIN).unwrap(), timed.wait_for(TOLD_WITHIN).unwrap()];
    scene.holds_results();
    graph.update(|update| update.set(ARMED, 1u32)).unwrap();
    let faulted = graph.replay();
    let behind = graph.replay();
    let awaited = |done: &Result<Done>| match done {
        Ok(done) => done.wait_for(TOLD_WITHIN),
        Err(error) => Err(error.clone()),
    };
    for done in [&faulted, &behind] {
        fault.lost(&awaited(done).unwrap_err());
    }
    // C-84, D60: what was answered before is answered again, and the reports of the graph stay.
    assert_eq!([good.wait().unwrap(), timed.wait().unwrap()], reports);
    assert!(good.is_done() && timed.is_done());
    assert_eq!((graph.report().tier, graph.report().nodes), (tier, 2));
    scene.is_lost();
    graph_is_lost(fault, &graph);
    // Once more, as by somebody who asks later.
    fault.lost(&awaited(&faulted).unwrap_err());
    leave(&scene.case(tier.name()))
}

/// C-84: no retry on a device that is lost.
fn graph_is_lost(fault: Fault, graph: &Graph) {
    let started = Instant::now();
    let answers: [Result<()>; 3] =
        [graph.replay().map(drop), graph.replay_timed().map(drop), graph.update(|update| update.set(ARMED, 0u32))];
    for error in answers.map(|answer| -> ServerError { answer.unwrap_err() }) {
        fault.lost(&error);
    }
    assert!(started.elapsed() < Duration::from_secs(1), "calls on a lost device took {:?}", started.elapsed());
}
