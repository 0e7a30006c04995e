//! The device with its model: every answer is held against what the model allows, and every failure against the fault.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use graphreel::recording::Tier;
use graphreel::{Buffer, Capture, Config, Device, Graph, Grid, Kernel, Result, ServerError, Stream, StreamId};
use graphreel_sim::{FaultPlan, Probe, SimOptions, Then, When};

use super::model::{Amount, At, Cell, Doubt, Number, Op, Params, Word};
use super::script;

/// Words of a buffer.
pub(crate) const WORDS: usize = 64;

/// Buffers of the script.
pub(crate) const BUFFERS: usize = 12;

/// Longer than anything takes that is not hung.
const LONG: Duration = Duration::from_secs(20);

const BUMP: &str = "
    var<immediate> by: u32;
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(64) fn bump(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] += by; }";

const ADD: &str = "
    @group(0) @binding(0) var<storage> a: array<u32>;
    @group(0) @binding(1) var<storage> b: array<u32>;
    @group(0) @binding(2) var<storage, read_write> c: array<u32>;
    @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) { c[id.x] = a[id.x] + b[id.x]; }";

const GROUPS: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(64) fn groups(@builtin(num_workgroups) n: vec3<u32>,
        @builtin(workgroup_id) at: vec3<u32>, @builtin(local_invocation_index) i: u32) {
        if at.x == 0u { x[i] = n.x; }
    }";

/// What a check found wrong.
pub(crate) type Check<T = ()> = std::result::Result<T, String>;

/// The device that lives.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) options: SimOptions,
    pub(crate) tier: Tier,
}

/// What goes wrong in a life, once: at the call of this index, every call counted.
pub(crate) type Fault = (u64, Then);

/// How a life went.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) lost: bool,
    /// Calls that failed because of the fault.
    pub(crate) errors: usize,
    /// Names of all driver calls.
    pub(crate) names: Vec<&'static str>,
    /// Driver calls of the script, without what comes after it.
    pub(crate) script: u64,
    /// What the buffers held at the end.
    pub(crate) cells: [Cell; BUFFERS],
}

pub(crate) struct Sealed {
    pub(crate) graph: Graph,
    pub(crate) ops: Vec<Op>,
    pub(crate) params: Params,
}

pub(crate) struct World {
    pub(crate) device: Device,
    pub(crate) probe: Probe,
    kernels: BTreeMap<&'static str, Kernel>,
    streams: Vec<Stream>,
    pub(crate) buffers: [Option<Buffer>; BUFFERS],
    pub(crate) cells: [Cell; BUFFERS],
    pub(crate) graphs: BTreeMap<&'static str, Sealed>,
    fault: Option<Fault>,
    errors: usize,
    pub(crate) patience: Duration,
}

/// Live once.
///
/// # Errors
///
/// What the device did that the model does not allow, with what it called around the fault.
pub(crate) fn live(setting: &Setting, fault: Option<Fault>) -> Check<Outcome> {
    let _pinned = StreamId { value: 1 << 41 }.pin();
    let mut world = World::open(setting, fault);
    let probe = world.probe.clone();
    let lived = catch_unwind(AssertUnwindSafe(|| {
        script::script(&mut world)?;
        let script = world.probe.calls();
        world.settle(script).map(|()| script)
    }));
    let lived = lived.unwrap_or_else(|_| Err("it panicked".to_owned()));
    let outcome = Outcome {
        lost: world.lost(),
        errors: world.errors,
        names: Vec::new(),
        script: lived.clone().unwrap_or(0),
        cells: world.cells,
    };
    probe.release_hangs();
    drop(world);
    let closed = closed(&probe);
    let names = probe.names();
    match lived.and(closed) {
        Ok(()) => Ok(Outcome { names, ..outcome }),
        Err(problem) => {
            let name = fault.and_then(|(index, _)| names.get(index as usize)).copied().unwrap_or("nothing");
            Err(format!("{problem}\nwith {fault:?}, which is {name}; the calls around it:\n{}", around(&probe)))
        }
    }
}

/// Wait for the driver's close, and ask how it was left.
fn closed(probe: &Probe) -> Check {
    let started = Instant::now();
    while probe.names().last() != Some(&"close") && started.elapsed() < LONG {
        std::thread::sleep(Duration::from_micros(100));
    }
    probe.check().map_err(|error| format!("after the end: {error}"))
}

