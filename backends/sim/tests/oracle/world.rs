//! Runs a program on a simulated device beside the oracle, and holds every answer against it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use graphreel::recording::Tier;
use graphreel::{Buffer, Capture, Config, Device, Graph, Grid, Kernel, Result, ServerError, Stream};
use graphreel_sim::{Completion, FaultPlan, Probe, SimOptions};

use super::model::{GraphNumber, Half, Op, Seen, State, Step as Bump};
use super::program::{Close, Program, Raw, Step};

/// Words of half a buffer.
const WORDS: usize = 64;

/// No wait of a program is longer than this, unless a fault hangs the device.
const PATIENCE: Duration = Duration::from_secs(20);

const BUMP: &str = "
    var<immediate> by: u32;
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] += by; }";

const ADD: &str = "
    @group(0) @binding(0) var<storage> a: array<u32>;
    @group(0) @binding(1) var<storage> b: array<u32>;
    @group(0) @binding(2) var<storage, read_write> c: array<u32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { c[id.x] = a[id.x] + b[id.x]; }";

/// How a program is run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The order in which the device completes work.
    pub(crate) completion: Completion,
    /// The tier of its captures.
    pub(crate) tier: Tier,
    /// Faults, armed once the device is open.
    pub(crate) faults: FaultPlan,
    /// How long a wait may last.
    pub(crate) wait_max: Duration,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Whether the device was lost on the way.
    pub(crate) lost: bool,
    /// Calls that failed.
    pub(crate) errors: usize,
    /// Driver calls made, from the arming of the faults on.
    pub(crate) calls: u64,
}

struct Sealed {
    graph: Graph,
    ops: Vec<Op>,
    param: u32,
    number: GraphNumber,
}

struct World {
    device: Device,
    probe: Probe,
    bump: Kernel,
    add: Kernel,
    streams: Vec<Stream>,
    buffers: BTreeMap<usize, Buffer>,
    halves: BTreeMap<Half, State>,
    graphs: Vec<Sealed>,
    next: usize,
    /// Whether a call may fail for no reason of its own.
    faulty: bool,
    errors: usize,
    patience: Duration,
}

/// What a check found wrong.
type Check<T = ()> = std::result::Result<T, String>;

/// Run a program.
///
/// # Errors
///
/// What the device did that the oracle does not allow.
pub(crate) fn run(program: &Program, plan: &Plan) -> Check<Outcome> {
    let options =
        SimOptions { completion: plan.completion, threads: 1, memory_bytes: 64 << 20, ..SimOptions::default() };
    // Two shared slots, so that the streams fold; few pages, so that memory is used again.
    let config = Config {
        max_streams: 2,
        max_exclusive_streams: 1,
        tiers: vec![plan.tier],
        page_bytes: 4096,
        slice_bytes_max: 1024,
        wait_max: plan.wait_max,
        ..Config::default()
    };
    let server = graphreel_sim::open(options, config.clone()).map_err(|error| format!("opening: {error}"))?;
    let probe = server.driver().probe();
    let device = Device::new(Box::new(server), config);
    let mut world = World::new(device, probe.clone(), plan)?;
    probe.arm(plan.faults.clone());
    let calls = probe.calls();
    let ran = program.iter().try_for_each(|step| world.step(step)).and_then(|()| world.settle());
    let outcome = Outcome { lost: world.lost(), errors: world.errors, calls: probe.calls() - calls };
    // Dropped whatever happened, so that a wrong answer does not leave a device behind.
    let closed = world.close();
    ran.and(closed).map(|()| outcome)
}

impl World {
    fn new(device: Device, probe: Probe, plan: &Plan) -> Check<Self> {
        let kernel = |wgsl: &str| device.kernel(wgsl).map_err(|error| format!("compiling: {error}"));
        let (bump, add) = (kernel(BUMP)?, kernel(ADD)?);
        // Numbers of their own, so that programs run alike whatever ran before on this thread.
        let streams = (0..4).map(|value| device.stream_of(graphreel::StreamId { value: (1 << 40) + value })).collect();
        Ok(Self {
            device,
            probe,
            bump,
            add,
            streams,
            buffers: BTreeMap::new(),
            halves: BTreeMap::new(),
            graphs: Vec::new(),
            next: 0,
            faulty: !plan.faults.rules.is_empty(),
            errors: 0,
            patience: plan.wait_max.min(PATIENCE),
        })
    }

