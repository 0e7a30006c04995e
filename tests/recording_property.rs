//! Random recordings against an oracle that looks at every byte and every pair of nodes.
//!
//! `GRAPHREEL_SEED` repeats a failure; `GRAPHREEL_THOROUGH=1` runs fifty times as much.

use std::collections::BTreeMap;

use graphreel::kernel::{BindingInfo, BindingSpace, MemberInfo, Reflection, ScalarType, Value, ValueType};
use graphreel::memory::{BufferBinding, Handle, MemoryService};
use graphreel::op::{BufferArg, GridArg, Launch, LaunchIndirect, Op, ValueArg};
use graphreel::recording::{NodeOp, Place, Recorded, Recording, RecordingBuilder, RecordingError};
use graphreel::{Access, Kernel, KernelSource, StreamId};

const BUFFER_BYTES: u64 = 64;
const STREAM: StreamId = StreamId { value: 1 };

/// One seed for each case, all from `GRAPHREEL_SEED` or from the clock.
fn seeds(cases: u64) -> impl Iterator<Item = u64> {
    let seed = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.parse().ok());
    let thorough = std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|text| text == "1");
    let cases = if seed.is_some() { 1 } else { cases * if thorough { 50 } else { 1 } };
    (0..cases).map(move |_| seed.unwrap_or_else(|| fastrand::u64(..)))
}

/// Kernels with every kind of access, over buffers of one device.
struct World {
    service: MemoryService,
    buffers: Vec<BufferBinding>,
    kernels: Vec<Kernel>,
}

impl World {
    fn new(rng: &mut fastrand::Rng) -> Self {
        let service = MemoryService::new();
        let buffers = (0..rng.usize(1..5)).map(|_| Handle::new(&service, STREAM, BUFFER_BYTES).binding()).collect();
        let kernels = (0..4).map(|_| kernel(&service, rng)).collect();
        Self { service, buffers, kernels }
    }

    fn range(&self, rng: &mut fastrand::Rng) -> BufferBinding {
        let start = rng.u64(..BUFFER_BYTES / 4);
        let end = rng.u64(start + 1..=BUFFER_BYTES / 4);
        let buffer = &self.buffers[rng.usize(..self.buffers.len())];
        buffer.slice(start * 4..end * 4).expect("within the buffer")
    }

    /// Ranges for bindings with these accesses: where one is written, no other may share its bytes unless it is equal.
    fn arguments(&self, accesses: &[Access], rng: &mut fastrand::Rng) -> Option<Vec<BufferArg>> {
        let part = |access: &Access, rng: &mut fastrand::Rng| {
            (access.writes() && rng.u8(..3) == 0).then_some(Access::WritePart)
        };
        let args: Vec<BufferArg> =
            accesses.iter().map(|access| BufferArg { access: part(access, rng), ..self.range(rng).into() }).collect();
        let meets = |one: &BufferArg, two: &BufferArg| {
            let (one, two) = (&one.binding, &two.binding);
            one.memory.id() == two.memory.id()
                && one.range().start < two.range().end
                && two.range().start < one.range().end
        };
        for (index, one) in args.iter().enumerate() {
            for (later, two) in args.iter().enumerate().skip(index + 1) {
                let written = accesses[index].writes() || accesses[later].writes();
                if written && meets(one, two) && one.binding.claim_key() != two.binding.claim_key() {
                    return None;
                }
            }
        }
        Some(args)
    }

    fn launch(&self, rng: &mut fastrand::Rng) -> Option<Launch> {
        let kernel = self.kernels[rng.usize(..self.kernels.len())].clone();
        let accesses: Vec<Access> = kernel.reflection().bindings.iter().filter_map(|info| info.access).collect();
        let value = match rng.u8(..3) {
            0 => ValueArg::Param { name: "lr".into(), value: 0.5f32.into() },
            _ => ValueArg::Baked(Value::from(rng.f32())),
        };
        let grid = match rng.u8(..3) {
            0 => GridArg::Param { name: "rows".into(), groups: [2, 1, 1], max: [8, 1, 1] },
            _ => GridArg::Fixed([rng.u32(1..9), 1, 1]),
        };
        let label = rng.bool().then(|| "node \"x\"".into());
        Some(Launch { buffers: self.arguments(&accesses, rng)?, kernel, grid, values: vec![value], label })
    }