/// The lines of the trace around the fault; the last ones where none shows it.
fn around(probe: &Probe) -> String {
    let trace = probe.trace();
    let at = trace.iter().position(|line| line.contains("injected fault")).unwrap_or(trace.len());
    trace[at.saturating_sub(12)..(at + 25).min(trace.len())].join("\n")
}

impl World {
    fn open(setting: &Setting, fault: Option<Fault>) -> Self {
        let mut options = setting.options.clone();
        if let Some((index, then)) = fault {
            options.faults = FaultPlan::one(When::Call(index), then);
        }
        // What hangs is waited for briefly: the answer is known.
        let patience = if fault.is_some_and(hangs) { Duration::from_millis(2) } else { LONG };
        let config = Config {
            max_streams: 2,
            max_exclusive_streams: 1,
            tiers: vec![setting.tier],
            page_bytes: 4096,
            slice_bytes_max: 1024,
            wait_max: patience,
            deferred_wait_max: patience,
            ..Config::default()
        };
        let server = graphreel_sim::open(options, config.clone()).unwrap();
        let probe = server.driver().probe();
        let device = Device::new(Box::new(server), config);
        Self {
            streams: (0..4).map(|value| device.stream_of(StreamId { value: (1 << 40) + value })).collect(),
            device,
            probe,
            kernels: BTreeMap::new(),
            buffers: [const { None }; BUFFERS],
            cells: [Cell { word: Word::Unwritten, doubt: Doubt::No }; BUFFERS],
            graphs: BTreeMap::new(),
            fault,
            errors: 0,
            patience,
        }
    }

    pub(crate) fn lost(&self) -> bool {
        self.device.lost().is_some()
    }

    /// Streams 0 and 2 fold on one slot, 1 and 3 on another.
    pub(crate) fn stream(&self, number: usize) -> Stream {
        self.streams[number].clone()
    }

    /// Whether the fault came after as many driver calls.
    pub(crate) fn faulted_since(&self, calls: u64) -> bool {
        self.fault.is_some_and(|(index, _)| calls <= index && index < self.probe.calls())
    }

    /// Note that a call failed, `calls` driver calls after the opening having been made before it. It has to be the one that
    /// met the fault, to follow from an earlier failure, or to wait for what hangs.
    pub(crate) fn failed(&mut self, what: &str, error: &ServerError, calls: u64, follows: bool) -> Check {
        if follows {
            return Ok(());
        }
        self.errors += 1;
        let late = self.fault.is_some_and(hangs) && matches!(error, ServerError::Timeout { .. });
        if late || self.lost() || self.faulted_since(calls) {
            return Ok(());
        }
        Err(format!("{what} failed for no reason of its own: {error}"))
    }

    pub(crate) fn kernel(&mut self, name: &'static str) -> Check {
        let source = match name {
            "bump" => BUMP,
            "add" => ADD,
            _ => GROUPS,
        };
        let calls = self.probe.calls();
        match self.device.kernel(source) {
            Ok(kernel) => {
                self.kernels.insert(name, kernel);
                Ok(())
            }
            Err(error) => self.failed(&format!("compiling {name}"), &error, calls, false),
        }
    }

    pub(crate) fn alloc(&mut self, number: Number) -> Check {
        let calls = self.probe.calls();
        match self.device.alloc_for::<u32>(WORDS as u64) {
            Ok(buffer) => {
                self.buffers[number] = Some(buffer);
                self.cells[number] = Cell { word: Word::Unwritten, doubt: Doubt::No };
                Ok(())
            }
            Err(error) => self.failed("alloc", &error, calls, false),
        }
    }

    pub(crate) fn upload(&mut self, number: Number, word: u32) -> Check {
        let calls = self.probe.calls();
        match self.device.upload(&[word; WORDS]) {
            Ok(buffer) => {
                self.buffers[number] = Some(buffer);
                self.cells[number] = Cell { word: Word::Is(word), doubt: Doubt::No };
                Ok(())
            }
            Err(error) => self.failed("upload", &error, calls, false),
        }
    }

    /// Whether everything that the operation takes is there: what failed before is not.
    pub(crate) fn has(&self, op: &Op, params: &Params) -> bool {
        let kernel = match op {
            Op::Bump(..) | Op::BumpCounted(..) => "bump",
            Op::Add(..) => "add",
            Op::Groups(..) => "groups",
            Op::Fill(..) | Op::Write(..) | Op::Copy(..) => "",
        };
        let there = |number: &Number| self.buffers[*number].is_some();
        (kernel.is_empty() || self.kernels.contains_key(kernel))
            && op.inputs().iter().all(there)
            && there(&op.output(params))
    }