    fn lost(&self) -> bool {
        self.device.lost().is_some()
    }

    /// Note a failure that had to be possible.
    fn failed(&mut self, what: &str, error: &ServerError, expected: bool) -> Check {
        self.errors += 1;
        if expected || self.faulty {
            return Ok(());
        }
        Err(format!("{what} failed for no reason: {error}"))
    }

    fn step(&mut self, step: &Step) -> Check {
        if self.lost() {
            return Ok(());
        }
        match step {
            Step::Alloc => self.alloc(),
            Step::Free(n) => {
                if let Some(buffer) = self.nth(*n) {
                    self.buffers.remove(&buffer);
                }
                Ok(())
            }
            Step::Run(n, raw) => match self.op(raw, false) {
                Some(op) => self.eager(*n, &op),
                None => Ok(()),
            },
            Step::Read(n, stream) => match self.nth(*n) {
                Some(buffer) => self.read(buffer, *stream),
                None => Ok(()),
            },
            Step::Sync(n) => {
                let stream = self.stream(*n);
                match stream.sync_for(self.patience) {
                    Ok(()) => Ok(()),
                    Err(error) => self.failed("sync", &error, false),
                }
            }
            Step::Capture(raws) => self.capture(raws),
            Step::Window { stream, own, theirs, close } => self.window(*stream, own, theirs, *close),
            Step::Replay(n, stream) => self.replay(*n, Some(*stream)),
            Step::Timed(n) => self.replay(*n, None),
            Step::Update(n, value) => self.update(*n, *value),
            Step::DropGraph(n) => {
                if !self.graphs.is_empty() {
                    let index = n % self.graphs.len();
                    self.graphs.swap_remove(index);
                }
                Ok(())
            }
            Step::Trim => {
                self.device.trim();
                Ok(())
            }
        }
    }

    fn alloc(&mut self) -> Check {
        if self.buffers.len() >= 12 {
            return Ok(());
        }
        match self.device.alloc_for::<u32>(2 * WORDS as u64) {
            Ok(buffer) => {
                let number = self.next;
                self.next += 1;
                self.buffers.insert(number, buffer);
                for half in 0..2 {
                    self.halves.insert(Half { buffer: number, half }, State::Unwritten);
                }
                Ok(())
            }
            Err(error) => self.failed("alloc", &error, false),
        }
    }

    fn nth(&self, n: usize) -> Option<usize> {
        let count = self.buffers.len();
        if count == 0 { None } else { self.buffers.keys().nth(n % count).copied() }
    }

    fn stream(&self, n: usize) -> Stream {
        self.streams[n % self.streams.len()].clone()
    }

    /// The operation that raw numbers mean now; `None` where there is no buffer, or two of its halves would be one.
    fn op(&self, raw: &Raw, in_graph: bool) -> Option<Op> {
        let half = |index: usize| {
            let n = raw.halves[index];
            Some(Half { buffer: self.nth(n / 2)?, half: n % 2 })
        };
        let (a, b, c) = (half(0)?, half(1)?, half(2)?);
        Some(match raw.kind {
            0 => Op::Fill(a, raw.number),
            1 => Op::Write(a, raw.number),
            2 if a != b => Op::Copy(a, b),
            3 if in_graph => Op::Bump(a, Bump::Param(7)),
            3 | 4 => Op::Bump(a, Bump::Fixed(raw.number)),
            5 if a != c && b != c => Op::Add(a, b, c),
            _ => return None,
        })
    }

    fn part(&self, half: Half) -> Result<Buffer> {
        let start = (half.half * WORDS) as u64;
        self.buffers[&half.buffer].elements::<u32>(start..start + WORDS as u64)
    }

    fn state(&self, half: Half) -> State {
        self.halves.get(&half).cloned().unwrap_or(State::Unwritten)
    }

    fn send(&self, stream: &Stream, op: &Op) -> Result<()> {
        let grid = Grid::groups(1);
        match op {
            Op::Fill(to, word) => stream.fill(&self.part(*to)?, *word),
            Op::Write(to, word) => stream.write(&self.part(*to)?, &[*word; WORDS]),
            Op::Copy(from, to) => stream.copy(&self.part(*from)?, &self.part(*to)?),
            Op::Bump(at, Bump::Fixed(by) | Bump::Param(by)) => stream.launch(&self.bump, grid, (&self.part(*at)?, *by)),
            Op::Add(a, b, c) => stream.launch(&self.add, grid, (&self.part(*a)?, &self.part(*b)?, &self.part(*c)?)),
        }
    }

