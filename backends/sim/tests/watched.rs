//! The kit's watched driver, on a driver that keeps books of its own: it injects what it says, and counts what is there.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::marker::PhantomData;
use std::time::{Duration, Instant};

use graphreel::graph::{Backend, HardwareServer};
use graphreel::recording::Tier;
use graphreel::{Config, Device, Grid};
use graphreel_sim::{SimDriver, SimOptions};
use graphreel_testkit::watched::{Live, Watch, Watched, WatchedFaults};
use graphreel_testkit::{Expect, Faults, Fixture, Opened, run};

struct Sim;

fn open(config: Config) -> (Device, Watch) {
    let driver = SimDriver::new(SimOptions::default()).unwrap();
    let translator = driver.translator();
    let driver = Watched::new(driver);
    let watch = driver.watch();
    let backend = Backend { name: "sim", api: "sim", kind: Some(graphreel::DeviceKind::Simulated) };
    let server = HardwareServer::open(driver, &backend, graphreel::sync::Arc::new(translator), config.clone());
    (Device::new(Box::new(server.unwrap()), config), watch)
}

impl Fixture for Sim {
    const NAME: &'static str = "sim";

    fn open(config: Config) -> Opened {
        Opened::Ready(open(config).0)
    }

    fn expect(_test: &str) -> Expect {
        Expect::Pass
    }

    fn faults() -> Option<&'static dyn Faults> {
        Some(&WatchedFaults::<SimDriver>(PhantomData))
    }

    fn audit(_test: &str) {}
}

#[test]
fn replays_fail_as_it_is_told() {
    use graphreel_testkit::suite::replay;
    run::<Sim, _>("replay::faulted", replay::a_replay_that_faulted_needs_its_inputs_again);
    run::<Sim, _>("replay::pure", replay::a_faulted_replay_of_pure_outputs_can_be_repeated);
    let eager = Config { tiers: vec![Tier::Eager], ..Config::default() };
    for config in [Config::default(), eager] {
        let (device, _) = open(config);
        let buffer = device.upload(&[1u32; 4]).unwrap();
        let inc = device.kernel(graphreel_testkit::kernels::INC).unwrap();
        let captured = device.capture(|c| c.launch(&inc, Grid::stride(4), (&buffer,)));
        let Ok((graph, ())) = captured else { continue };
        WatchedFaults::<SimDriver>(PhantomData).refuse_replays(&device, 2);
        let refused = || graph.replay().map(drop).unwrap_err().to_string();
        assert!([refused(), refused()].iter().all(|text| text.contains("injects")));
        graph.replay().unwrap();
        assert_eq!(buffer.read::<u32>().unwrap(), [2; 4], "what was refused ran nothing");
    }
}

#[test]
fn a_device_is_lost_as_it_is_told() {
    let (device, _) = open(Config::default());
    let buffer = device.upload(&[1u32; 4]).unwrap();
    WatchedFaults::<SimDriver>(PhantomData).lose(&device);
    assert!(buffer.read::<u32>().unwrap_err().is_device_lost());
}

#[test]
fn what_is_alive_is_counted() {
    let (device, watch) = open(Config::default());
    assert_eq!(watch.live(), Live { drivers: 1, ..Live::default() });
    let buffer = device.upload(&[1u32; 4]).unwrap();
    let (graph, ()) = device.capture(|c| c.fill(&buffer, 2)).unwrap();
    graph.replay().unwrap().wait().unwrap();
    let live = watch.live();
    assert!(live.streams > 0 && live.events > 0 && live.memory == 1 && live.execs == 1, "{live:?}");
    let kept = device.clone();
    drop((device, buffer, graph));
    assert_ne!(watch.live(), Live::default(), "a handle is left");
    drop(kept);
    let end = Instant::now() + Duration::from_secs(30);
    while watch.live() != Live::default() {
        assert!(Instant::now() < end, "{:?}", watch.live());
        std::thread::sleep(Duration::from_millis(1));
    }
}