    pub(crate) fn buffer(&self, number: Number) -> &Buffer {
        self.buffers[number].as_ref().expect("looked for before")
    }

    fn send(&self, stream: &Stream, op: &Op) -> Result<()> {
        let (of, one) = (|number| self.buffer(number), Grid::groups(1));
        match *op {
            Op::Fill(At::Of(to) | At::Slot(to), word) => stream.fill(of(to), word),
            Op::Write(to, word) => stream.write(of(to), &[word; WORDS]),
            Op::Copy(from, At::Of(to) | At::Slot(to)) => stream.copy(of(from), of(to)),
            Op::Bump(at, Amount::Fixed(by) | Amount::Param(by)) => {
                stream.launch(&self.kernels["bump"], one, (of(at), by))
            }
            Op::BumpCounted(at, counts, by) => {
                stream.launch_indirect(&self.kernels["bump"], of(counts), Grid::new(1, 1, 1), (of(at), by))
            }
            Op::Add(a, b, c) => stream.launch(&self.kernels["add"], one, (of(a), of(b), of(c))),
            Op::Groups(at, Amount::Fixed(groups) | Amount::Param(groups)) => {
                stream.launch(&self.kernels["groups"], Grid::groups(groups), (of(at),))
            }
        }
    }

    fn put(&self, c: &mut Capture, op: &Op) -> Result<()> {
        let (of, one) = (|number| self.buffer(number), Grid::groups(1));
        match *op {
            Op::Fill(At::Of(to), word) => c.fill(of(to), word),
            Op::Fill(At::Slot(to), word) => {
                let slot = c.slot("slot", of(to))?;
                c.fill(&slot, word)
            }
            Op::Write(to, word) => c.upload(of(to), &[word; WORDS]),
            Op::Copy(from, At::Of(to)) => c.copy(of(from), of(to)),
            Op::Copy(from, At::Slot(to)) => {
                let slot = c.slot("slot", of(to))?;
                c.copy(of(from), &slot)
            }
            Op::Bump(at, Amount::Fixed(by)) => c.launch(&self.kernels["bump"], one, (of(at), by)),
            Op::Bump(at, Amount::Param(by)) => {
                let by = c.param("by", by);
                c.launch(&self.kernels["bump"], one, (of(at), &by))
            }
            Op::BumpCounted(at, counts, by) => {
                c.launch_indirect(&self.kernels["bump"], of(counts), Grid::new(1, 1, 1), (of(at), by))
            }
            Op::Add(a, b, to) => c.launch(&self.kernels["add"], one, (of(a), of(b), of(to))),
            Op::Groups(at, Amount::Fixed(groups)) => c.launch(&self.kernels["groups"], Grid::groups(groups), (of(at),)),
            Op::Groups(at, Amount::Param(groups)) => {
                let grid = c.grid_param("groups", Grid::groups(groups), Grid::groups(4));
                c.launch(&self.kernels["groups"], &grid, (of(at),))
            }
        }
    }

    fn doubt_of(&self, numbers: &[Number]) -> Doubt {
        let doubts = numbers.iter().map(|number| self.cells[*number].doubt);
        doubts.max_by_key(|doubt| *doubt as u8).unwrap_or(Doubt::No)
    }

    /// The operation ran: over what its inputs held, none of which had failed then.
    pub(crate) fn apply(&mut self, op: &Op, params: &Params) {
        for input in op.inputs() {
            self.cells[input].doubt = Doubt::No;
        }
        let word = op.value(params, |number| self.cells[number].word);
        self.cells[op.output(params)] = Cell { word, doubt: Doubt::No };
    }

    /// What should have written the buffer failed.
    pub(crate) fn doubt(&mut self, number: Number, sure: bool) {
        let cell = &mut self.cells[number];
        cell.doubt = if sure || cell.doubt == Doubt::Surely { Doubt::Surely } else { Doubt::Maybe };
    }

    /// Eager work; what it needs and is not there, since it failed, leaves it out.
    pub(crate) fn eager(&mut self, stream: usize, op: &Op) -> Check {
        let params = Params::default();
        if self.lost() || !self.has(op, &params) {
            return Ok(());
        }
        let (calls, inputs) = (self.probe.calls(), self.doubt_of(&op.inputs()));
        match self.send(&self.stream(stream), op) {
            Ok(()) if inputs == Doubt::Surely => Err(format!("{op:?} ran over an input that holds no result")),
            Ok(()) => {
                self.apply(op, &params);
                Ok(())
            }
            Err(error) => {
                self.doubt(op.output(&params), false);
                self.failed(&format!("{op:?}"), &error, calls, inputs != Doubt::No)
            }
        }
    }