    fn op(&self, rng: &mut fastrand::Rng) -> Option<Op> {
        let dst: BufferArg = self.range(rng).into();
        Some(match rng.u8(..8) {
            0 => Op::Fill { dst, word: rng.u32(..) },
            1 => Op::Upload { bytes: (0..dst.binding.len()).map(|_| rng.u8(..)).collect(), dst },
            2 => {
                let mut args = self.arguments(&[Access::Read, Access::Write], rng)?;
                let (dst, src) = (args.pop()?, args.pop()?);
                let len = src.binding.len().min(dst.binding.len());
                let cut = |arg: BufferArg| Some(BufferArg::from(arg.binding.slice(0..len)?));
                let (src, dst) = (cut(src)?, cut(dst)?);
                if src.binding.claim_key() == dst.binding.claim_key() {
                    return None;
                }
                Op::Copy { src, dst }
            }
            3 => {
                let launch = Launch { grid: GridArg::Fixed([4; 3]), ..self.launch(rng)? };
                let counts = Handle::new(&self.service, STREAM, 12).binding().into();
                Op::LaunchIndirect(LaunchIndirect { launch, counts })
            }
            _ => Op::Launch(self.launch(rng)?),
        })
    }
}

fn kernel(service: &MemoryService, rng: &mut fastrand::Rng) -> Kernel {
    let accesses = [Access::Read, Access::Write, Access::ReadWrite];
    let info = |binding: u32, rng: &mut fastrand::Rng| BindingInfo {
        group: 0,
        binding,
        name: format!("b{binding}"),
        space: BindingSpace::Storage,
        declared_write: true,
        access: Some(accesses[rng.usize(..3)]),
        min_bytes: 4,
        runtime_stride: Some(4),
        runtime_offset: 0,
        align: 4,
    };
    let mut source = KernelSource::from("// a kernel");
    source.overrides.insert("n".to_owned(), rng.f64());
    let reflection = Reflection {
        entry: "main".into(),
        bindings: (0..rng.u32(1..4)).map(|binding| info(binding, rng)).collect(),
        immediates: vec![MemberInfo {
            name: "lr".to_owned(),
            ty: ValueType { scalar: ScalarType::F32, lanes: 1 },
            offset: 0,
        }],
        immediate_bytes: 4,
        workgroup_size: [1; 3],
        workgroup_bytes: 0,
        uses_num_workgroups: false,
        needs: Vec::new(),
    };
    Kernel::new(service.device(), source, reflection, Box::new(()))
}

fn random_recording(rng: &mut fastrand::Rng, nodes: usize) -> (Recorded, Vec<Op>) {
    let world = World::new(rng);
    let (mut builder, mut ops) = (RecordingBuilder::new(Some("random".into())), Vec::new());
    while ops.len() < nodes {
        let Some(op) = world.op(rng) else { continue };
        assert_eq!(builder.push(&op).expect("a valid operation") as usize, ops.len());
        ops.push(op);
    }
    (builder.finish(), ops)
}

/// What an operation does to each byte, straight from its arguments: read and written, by memory and byte.
fn touched(op: &Op) -> BTreeMap<(u64, u64), (bool, bool)> {
    let mut bytes: BTreeMap<(u64, u64), (bool, bool)> = BTreeMap::new();
    op.for_each_use(|arg, access| {
        for byte in arg.binding.range() {
            let flags = bytes.entry((arg.binding.memory.id().0, byte)).or_default();
            *flags = (flags.0 || access.reads(), flags.1 || access.writes());
        }
    });
    bytes
}

