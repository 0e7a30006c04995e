//! Updates where the driver refuses to change a node: the whole graph is given to it, else a new executable is made, and
//! whatever happens the graph has all new values or all old ones.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use graphreel::recording::Tier;
use graphreel::{Buffer, Config, Device, Graph, Grid};
use graphreel_sim::{Failure, FaultPlan, Probe, SimOptions, Then, When};

const ADD: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    var<immediate> by: u32;
    @compute @workgroup_size(1) fn add() { x[0] += by; }";

struct World {
    device: Device,
    probe: Probe,
    graph: Graph,
    a: Buffer,
    b: Buffer,
    /// What the buffers should have.
    sums: [u32; 2],
}

const REFUSED: Then = Then::Before(Failure::REFUSED);

fn first(call: &'static str) -> When {
    When::Nth { call, nth: 0 }
}

impl World {
    /// A graph that adds `first` and `second`, which begin as 1 and 10, to two buffers.
    fn new(tier: Tier, updates_per_exec_max: Option<u32>) -> Self {
        let config = Config { tiers: vec![tier], ..Config::default() };
        let options = SimOptions { updates_per_exec_max, ..SimOptions::seeded(7) };
        let server = graphreel_sim::open(options, config.clone()).unwrap();
        let probe = server.driver().probe();
        let device = Device::new(Box::new(server), config);
        let kernel = device.kernel(ADD).unwrap();
        let (a, b) = (device.upload(&[0u32]).unwrap(), device.upload(&[0u32]).unwrap());
        let (graph, ()) = device
            .capture(|c| {
                let (first, second) = (c.param("first", 1u32), c.param("second", 10u32));
                c.launch(&kernel, Grid::groups(1), (&a, &first))?;
                c.launch(&kernel, Grid::groups(1), (&b, &second))
            })
            .unwrap();
        Self { device, probe, graph, a, b, sums: [0; 2] }
    }

    fn update(&self, values: [u32; 2]) -> graphreel::Result<()> {
        self.graph.update(|update| {
            update.set("first", values[0]);
            update.set("second", values[1])
        })
    }

    /// Replay, which adds these.
    fn adds(&mut self, values: [u32; 2]) {
        self.graph.replay().unwrap();
        self.sums = [self.sums[0] + values[0], self.sums[1] + values[1]];
        assert_eq!([self.a.read::<u32>().unwrap()[0], self.b.read::<u32>().unwrap()[0]], self.sums);
    }

    /// Updates that were done, those of a whole graph, and those by a new executable.
    fn counted(&self) -> [u64; 3] {
        let counters = self.device.counters();
        [counters.updates, counters.updates_whole, counters.updates_anew]
    }

    fn close(self) {
        let Self { device, probe, graph, a, b, .. } = self;
        drop((graph, a, b, device));
        let started = std::time::Instant::now();
        while probe.live().total() > 0 && started.elapsed() < std::time::Duration::from_secs(10) {
            probe.run_all();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        probe.check().unwrap();
    }
}

fn on_both(run: impl Fn(World)) {
    for tier in [Tier::Captured, Tier::Built] {
        run(World::new(tier, None));
    }
}

#[test]
fn a_node_that_takes_no_update_costs_a_whole_one() {
    on_both(|mut world| {
        world.adds([1, 10]);
        world.update([2, 20]).unwrap();
        assert_eq!(world.counted(), [1, 0, 0]);
        world.adds([2, 20]);
        // The first node takes it, the second does not; a replay with the old values is in flight.
        let in_flight = world.graph.replay().unwrap();
        world.sums = [world.sums[0] + 2, world.sums[1] + 20];
        world.probe.arm(FaultPlan::one(When::Nth { call: "exec_set_launch", nth: 1 }, REFUSED));
        world.update([3, 30]).unwrap();
        assert_eq!(world.counted(), [2, 1, 0]);
        in_flight.wait().unwrap();
        drop(in_flight);
        world.adds([3, 30]);
        // Its nodes can be changed one by one as before.
        world.probe.arm(FaultPlan::default());
        world.update([4, 40]).unwrap();
        assert_eq!(world.counted(), [3, 1, 0]);
        world.adds([4, 40]);
        world.close();
    });
}

#[test]
fn a_graph_that_takes_no_update_is_made_anew() {
    for refusal in [REFUSED, Then::Before(Failure::OUT_OF_MEMORY), Then::After(Failure::REFUSED)] {
        on_both(|mut world| {
            let plan = FaultPlan::one(first("exec_set_launch"), REFUSED).and(first("exec_update"), refusal);
            world.probe.arm(plan);
            world.update([2, 20]).unwrap();
            assert_eq!(world.counted(), [1, 0, 1]);
            world.adds([2, 20]);
            world.close();
        });
    }
}

#[test]
fn an_update_that_fails_at_last_has_changed_nothing() {
    on_both(|mut world| {
        let plan = FaultPlan::one(When::Nth { call: "exec_set_launch", nth: 1 }, REFUSED)
            .and(first("exec_update"), Then::After(Failure::REFUSED))
            .and(first("graph_instantiate"), REFUSED);
        world.probe.arm(plan);
        world.update([2, 20]).unwrap_err();
        assert_eq!(world.counted(), [0, 0, 0]);
        world.adds([1, 10]);
        world.update([5, 50]).unwrap();
        world.adds([5, 50]);
        world.close();
    });
}

#[test]
fn a_lost_device_makes_nothing_anew() {
    on_both(|world| {
        let plan =
            FaultPlan::one(first("exec_set_launch"), REFUSED).and(first("exec_update"), Then::Before(Failure::DEVICE));
        world.probe.arm(plan);
        assert!(world.update([2, 20]).unwrap_err().is_device_lost());
        assert!(
            !world
                .probe
                .names()
                .iter()
                .rev()
                .take_while(|name| **name != "exec_update")
                .any(|name| *name == "graph_instantiate")
        );
        assert_eq!(world.counted(), [0, 0, 0]);
    });
}

/// Where an updated executable never gives memory back, a refusal makes a new one at once.
#[test]
fn a_driver_whose_updates_leak_is_asked_for_no_whole_one() {
    let mut world = World::new(Tier::Built, Some(8));
    world.probe.arm(FaultPlan::one(first("exec_set_launch"), REFUSED));
    world.update([2, 20]).unwrap();
    assert_eq!(world.counted(), [1, 0, 1]);
    assert!(!world.probe.names().contains(&"exec_update"));
    world.adds([2, 20]);
    world.close();
}
