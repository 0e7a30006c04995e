//! Kernels that never end: the simulator stops them after a number of steps, and the server tells whose they were.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::thread;
use std::time::{Duration, Instant};

use graphreel::recording::Tier;
use graphreel::{Buffer, Config, Device, Grid, ServerError};
use graphreel_sim::{Completion, Probe, SimOptions};

const WORDS: usize = 64;

/// Counts down from its input, or for ever where that is 0: the loop is on its fifth line.
const FOREVER: &str = "@group(0) @binding(0) var<storage, read> start: array<u32>;
@group(0) @binding(1) var<storage, read_write> end: array<u32>;
@compute @workgroup_size(64) fn countdown(@builtin(global_invocation_id) id: vec3<u32>) {
    var left = start[id.x];
    loop { if left == 1u { break; } if left != 0u { left--; } }
    end[id.x] = left;
}";

struct Scene {
    device: Device,
    probe: Probe,
    input: Buffer,
    output: Buffer,
    bystander: Buffer,
}

fn scene(completion: Completion, tier: Tier) -> Scene {
    let options = SimOptions { completion, steps_max: 50_000, threads: 1, trace: 10_000, ..SimOptions::default() };
    let config = Config { tiers: vec![tier], ..Config::default() };
    let server = graphreel_sim::open(options, config.clone()).unwrap();
    let probe = server.driver().probe();
    let device = Device::new(Box::new(server), config);
    let buffer = |word: u32| device.upload(&[word; WORDS]).unwrap();
    let (input, output, bystander) = (buffer(3), buffer(7), buffer(9));
    Scene { device, probe, input, output, bystander }
}

/// The error names the kernel and the line of the loop.
fn names_the_loop(error: &ServerError) {
    let text = error.to_string();
    assert!(error.is_device_lost(), "{error:?}");
    assert!(text.contains("countdown") && text.contains("line 5") && text.contains("steps"), "{text}");
}

impl Scene {
    /// The device is gone with that kernel for its reason, and answers nothing else.
    fn dies_of_it(self) {
        names_the_loop(&self.device.lost().unwrap());
        for buffer in [&self.output, &self.bystander] {
            names_the_loop(&buffer.read::<u32>().unwrap_err());
        }
        names_the_loop(&self.device.upload(&[1u32]).unwrap_err());
        names_the_loop(&self.device.capture(|c| c.fill(&self.output, 1)).unwrap_err());
        assert_eq!(self.device.counters().device_faults, 1, "told once as a fault of the device");
        let probe = self.probe.clone();
        drop(self);
        let started = Instant::now();
        while probe.names().last() != Some(&"close") {
            assert!(started.elapsed() < Duration::from_secs(20), "the driver is not closed: {}", probe.live());
            thread::yield_now();
        }
        probe.check().unwrap();
    }
}

const COMPLETIONS: [Completion; 2] = [Completion::Seeded(1), Completion::Prompt];

#[test]
fn an_endless_launch() {
    for completion in COMPLETIONS {
        let scene = scene(completion, Tier::Captured);
        let kernel = scene.device.kernel(FOREVER).unwrap();
        scene.device.launch(&kernel, Grid::groups(1), (&scene.input, &scene.output)).unwrap();
        assert_eq!(scene.output.read::<u32>().unwrap(), [1; WORDS]);
        scene.input.fill(0).unwrap();
        // The launch itself may meet the device after the fact.
        if let Err(error) = scene.device.launch(&kernel, Grid::groups(1), (&scene.input, &scene.output)) {
            names_the_loop(&error);
        }
        names_the_loop(&scene.output.read::<u32>().unwrap_err());
        drop(kernel);
        scene.dies_of_it();
    }
}

/// D60, in a replay: those before it keep their answers, which can be asked for again.
#[test]
fn an_endless_kernel_in_a_replay() {
    for completion in COMPLETIONS {
        for tier in [Tier::Captured, Tier::Built] {
            let scene = scene(completion, tier);
            let kernel = scene.device.kernel(FOREVER).unwrap();
            let captured = scene.device.capture(|c| {
                c.launch(&kernel, Grid::groups(1), (&scene.input, &scene.output))?;
                c.fill(&scene.bystander, 11)
            });
            let (graph, ()) = captured.unwrap();
            let (good, timed) = (graph.replay().unwrap(), graph.replay_timed().unwrap());
            good.wait().unwrap();
            let times = timed.wait().unwrap();
            assert_eq!(scene.output.read::<u32>().unwrap(), [1; WORDS]);
            scene.input.fill(0).unwrap();
            let (endless, behind) = match graph.replay() {
                Ok(endless) => (Ok(endless), graph.replay()),
                Err(error) => (Err(error), graph.replay()),
            };
            for answer in [endless, behind] {
                names_the_loop(&answer.and_then(|done| done.wait()).unwrap_err());
            }
            assert_eq!(timed.wait().unwrap(), times, "what was told before is told again");
            good.wait().unwrap();
            assert_eq!((graph.report().nodes, graph.report().tier), (2, tier));
            names_the_loop(&graph.update(|update| update).unwrap_err());
            drop((graph, kernel, good, timed));
            scene.dies_of_it();
        }
    }
}
