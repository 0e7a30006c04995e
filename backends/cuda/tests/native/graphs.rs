//! Kernels of all languages in one graph: the same bytes eagerly, captured and built, before and after updates.

use graphreel::recording::Tier;
use graphreel::{Buffer, Capture, Config, Device, Grid, Kernel, Result};
use graphreel_testkit::kernels;

use crate::rig::{capability, on_device};
use crate::sources;

/// Words of the buffers, beside the size of a workgroup.
const WORDS: u32 = 1000;

const TIERS: [Tier; 2] = [Tier::Captured, Tier::Built];

fn config(tier: Tier) -> Config {
    Config { tiers: vec![tier], ..Config::default() }
}

/// One kernel for each language, and what they work on.
struct Scene {
    affine: Kernel,
    shift: Kernel,
    mix: Kernel,
    increment: Kernel,
    x: Buffer,
    y: Buffer,
    keys: [Buffer; 2],
}

/// Keys by which the two key buffers mix.
const KEYS: [[u32; 4]; 2] = [[0x0102_0304, 0xffff_0000, 7, 0], [0xdead_beef, 1, 0x8000_0000, 0x5555_5555]];

/// What is changed between replays.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    scale: u32,
    by: u32,
    key: usize,
}

impl Parameters {
    /// The four kernels on the processor.
    fn after(self, words: &mut [u32]) {
        for (i, y) in (0u32..).zip(words) {
            let affine = y.wrapping_mul(self.scale).wrapping_add(i.wrapping_mul(3)).wrapping_add(11);
            *y = (affine.wrapping_add(self.by) ^ KEYS[self.key][i as usize % 4]).wrapping_add(1);
        }
    }
}

impl Scene {
    fn new(device: &Device) -> Self {
        let keys = KEYS.map(|key| device.upload(&key).unwrap());
        Self {
            affine: device.kernel(sources::affine()).unwrap(),
            shift: device.kernel(sources::shift(&sources::shift_text())).unwrap(),
            mix: device.kernel(sources::mix(&sources::mix_cubin(capability()))).unwrap(),
            increment: device.kernel(kernels::INC).unwrap(),
            x: device.upload(&(0..WORDS).map(|i| i.wrapping_mul(3)).collect::<Vec<_>>()).unwrap(),
            y: device.upload(&[0u32; WORDS as usize]).unwrap(),
            keys,
        }
    }

    fn record(&self, c: &mut Capture, first: Parameters) -> Result<()> {
        let (scale, by) = (c.param("scale", first.scale), c.param("by", first.by));
        let (key, strided) =
            (c.slot("key", &self.keys[first.key])?, c.grid_param("strided", Grid::groups(3), Grid::groups(16)));
        let whole = Grid::cover(WORDS.into());
        c.launch(&self.affine, whole, (&scale, 11u32, &self.x, &self.y))?;
        c.launch(&self.shift, whole, (&by, &self.y))?;
        c.launch(&self.mix, whole, (&self.y, &key))?;
        c.launch(&self.increment, &strided, (&self.y,))
    }

    fn launch(&self, device: &Device, with: Parameters) -> Result<()> {
        let whole = Grid::cover(WORDS.into());
        device.launch(&self.affine, whole, (with.scale, 11u32, &self.x, &self.y))?;
        device.launch(&self.shift, whole, (with.by, &self.y))?;
        device.launch(&self.mix, whole, (&self.y, &self.keys[with.key]))?;
        device.launch(&self.increment, Grid::groups(5), (&self.y,))
    }
}