    fn put(&self, c: &mut Capture, op: &Op) -> Result<()> {
        let grid = Grid::groups(1);
        match op {
            Op::Fill(to, word) => c.fill(&self.part(*to)?, *word),
            Op::Write(to, word) => c.upload(&self.part(*to)?, &[*word; WORDS]),
            Op::Copy(from, to) => c.copy(&self.part(*from)?, &self.part(*to)?),
            Op::Bump(at, Bump::Fixed(by)) => c.launch(&self.bump, grid, (&self.part(*at)?, *by)),
            Op::Bump(at, Bump::Param(by)) => {
                let by = c.param("by", *by);
                c.launch(&self.bump, grid, (&self.part(*at)?, &by))
            }
            Op::Add(a, b, out) => c.launch(&self.add, grid, (&self.part(*a)?, &self.part(*b)?, &self.part(*out)?)),
        }
    }

    /// What the inputs of eager work make of it: whether it has to fail, and whether it may.
    fn inputs(&self, op: &Op) -> (bool, bool) {
        let seen: Vec<Seen> = op.inputs().into_iter().map(|half| self.state(half).seen(None)).collect();
        let refused = seen.contains(&Seen::Refused);
        (refused, refused || seen.iter().any(|seen| matches!(seen, Seen::Either(_))))
    }

    fn eager(&mut self, stream: usize, op: &Op) -> Check {
        let (must_fail, may_fail) = self.inputs(op);
        let sent = self.send(&self.stream(stream), op);
        self.ran(op, sent, must_fail, may_fail)
    }

    /// Hold the answer of eager work against its inputs, and note what it did.
    fn ran(&mut self, op: &Op, sent: Result<()>, must_fail: bool, may_fail: bool) -> Check {
        let output = op.output();
        match sent {
            Ok(()) if must_fail => Err(format!("{op:?} ran over an input that holds no result")),
            Ok(()) => {
                for input in op.inputs() {
                    let state = self.state(input).confirmed();
                    self.halves.insert(input, state);
                }
                let value = op.value(0, |half| self.state(half));
                self.halves.insert(output, value);
                Ok(())
            }
            Err(error) => {
                let state = self.state(output).failed(None, must_fail);
                self.halves.insert(output, state);
                self.failed(&format!("{op:?}"), &error, may_fail)
            }
        }
    }

    fn read(&mut self, number: usize, stream: usize) -> Check {
        for half in 0..2 {
            let half = Half { buffer: number, half };
            let part = self.part(half).map_err(|error| error.to_string())?;
            let stream = self.stream(stream);
            let read = stream.read_async::<u32>(&part).and_then(|mut answer| answer.wait_for(self.patience));
            self.compare(half, read)?;
        }
        Ok(())
    }

    fn compare(&mut self, half: Half, read: Result<Vec<u32>>) -> Check {
        let state = self.state(half);
        match (state.seen(None), read) {
            (Seen::Refused, Ok(words)) => Err(format!("{half:?} holds no result ({state:?}) and read {}", words[0])),
            (Seen::Value(value) | Seen::Either(value), Ok(words)) => {
                match value {
                    State::Good(word) if words.iter().any(|found| *found != word) => {
                        return Err(format!("{half:?} holds {word} ({state:?}) and read {words:?}"));
                    }
                    State::Unwritten => return Err(format!("{half:?} was never written and read {}", words[0])),
                    _ => {}
                }
                self.halves.insert(half, state.confirmed());
                Ok(())
            }
            (Seen::Value(State::Unwritten), Err(ServerError::Unwritten { .. })) => Ok(()),
            (Seen::Refused | Seen::Either(_), Err(ServerError::Tainted { .. })) => {
                self.halves.insert(half, state.surely_failed());
                Ok(())
            }
            (Seen::Either(State::Unwritten), Err(ServerError::Unwritten { .. })) => Ok(()),
            (_, Err(error)) => self.failed(&format!("reading {half:?} ({state:?})"), &error, false),
        }
    }

    fn capture(&mut self, raws: &[Raw]) -> Check {
        let ops: Vec<Op> = raws.iter().filter_map(|raw| self.op(raw, true)).collect();
        if ops.is_empty() {
            return Ok(());
        }
        let (must_fail, may_fail) = self.exposed(&ops, None);
        let captured = self.device.capture(|c| ops.iter().try_for_each(|op| self.put(c, op)));
        self.sealed(captured.map(|(graph, ())| graph), ops, must_fail, may_fail)
    }