    /// Record an operation of a window's owner: whether it is in the recording.
    pub(crate) fn record(&mut self, owner: &Stream, op: &Op, follows: bool) -> Check<bool> {
        let calls = self.probe.calls();
        match self.send(owner, op) {
            Ok(()) => Ok(true),
            Err(error) => {
                self.doubt(op.output(&Params::default()), false);
                self.failed(&format!("recording {op:?}"), &error, calls, follows).map(|()| false)
            }
        }
    }

    pub(crate) fn read(&mut self, stream: usize, number: Number) -> Check {
        if self.lost() || self.buffers[number].is_none() {
            return Ok(());
        }
        let calls = self.probe.calls();
        let read = self.stream(stream).read_async::<u32>(self.buffer(number));
        let read = read.and_then(|mut answer| answer.wait_for(self.patience));
        self.compare(number, self.cells[number], read, calls)
    }

    /// Hold what was read against what the buffer held when the read was asked for.
    pub(crate) fn compare(&mut self, number: Number, cell: Cell, read: Result<Vec<u32>>, calls: u64) -> Check {
        match (cell.doubt, cell.word, read) {
            (Doubt::Surely, _, Ok(words)) => Err(format!("buffer {number} holds no result and read {}", words[0])),
            (_, Word::Unwritten, Ok(words)) => Err(format!("buffer {number} was never written and read {}", words[0])),
            (_, Word::Is(word), Ok(words)) if words != [word; WORDS] => {
                Err(format!("buffer {number} holds {word} ({:?}) and read {words:?}", cell.doubt))
            }
            (_, _, Ok(_)) => {
                self.cells[number].doubt = Doubt::No;
                Ok(())
            }
            (_, Word::Unwritten, Err(ServerError::Unwritten { .. })) => Ok(()),
            (Doubt::Maybe | Doubt::Surely, _, Err(ServerError::Tainted { .. })) => {
                self.cells[number].doubt = Doubt::Surely;
                Ok(())
            }
            (_, _, Err(error)) => self.failed(&format!("reading buffer {number}"), &error, calls, false),
        }
    }

    /// A graph of these operations by closure.
    pub(crate) fn capture(&mut self, name: &'static str, ops: &[Op], params: Params) -> Check {
        if self.lost() || !ops.iter().all(|op| self.has(op, &params)) {
            return Ok(());
        }
        let (calls, inputs) = (self.probe.calls(), self.exposed(ops));
        let captured = self.device.capture(|c| ops.iter().try_for_each(|op| self.put(c, op)));
        self.sealed(name, captured.map(|(graph, ())| graph), ops, params, calls, inputs != Doubt::No)
    }

    /// The doubt about what the operations read and no earlier one of them has wholly written.
    pub(crate) fn exposed(&self, ops: &[Op]) -> Doubt {
        let params = Params::default();
        let (mut written, mut inputs) = (Vec::new(), Vec::new());
        for op in ops {
            inputs.extend(op.inputs().into_iter().filter(|input| !written.contains(input)));
            written.push(op.output(&params));
        }
        self.doubt_of(&inputs)
    }

    pub(crate) fn sealed(
        &mut self,
        name: &'static str,
        sealed: Result<Graph>,
        ops: &[Op],
        params: Params,
        calls: u64,
        follows: bool,
    ) -> Check {
        match sealed {
            Ok(graph) if graph.report().nodes != ops.len() => {
                Err(format!("{} operations became {} nodes of {name}", ops.len(), graph.report().nodes))
            }
            Ok(graph) => {
                self.graphs.insert(name, Sealed { graph, ops: ops.to_vec(), params });
                Ok(())
            }
            Err(error) => {
                ops.iter().for_each(|op| self.doubt(op.output(&params), false));
                self.failed(&format!("the capture of {name}"), &error, calls, follows)
            }
        }
    }