fn share_a_graph(device: &Device, tier: Tier) {
    let scene = Scene::new(device);
    let first = Parameters { scale: 3, by: 5, key: 0 };
    let (graph, ()) = device.capture(|c| scene.record(c, first)).unwrap();
    assert_eq!((graph.report().tier, graph.report().nodes), (tier, 4));
    let start: Vec<u32> = (0..WORDS).map(|i| i ^ 0x00ff_00ff).collect();
    let mut expected = start.clone();
    scene.y.write(&start).unwrap();
    let mut check = |with: Parameters, what: &str| {
        with.after(&mut expected);
        let found = scene.y.read::<u32>().unwrap();
        let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!(wrong, None, "{tier:?}, {what}, {with:?}: the first wrong word");
    };
    for round in 0..2 {
        graph.replay().unwrap().wait().unwrap();
        check(first, &format!("replay {round}"));
    }
    scene.launch(device, first).unwrap();
    check(first, "eagerly");
    let second = Parameters { scale: 0x0001_0001, by: u32::MAX, key: 1 };
    graph
        .update(|u| {
            u.set("scale", second.scale).set("by", second.by).bind("key", &scene.keys[1]).grid("strided", [16, 1, 1])
        })
        .unwrap();
    graph.replay().unwrap().wait().unwrap();
    check(second, "updated");
    let timed = graph.replay_timed().unwrap().wait().unwrap();
    assert_eq!(timed.nodes.len(), 4, "each kernel is timed: {timed:?}");
    check(second, "timed");
    scene.launch(device, second).unwrap();
    check(second, "eagerly");
    let dot = graph.recording().to_dot();
    for kernel in ["affine (CUDA C++)", "shift (PTX)", "mix (compiled code of CUDA)"] {
        assert!(dot.contains(kernel), "{kernel} in {dot}");
    }
}

/// C-84: what a vendor's compiler made is replayed like the rest.
#[test]
fn all_languages_share_a_graph() {
    for tier in TIERS {
        on_device("all_languages_share_a_graph", config(tier), |device, _| share_a_graph(device, tier));
    }
}

/// An indirect launch runs the declared variant over as many workgroups as the counts say at each replay.
#[test]
fn an_indirect_variant_reads_its_counts_on_the_device() {
    for tier in TIERS {
        on_device("an_indirect_variant_reads_its_counts_on_the_device", config(tier), |device, _| {
            let [plain, both] = sources::times().map(|source| device.kernel(source).unwrap());
            let (y, counts) = (device.upload(&[1u32; 256]).unwrap(), device.upload(&[0u32; 3]).unwrap());
            let most = Grid::groups(3);
            let text = device.stream().launch_indirect(&plain, &counts, most, (2u32, &y)).unwrap_err().to_string();
            assert!(text.contains("kernel `times`") && text.contains("`.indirect(..)`"), "{text}");
            let (graph, ()) = device
                .capture(|c| {
                    let by = c.param("by", 2u32);
                    c.launch_indirect(&both, &counts, most, (&by, &y))
                })
                .unwrap();
            let mut expected = vec![1u32; 256];
            // The last is above the largest grid, so that nothing runs.
            for (groups, runs) in [(1, 64), (0, 0), (3, 192), (2, 128), (4, 0)] {
                counts.write(&[groups, 1u32, 1]).unwrap();
                graph.replay().unwrap().wait().unwrap();
                expected.iter_mut().take(runs).for_each(|word| *word *= 2);
                assert_eq!(y.read::<u32>().unwrap(), expected, "{tier:?}: {groups} workgroups");
            }
            graph.update(|update| update.set("by", 5u32)).unwrap();
            counts.write(&[1u32, 1, 1]).unwrap();
            graph.replay().unwrap().wait().unwrap();
            device.stream().launch_indirect(&both, &counts, most, (7u32, &y)).unwrap();
            expected.iter_mut().take(64).for_each(|word| *word *= 35);
            assert_eq!(y.read::<u32>().unwrap(), expected, "{tier:?}: updated, and then eagerly");
        });
    }
}

/// A kernel that asks for as much workgroup memory as the device has gets it, in graphs too.
#[test]
fn all_workgroup_memory_can_be_asked_for() {
    for tier in TIERS {
        on_device("all_workgroup_memory_can_be_asked_for", config(tier), |device, _| {
            let bytes = device.caps().workgroup_bytes_max;
            let words = bytes / 4;
            let turn = device.kernel(sources::turn(bytes)).unwrap();
            let forward: Vec<u32> = (0..words).collect();
            let backward: Vec<u32> = (0..words).rev().collect();
            let y = device.upload(&forward).unwrap();
            device.launch(&turn, Grid::groups(1), (words, &y)).unwrap();
            assert_eq!(y.read::<u32>().unwrap(), backward, "eagerly");
            let (graph, ()) = device.capture(|c| c.launch(&turn, Grid::groups(1), (words, &y))).unwrap();
            graph.replay().unwrap().wait().unwrap();
            assert_eq!(y.read::<u32>().unwrap(), forward, "{tier:?}");
        });
    }
}