    /// Whether a graph of `ops` has to be refused for its inputs, and whether it may be.
    fn exposed(&self, ops: &[Op], graph: Option<GraphNumber>) -> (bool, bool) {
        let mut written: Vec<Half> = Vec::new();
        let (mut must, mut may) = (false, false);
        for op in ops {
            for input in op.inputs() {
                if written.contains(&input) {
                    continue;
                }
                match self.state(input).seen(graph) {
                    Seen::Refused => must = true,
                    Seen::Either(_) => may = true,
                    Seen::Value(_) => {}
                }
            }
            // A bump reads what it writes, so it does not hide anything that was there before it.
            if !op.inputs().contains(&op.output()) {
                written.push(op.output());
            }
        }
        (must, must || may)
    }

    fn sealed(&mut self, sealed: Result<Graph>, ops: Vec<Op>, must_fail: bool, may_fail: bool) -> Check {
        match sealed {
            Ok(_) if must_fail => Err(format!("a graph was made over inputs that hold no result: {ops:?}")),
            Ok(graph) => {
                if graph.report().nodes != ops.len() {
                    return Err(format!("{} operations became {} nodes", ops.len(), graph.report().nodes));
                }
                let number = self.next;
                self.next += 1;
                self.graphs.push(Sealed { graph, ops, param: 7, number });
                Ok(())
            }
            Err(error) => {
                self.taint(&ops, None, false);
                self.failed("a capture", &error, may_fail)
            }
        }
    }

    /// What a graph would have written was not.
    fn taint(&mut self, ops: &[Op], by: Option<GraphNumber>, sure: bool) {
        let mut outputs: Vec<Half> = ops.iter().map(Op::output).collect();
        outputs.sort_unstable();
        outputs.dedup();
        for output in outputs {
            let state = self.state(output).failed(by, sure);
            self.halves.insert(output, state);
        }
    }

    fn window(&mut self, stream: usize, own: &[Raw], theirs: &[Raw], close: Close) -> Check {
        let (owner, neighbour) = (self.stream(stream), self.stream(stream + 2));
        if let Err(error) = owner.graph_prepare() {
            return self.failed("graph_prepare", &error, false);
        }
        if let Err(error) = owner.begin_capture() {
            if owner.capture_status().recording {
                return Err(format!("begin_capture failed and records: {error}"));
            }
            // A call that was refused before it began leaves the window prepared; one that failed dropped it.
            let dropped = owner.graph_abort();
            self.failed("begin_capture", &error, false)?;
            return dropped.or_else(|error| self.failed("graph_abort", &error, false));
        }
        let (mut recorded, mut refused) = (Vec::new(), Vec::new());
        let (mut doomed, mut reads) = (false, false);
        for (index, raw) in own.iter().enumerate() {
            if let Some(op) = self.op(raw, false) {
                let mut with = recorded.clone();
                with.push(op.clone());
                reads |= self.exposed(&with, None).1;
                let sent = self.send(&owner, &op);
                if sent.is_ok() {
                    recorded.push(op.clone());
                } else {
                    refused.push(op.clone());
                }
                if let Err(error) = sent {
                    doomed = true;
                    let state = self.state(op.output()).failed(None, false);
                    self.halves.insert(op.output(), state);
                    self.failed(&format!("recording {op:?}"), &error, reads)?;
                }
            }
            if let Some(op) = theirs.get(index).and_then(|raw| self.op(raw, false)) {
                let (must_fail, may_fail) = self.inputs(&op);
                let sent = self.send(&neighbour, &op);
                self.ran(&op, sent, must_fail, may_fail)?;
            }
        }
        let closed = self.close_window(&owner, &neighbour, close, recorded, doomed || reads);
        // What was refused may be in the window's claims or not, by where it was refused.
        self.taint(&refused, None, false);
        closed
    }