    /// Replay on a stream, or timed without one; wait for its end where `wait` says so.
    pub(crate) fn replay(&mut self, name: &'static str, stream: Option<usize>, wait: bool) -> Check {
        if self.lost() || !self.graphs.contains_key(name) {
            return Ok(());
        }
        let (ops, params) = (self.graphs[name].ops.clone(), self.graphs[name].params);
        let (calls, inputs) = (self.probe.calls(), self.exposed(&ops));
        let graph = &self.graphs[name].graph;
        let replayed = match stream {
            Some(stream) => graph.replay_on_stream(&self.stream(stream)),
            None => graph.replay_timed(),
        };
        match replayed {
            Ok(done) => {
                ops.iter().for_each(|op| self.apply(op, &params));
                match done.wait_for(if wait { self.patience } else { Duration::ZERO }) {
                    Ok(report) if stream.is_none() && report.nodes.len() != ops.len() => {
                        Err(format!("{} of {} nodes were timed", report.nodes.len(), ops.len()))
                    }
                    Err(error) if wait => self.failed("the end of a replay", &error, calls, false),
                    _ => Ok(()),
                }
            }
            Err(error) => {
                ops.iter().for_each(|op| self.doubt(op.output(&params), false));
                self.failed(&format!("a replay of {name}"), &error, calls, inputs != Doubt::No)
            }
        }
    }

    /// Change what a graph's parameters are, all or none.
    pub(crate) fn update(&mut self, name: &'static str, params: Params) -> Check {
        let Some(known) = self.graphs.get(name) else { return Ok(()) };
        if self.lost() || self.buffers[params.slot].is_none() {
            return Ok(());
        }
        let (calls, before) = (self.probe.calls(), known.params);
        let updated = known.graph.update(|update| {
            if params.by != before.by {
                update.set("by", params.by);
            }
            if params.groups != before.groups {
                update.grid("groups", [params.groups, 1, 1]);
            }
            if params.slot != before.slot {
                update.bind("slot", self.buffer(params.slot));
            }
            update
        });
        match updated {
            Ok(()) => {
                self.graphs.get_mut(name).expect("it was found").params = params;
                Ok(())
            }
            Err(error) => self.failed("an update", &error, calls, false),
        }
    }

    /// Read everything; then the device works, or every call says that it is lost.
    fn settle(&mut self, script: u64) -> Check {
        self.probe.release_hangs();
        self.patience = LONG;
        for number in 0..BUFFERS {
            self.read(number % 4, number)?;
        }
        if self.lost() {
            return self.answers_the_loss();
        }
        let works = self.works().or_else(|error| {
            // The one fault may have come only now.
            self.errors += 1;
            if self.faulted_since(script) { self.works() } else { Err(error) }
        });
        match works {
            Err(_) if self.lost() => self.answers_the_loss(),
            Err(error) => Err(format!("a fresh capture does not work afterwards: {error}")),
            Ok(()) => Ok(()),
        }
    }

    fn works(&self) -> Result<()> {
        let bump = self.device.kernel(BUMP)?;
        let buffer = self.device.upload(&[5u32; WORDS])?;
        let (graph, ()) = self.device.capture(|c| c.launch(&bump, Grid::groups(1), (&buffer, 1u32)))?;
        graph.replay()?.wait_for(LONG)?;
        let mut read = buffer.read_async::<u32>()?;
        let words = read.wait_for(LONG)?;
        if words == [6; WORDS] { Ok(()) } else { Err(ServerError::graph_state(format!("it computes {words:?}"))) }
    }

    fn answers_the_loss(&self) -> Check {
        let device = &self.device;
        let mut answers: Vec<(&str, Result<()>)> = vec![
            ("alloc", device.alloc(64).map(drop)),
            ("upload", device.upload(&[1u32; 4]).map(drop)),
            ("kernel", device.kernel(BUMP).map(drop)),
            ("sync", self.stream(0).sync()),
            ("graph_prepare", self.stream(0).graph_prepare()),
            ("profile", device.profile(|_| Ok(())).map(drop)),
        ];
        for buffer in self.buffers.iter().flatten() {
            answers.push(("read", buffer.read::<u32>().map(drop)));
            answers.push(("fill", buffer.fill(1)));
            answers.push(("a capture", device.capture(|c| c.fill(buffer, 1)).map(drop)));
        }
        for sealed in self.graphs.values() {
            answers.push(("a replay", sealed.graph.replay().map(drop)));
            answers.push(("an update", sealed.graph.update(|update| update)));
        }
        answers.into_iter().try_for_each(|(what, answer)| match answer {
            Err(error) if error.is_device_lost() => Ok(()),
            other => Err(format!("{what} of a lost device answered {other:?}")),
        })
    }
}

fn hangs(fault: Fault) -> bool {
    fault.1 == Then::Hang
}