#[test]
fn every_conflict_is_ordered_by_a_path_and_no_edge_is_without_one() {
    for seed in seeds(150) {
        println!("GRAPHREEL_SEED={seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let nodes = rng.usize(1..60);
        let (recorded, ops) = random_recording(&mut rng, nodes);
        let bytes: Vec<_> = ops.iter().map(touched).collect();
        let conflict = |one: usize, two: usize| {
            bytes[one].iter().any(|(byte, before)| bytes[two].get(byte).is_some_and(|after| before.1 || after.1))
        };
        let mut reach = vec![vec![false; nodes]; nodes];
        for (index, node) in recorded.recording.nodes.iter().enumerate() {
            assert!(
                node.after.is_sorted() && node.after.iter().all(|before| (*before as usize) < index),
                "seed {seed}"
            );
            for before in node.after.iter().map(|before| *before as usize) {
                assert!(conflict(before, index), "seed {seed}: edge {before} -> {index} without a shared byte");
                // The search for implied edges is bounded; it sees every edge of a small recording.
                let implied = nodes <= 20 && node.after.iter().any(|other| reach[*other as usize][before]);
                assert!(!implied, "seed {seed}: edge {before} -> {index} is implied by another");
                let ancestors = reach[before].clone();
                reach[index].iter_mut().zip(ancestors).for_each(|(known, ancestor)| *known |= ancestor);
                reach[index][before] = true;
            }
            for (before, reached) in reach[index].iter().enumerate().take(index) {
                assert!(*reached || !conflict(before, index), "seed {seed}: {before} and {index} are unordered");
            }
        }
        let longest = (0..nodes).fold(Vec::new(), |mut depths: Vec<usize>, index| {
            depths.push(
                (0..index).filter(|before| reach[index][*before]).map(|before| depths[before]).max().unwrap_or(0) + 1,
            );
            depths
        });
        assert_eq!(recorded.recording.critical_path(), longest.into_iter().max().unwrap_or(0), "seed {seed}");
    }
}

#[test]
fn exposed_reads_and_written_ranges_equal_the_oracles() {
    for seed in seeds(200) {
        println!("GRAPHREEL_SEED={seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let nodes = rng.usize(1..40);
        let (recorded, ops) = random_recording(&mut rng, nodes);
        let (mut exposed, mut whole, mut written) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for op in &ops {
            let mut writes = Vec::new();
            let mut uses: BTreeMap<_, Access> = BTreeMap::new();
            op.for_each_use(|arg, access| {
                let union = |known: &mut Access| *known = known.union(access);
                uses.entry((arg.binding.memory.id().0, arg.binding.range().start, arg.binding.range().end))
                    .and_modify(union)
                    .or_insert(access);
            });
            for ((memory, start, end), access) in uses {
                for byte in start..end {
                    if access.reads() && !whole.contains_key(&(memory, byte)) {
                        exposed.insert((memory, byte), ());
                    }
                    if access == Access::Write {
                        writes.push((memory, byte));
                    }
                    if access.writes() {
                        written.insert((memory, byte), ());
                    }
                }
            }
            whole.extend(writes.into_iter().map(|byte| (byte, ())));
        }
        let memory = |place: &Place| recorded.buffers[place.buffer as usize].memory.id().0;
        let flat = |places: &[Place]| -> BTreeMap<(u64, u64), ()> {
            places.iter().flat_map(|place| (place.start..place.end()).map(|byte| ((memory(place), byte), ()))).collect()
        };
        let reads = recorded.recording.exposed_reads();
        assert_eq!(flat(&reads), exposed, "seed {seed}");
        let apart = |pair: &[Place]| pair[0].buffer < pair[1].buffer || pair[0].end() < pair[1].start;
        assert!(reads.windows(2).all(apart), "seed {seed}: {reads:?} are not merged");
        let places: Vec<Place> = recorded.recording.written().iter().map(|used| used.place).collect();
        assert_eq!(flat(&places), written, "seed {seed}");
    }
}

#[test]
fn json_gives_back_the_same_recording() {
    for seed in seeds(60) {
        println!("GRAPHREEL_SEED={seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let nodes = rng.usize(1..30);
        let (recorded, ops) = random_recording(&mut rng, nodes);
        let json = recorded.recording.to_json().expect("overrides are finite");
        let read = Recording::from_json(&json).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(read, *recorded.recording, "seed {seed}");
        assert_eq!(recorded.recording.diff(&read, &recorded.kernels), None, "seed {seed}");
        let mut again = RecordingBuilder::new(Some("random".into()));
        ops.iter().for_each(|op| assert!(again.push(op).is_ok(), "seed {seed}"));
        assert_eq!(
            again.finish().recording.to_json().as_ref(),
            Ok(&json),
            "seed {seed}: recording is not deterministic"
        );
        assert_eq!(read.to_dot().matches(" -> ").count(), read.edges(), "seed {seed}");
    }
}

/// Damage one number of the text, and demand a typed error or a recording that is valid all the same.
#[test]
fn damaged_json_is_refused_or_valid_but_never_a_panic() {
    for seed in seeds(30) {
        println!("GRAPHREEL_SEED={seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let (recorded, _) = random_recording(&mut rng, 12);
        let json = recorded.recording.to_json().expect("overrides are finite");
        let digits: Vec<usize> = json.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(at, _)| at).collect();
        for _ in 0..20 {
            let at = digits[rng.usize(..digits.len())];
            let new = ["", "9", "99999", "18446744073709551615", "-1", "\"", "null"][rng.usize(..7)];
            let damaged = format!("{}{new}{}", &json[..at], &json[at + 1..]);
            if let Ok(read) = Recording::from_json(&damaged) {
                read.validate().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                let _ = (read.exposed_reads(), read.written(), read.critical_path(), read.to_dot(), read.frozen(&[]));
                let _ = recorded.recording.diff(&read, &recorded.kernels);
            }
        }
    }
}

#[test]
fn each_broken_reference_is_named() {
    let mut rng = fastrand::Rng::with_seed(7);
    let (recorded, _) = random_recording(&mut rng, 40);
    let good = &*recorded.recording;
    let refused = |damage: &dyn Fn(&mut Recording)| {
        let mut bad = good.clone();
        damage(&mut bad);
        assert_ne!(&bad, good, "the damage must hit something");
        match Recording::from_json(&bad.to_json().expect("finite")) {
            Err(RecordingError::Invalid { part, .. }) => part,
            other => panic!("expected a damaged recording, got {other:?}"),
        }
    };
    let last = good.nodes.iter().rposition(|node| !node.after.is_empty()).expect("some node depends on another");
    assert_eq!(refused(&|bad| bad.nodes[last].after.clear()), format!("nodes[{last}].after"));
    assert_eq!(refused(&|bad| bad.nodes[last].after.push(last as u32)), format!("nodes[{last}].after"));
    assert_eq!(refused(&|bad| bad.nodes[last].after.insert(0, u32::MAX)), format!("nodes[{last}].after"));
    assert_eq!(refused(&|bad| bad.nodes[0].uses.extend_from_within(..1)), "nodes[0].uses");
    assert_eq!(refused(&|bad| bad.buffers[0].bytes = 0), "buffers[0]");
    assert_eq!(refused(&|bad| bad.params.push(bad.params[0].clone())), format!("params[{}]", good.params.len()));
    let launch = good.nodes.iter().position(|node| matches!(node.op, NodeOp::Launch { .. })).expect("a launch");
    let damage_kernel = |bad: &mut Recording| {
        if let NodeOp::Launch { kernel, .. } = &mut bad.nodes[launch].op {
            *kernel = 99;
        }
    };
    assert_eq!(refused(&damage_kernel), format!("nodes[{launch}].op"));
    let fill = good.nodes.iter().position(|node| matches!(node.op, NodeOp::Fill { .. })).expect("a fill");
    let damage_place = |bad: &mut Recording| {
        if let NodeOp::Fill { dst, .. } = &mut bad.nodes[fill].op {
            dst.start = u64::MAX;
        }
    };
    assert_eq!(refused(&damage_place), format!("nodes[{fill}].op (destination)"));
    assert_eq!(refused(&|bad| bad.nodes[fill].uses.clear()), format!("nodes[{fill}].uses"));
    let upload = good.nodes.iter().position(|node| matches!(node.op, NodeOp::HostWrite { .. })).expect("an upload");
    assert_eq!(
        refused(&|bad| bad.host.iter_mut().for_each(|bytes| *bytes = [1].into())),
        format!("nodes[{upload}].op")
    );
}

#[test]
fn other_texts_are_refused_by_kind() {
    assert!(matches!(Recording::from_json("{"), Err(RecordingError::Json { .. })));
    let other = Recording::from_json("{\"schema\":\"graphreel.recording/2\"}");
    assert_eq!(other, Err(RecordingError::Schema { found: "graphreel.recording/2".to_owned() }));
    let empty = Recording::default().to_json().expect("nothing to refuse");
    assert_eq!(Recording::from_json(&empty), Ok(Recording::default()));
    let extra = empty.replacen('{', "{\"more\":1,", 1);
    assert!(matches!(Recording::from_json(&extra), Err(RecordingError::Json { .. })));
}