    fn close_window(&mut self, owner: &Stream, other: &Stream, close: Close, ops: Vec<Op>, may_fail: bool) -> Check {
        let (must_fail, _) = self.exposed(&ops, None);
        let closed = match close {
            Close::End if ops.is_empty() => {
                let Err(error) = owner.end_capture() else { return Err("a graph of nothing".to_owned()) };
                self.failed("end_capture", &error, true)
            }
            Close::End => {
                let sealed = owner.end_capture();
                // Neighbours may have written an input since it was recorded, for better or worse.
                let _ = must_fail;
                self.sealed(sealed, ops, false, may_fail)
            }
            Close::Abandon => {
                let Err(error) = other.end_capture() else { return Err("a graph for another stream".to_owned()) };
                self.taint(&ops, None, false);
                self.failed("end_capture", &error, true)
            }
            Close::Abort => {
                let aborted = owner.graph_abort();
                self.taint(&ops, None, aborted.is_ok());
                aborted.or_else(|error| self.failed("graph_abort", &error, false))
            }
        };
        closed?;
        if owner.capture_status().recording && !self.lost() {
            // Only a call that was refused before it began leaves the window; the same call works then.
            match owner.graph_abort() {
                Ok(()) => self.failed("closing a window", &ServerError::graph_state("left open"), false)?,
                Err(error) => self.failed("graph_abort", &error, false)?,
            }
        }
        Ok(())
    }

    fn replay(&mut self, n: usize, stream: Option<usize>) -> Check {
        if self.graphs.is_empty() {
            return Ok(());
        }
        let index = n % self.graphs.len();
        let (ops, number, param) =
            (self.graphs[index].ops.clone(), self.graphs[index].number, self.graphs[index].param);
        let (must_fail, may_fail) = self.exposed(&ops, Some(number));
        let graph = &self.graphs[index].graph;
        let replayed = match stream {
            Some(stream) => graph.replay_on_stream(&self.stream(stream)),
            None => graph.replay_timed(),
        };
        match replayed {
            Ok(_) if must_fail => Err(format!("{ops:?} was replayed over inputs that hold no result")),
            Ok(done) => {
                self.apply(&ops, param);
                drop(done);
                Ok(())
            }
            Err(error) => {
                // A timed one may also have failed half way; then the graph has no leave, which the oracle does not ask for.
                self.taint(&ops, Some(number), must_fail);
                self.failed("a replay", &error, may_fail)
            }
        }
    }

    /// A replay ran: its operations, in order, over what its inputs held.
    fn apply(&mut self, ops: &[Op], param: u32) {
        for op in ops {
            for input in op.inputs() {
                let state = self.state(input).confirmed();
                self.halves.insert(input, state);
            }
            let value = op.value(param, |half| self.state(half));
            self.halves.insert(op.output(), value);
        }
    }

    fn update(&mut self, n: usize, value: u32) -> Check {
        if self.graphs.is_empty() {
            return Ok(());
        }
        let index = n % self.graphs.len();
        let sealed = &mut self.graphs[index];
        let known = sealed.ops.iter().any(|op| matches!(op, Op::Bump(_, Bump::Param(_))));
        match sealed.graph.update(|update| update.set("by", value)) {
            Ok(()) if !known => Err("an update of a parameter that is not there".to_owned()),
            Ok(()) => {
                sealed.param = value;
                Ok(())
            }
            Err(error) => self.failed("an update", &error, !known),
        }
    }

    /// Every buffer is read, and the device works or says that it is lost.
    fn settle(&mut self) -> Check {
        self.probe.release_hangs();
        let numbers: Vec<usize> = self.buffers.keys().copied().collect();
        for number in numbers {
            if self.lost() {
                return Ok(());
            }
            self.read(number, number)?;
        }
        self.probe.arm(FaultPlan::default());
        if self.lost() {
            return Ok(());
        }
        self.works().or_else(|error| {
            // A fault of the last armed call may still come back with a later one.
            if self.lost() { Ok(()) } else { Err(format!("a fresh capture does not work afterwards: {error}")) }
        })
    }

    fn works(&self) -> Result<()> {
        let buffer = self.device.upload(&[5u32; WORDS])?;
        let (graph, ()) = self.device.capture(|c| c.launch(&self.bump, Grid::groups(1), (&buffer, 1u32)))?;
        graph.replay()?.wait_for(PATIENCE)?;
        let read = buffer.read::<u32>()?;
        if read == [6; WORDS] { Ok(()) } else { Err(ServerError::graph_state(format!("it computes {read:?}"))) }
    }

    /// Everything goes; nothing is left alive and nothing was misused.
    fn close(self) -> Check {
        let probe = self.probe.clone();
        probe.arm(FaultPlan::default());
        probe.release_hangs();
        drop(self);
        let started = Instant::now();
        while probe.live().total() > 0 && started.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_micros(200));
        }
        probe.check().map_err(|error| format!("after the end: {error}"))
    }
}
