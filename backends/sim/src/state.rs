//! All that one simulated device knows, behind its one lock.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::Instant;

use graphreel::error::{DriverError, FaultClass};
use graphreel::graph::driver::{CaptureMode, DeviceMemory, DriverCaps};
use graphreel::sync::Arc;
use graphreel::sync::atomic::{AtomicU64, Ordering};
use graphreel::sync::thread::{self, ThreadId};

use crate::exec::Exec;
use crate::failure::{Answer, Fail, Misuse, Rule};
use crate::fault::{Armed, Failure};
use crate::graph::Graph;
use crate::handle::{Owned, SimContext};
use crate::hazard::Hazards;
use crate::op::{Code, Holder, Holds, Use};
use crate::options::{Completion, SimOptions};
use crate::pinned::PinnedSpace;
use crate::probe::KernelFinding;
use crate::space::Space;
use crate::stream::{Event, Hold, Last, Point, Stream, Todo};
use crate::trace::Trace;

/// Misuse and findings that are kept; more is counted.
const KEPT_MAX: usize = 1_000;

/// Workgroup memory in bytes that a kernel may have without being allowed more, as on NVIDIA's devices.
const SHARED_BYTES_GIVEN: u32 = 48 << 10;

/// What is alive, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Streams.
    pub streams: usize,
    /// Events.
    pub events: usize,
    /// Allocations of device memory.
    pub memory: usize,
    /// Allocations of pinned host memory.
    pub pinned: usize,
    /// Modules.
    pub modules: usize,
    /// Graphs.
    pub graphs: usize,
    /// Executables.
    pub execs: usize,
}

impl Live {
    /// All of them.
    pub fn total(&self) -> usize {
        self.streams + self.events + self.memory + self.pinned + self.modules + self.graphs + self.execs
    }
}

impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            (self.streams, "streams"),
            (self.events, "events"),
            (self.memory, "device memory"),
            (self.pinned, "pinned memory"),
            (self.modules, "modules"),
            (self.graphs, "graphs"),
            (self.execs, "executables"),
        ];
        let alive = kinds.iter().filter(|(count, _)| *count > 0).map(|(count, kind)| format!("{kind}: {count}"));
        let alive: Vec<String> = alive.collect();
        f.write_str(if alive.is_empty() { "nothing" } else { "" })?;
        f.write_str(&alive.join(", "))
    }
}

/// Numbers of the kinds that are counted here, from 1.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    stream: u64,
    event: u64,
    module: u64,
    graph: u64,
    exec: u64,
}

impl Ids {
    fn next(counter: &mut u64) -> u64 {
        *counter += 1;
        *counter
    }

    pub(crate) fn graph(&mut self) -> u64 {
        Self::next(&mut self.graph)
    }

    pub(crate) fn exec(&mut self) -> u64 {
        Self::next(&mut self.exec)
    }
}

/// A loaded kernel.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) code: Arc<Code>,
    holds: Holds,
    /// Workgroup memory in bytes that its kernel may have.
    shared_bytes: u32,
}

/// The device.
#[derive(Debug)]
pub(crate) struct State {
    instance: u64,
    pub(crate) options: SimOptions,
    pub(crate) ids: Ids,
    pub(crate) space: Space,
    pub(crate) pinned: PinnedSpace,
    pub(crate) streams: BTreeMap<u64, Stream>,
    pub(crate) events: BTreeMap<u64, Event>,
    modules: BTreeMap<u64, Module>,
    pub(crate) graphs: BTreeMap<u64, Graph>,
    pub(crate) execs: BTreeMap<u64, Exec>,
    contexts: HashMap<ThreadId, SimContext>,
    modes: HashMap<ThreadId, CaptureMode>,
    /// What every call answers, once the context is gone.
    pub(crate) fatal: Option<Answer>,
    /// Raised when pending work is dropped: what still runs then has no effect.
    pub(crate) epoch: Arc<AtomicU64>,
    pub(crate) misuse: Vec<Misuse>,
    pub(crate) misuse_count: u64,
    pub(crate) calls: u64,
    pub(crate) faults: Armed,
    pub(crate) trace: Trace,
    pub(crate) findings: Vec<KernelFinding>,
    /// Where unordered work is looked for.
    pub(crate) hazards: Option<Hazards>,
    /// What the fault plan does to the commands that the call now made enqueues.
    pub(crate) mark: Hold,
    /// Streams with work, in no order.
    pub(crate) active: Vec<u64>,
    pub(crate) rng: fastrand::Rng,
    pub(crate) turn: u64,
    /// The latest virtual time of any stream.
    pub(crate) latest: u64,
    pub(crate) opened: Instant,
    /// Whether the worker sleeps, having found nothing to run.
    pub(crate) asleep: bool,
    /// Whether something came that a sleeping worker must be woken for.
    pub(crate) wake: bool,
    pub(crate) stopped: bool,
}

impl State {
    pub(crate) fn new(instance: u64, mut options: SimOptions, epoch: Arc<AtomicU64>) -> Self {
        let seed = match options.completion {
            Completion::Seeded(seed) => seed,
            Completion::Prompt | Completion::Manual => options.seed,
        };
        Self {
            instance,
            ids: Ids::default(),
            space: Space::new(options.memory_bytes, options.seed),
            pinned: PinnedSpace::new(options.memory_bytes),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            modules: BTreeMap::new(),
            graphs: BTreeMap::new(),
            execs: BTreeMap::new(),
            contexts: HashMap::new(),
            modes: HashMap::new(),
            fatal: None,
            epoch,
            misuse: Vec::new(),
            misuse_count: 0,
            calls: 0,
            faults: Armed::new(std::mem::take(&mut options.faults)),
            trace: Trace::new(options.trace),
            findings: Vec::new(),
            hazards: options.hazards.then(Hazards::default),
            mark: Hold::Free,
            active: Vec::new(),
            rng: fastrand::Rng::with_seed(seed),
            turn: 0,
            latest: 0,
            opened: Instant::now(),
            asleep: false,
            wake: false,
            stopped: false,
            options,
        }
    }

    pub(crate) fn live(&self) -> Live {
        Live {
            streams: self.streams.len(),
            events: self.events.len(),
            memory: self.space.count(),
            pinned: self.pinned.count(),
            modules: self.modules.len(),
            graphs: self.graphs.len(),
            execs: self.execs.len(),
        }
    }

    /// The id behind a handle, which must be of this device.
    pub(crate) fn own(&self, handle: &Owned, name: impl fmt::Display) -> Result<u64, Fail> {
        self.of_this(handle.instance, name)?;
        Ok(handle.id)
    }

    pub(crate) fn of_this(&self, instance: u64, name: impl fmt::Display) -> Result<(), Fail> {
        if instance == self.instance {
            return Ok(());
        }
        Fail::misuse(Rule::ForeignHandle, format!("{name} of simulator {instance}, not {}", self.instance))
    }

    pub(crate) fn stream(&mut self, id: u64) -> &mut Stream {
        self.streams.get_mut(&id).expect("a stream lives as long as its handle")
    }

    pub(crate) fn event(&mut self, id: u64) -> &mut Event {
        self.events.get_mut(&id).expect("an event lives as long as its handle")
    }

    pub(crate) fn graph(&mut self, id: u64) -> &mut Graph {
        self.graphs.get_mut(&id).expect("a graph lives as long as its handle")
    }

    pub(crate) fn exec(&mut self, id: u64) -> &mut Exec {
        self.execs.get_mut(&id).expect("an executable lives as long as its handle")
    }

    pub(crate) fn code(&self, module: u64) -> Result<Arc<Code>, Fail> {
        match self.modules.get(&module) {
            Some(found) => Ok(Arc::clone(&found.code)),
            None => Fail::misuse(Rule::StaleHandle, format!("a function of c{module}, which was unloaded")),
        }
    }

    /// Refuse a call on a thread that has not bound this device.
    pub(crate) fn bound(&self) -> Result<(), Fail> {
        match self.contexts.get(&thread::current().id()) {
            Some(SimContext(instance)) if *instance == self.instance => Ok(()),
            Some(SimContext(other)) => Fail::misuse(Rule::OtherContext, format!("simulator {other}")),
            None => Fail::misuse(Rule::ContextNotBound, "bind it with `context_set`"),
        }
    }

    pub(crate) fn context(&self) -> Option<SimContext> {
        self.contexts.get(&thread::current().id()).copied()
    }

    pub(crate) fn set_context(&mut self, context: Option<SimContext>) {
        let thread = thread::current().id();
        match context {
            Some(context) => self.contexts.insert(thread, context),
            None => self.contexts.remove(&thread),
        };
    }

    /// The calling thread's capture mode, and its new one. The default is not kept, so threads leave nothing behind.
    pub(crate) fn exchange_mode(&mut self, mode: CaptureMode) -> CaptureMode {
        let thread = thread::current().id();
        let old = match mode {
            CaptureMode::Global => self.modes.remove(&thread),
            _ => self.modes.insert(thread, mode),
        };
        old.unwrap_or(CaptureMode::Global)
    }

    /// Turn a failure into the driver's answer; misuse is kept.
    pub(crate) fn report(&mut self, call: &'static str, fail: Fail) -> DriverError {
        match fail {
            Fail::Answer(answer) => answer.at(call),
            Fail::Misuse(rule, detail) => {
                let answer = Answer::refused(-1, format!("misuse: {rule} ({detail})"));
                self.misuse_count += 1;
                if self.misuse.len() < KEPT_MAX {
                    self.misuse.push(Misuse { call, rule, detail });
                }
                answer.at(call)
            }
        }
    }

    /// A failure of the fault plan, which takes the context with it where its class says so.
    pub(crate) fn inject(&mut self, call: &'static str, failure: Failure) -> DriverError {
        let answer = failure.answer();
        let error = answer.at(call);
        if failure.class > FaultClass::CallLocal {
            self.break_context(answer);
        }
        error
    }

    /// From here on every call answers this, and what was enqueued is dropped.
    pub(crate) fn break_context(&mut self, answer: Answer) {
        if self.fatal.as_ref().is_some_and(|fatal| fatal.class >= answer.class) {
            return;
        }
        self.fatal = Some(answer);
        self.epoch.fetch_add(1, Ordering::AcqRel);
        for stream in self.streams.values_mut() {
            stream.queue.clear();
            (stream.running, stream.place) = (false, None);
        }
        self.active.clear();
        self.execs.values_mut().for_each(|exec| exec.in_flight = 0);
        self.modules.values_mut().for_each(|module| module.holds.forget_pending());
        self.space.forget_pending();
        self.pinned.forget_pending();
    }

    pub(crate) fn found(&mut self, finding: KernelFinding) {
        if self.findings.len() < KEPT_MAX && !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    fn holds(&mut self, used: &Use) -> Option<&mut Holds> {
        match *used {
            Use::Device { base, id } => self.space.holds(base, id),
            Use::Pinned { base, id } => self.pinned.holds(base, id),
            Use::Module(id) => self.modules.get_mut(&id).map(|module| &mut module.holds),
        }
    }

    pub(crate) fn is_live(&mut self, used: &Use) -> bool {
        self.holds(used).is_some()
    }

    /// Note who uses these. What was freed wrongly meanwhile is passed over.
    pub(crate) fn hold(&mut self, uses: &[Use], holder: Holder) {
        for used in uses {
            if let Some(holds) = self.holds(used) {
                holds.add(holder);
            }
        }
    }

    pub(crate) fn release(&mut self, uses: &[Use], holder: Holder) {
        for used in uses {
            if let Some(holds) = self.holds(used) {
                holds.remove(holder);
            }
        }
    }

    pub(crate) fn module_load(&mut self, code: Arc<Code>) -> u64 {
        let id = Ids::next(&mut self.ids.module);
        self.modules.insert(id, Module { code, holds: Holds::default(), shared_bytes: SHARED_BYTES_GIVEN });
        id
    }

    /// Dynamic workgroup memory that launches of a module's kernel may ask for.
    pub(crate) fn dynamic_bytes_max(&self, caps: &DriverCaps, module: u64) -> Result<u32, Fail> {
        let fixed = self.code(module)?.program.reflection().workgroup_bytes;
        let allowed = self.modules.get(&module).map_or(0, |module| module.shared_bytes);
        Ok(allowed.min(caps.shared_bytes_max).saturating_sub(fixed))
    }

    /// Let them ask for more.
    pub(crate) fn allow_shared(&mut self, caps: &DriverCaps, module: u64, bytes: u32) -> Result<(), Fail> {
        let fixed = self.code(module)?.program.reflection().workgroup_bytes;
        let wanted = fixed.saturating_add(bytes);
        if wanted > caps.shared_bytes_max {
            return Err(Answer::refused(1, format!("{wanted} bytes of workgroup memory")).into());
        }
        if let Some(module) = self.modules.get_mut(&module) {
            module.shared_bytes = wanted;
        }
        Ok(())
    }

    pub(crate) fn module_unload(&mut self, id: u64) -> Result<(), Fail> {
        let user = self.modules.remove(&id).and_then(|module| module.holds.code_user());
        user.map_or(Ok(()), |user| Fail::misuse(Rule::ModuleInUse, format!("c{id}: {user}")))
    }

    pub(crate) fn stream_create(&mut self) -> u64 {
        let id = Ids::next(&mut self.ids.stream);
        self.streams.insert(id, Stream::default());
        id
    }

    /// Work that is left is dropped; what waits for it goes on.
    pub(crate) fn stream_destroy(&mut self, id: u64) -> Result<(), Fail> {
        let (captures, busy) = (self.stream(id).capture.is_some(), self.stream(id).queue.len());
        if captures {
            let _ = self.capture_end(id).map(|graph| self.graph_destroy(graph));
        }
        while let Some(command) = self.stream(id).queue.pop_front() {
            let now = self.clock(0);
            match command.todo {
                Todo::Work(work) => self.release(&work.uses, Holder::Pending),
                Todo::Record(point) => point.pass(now),
                Todo::Wait(_) => {}
                Todo::Graph(run) => self.end_launch(run.exec, &run.done, now),
            }
        }
        self.deactivate(id);
        self.streams.remove(&id);
        match (captures, busy) {
            (true, _) => Fail::misuse(Rule::CapturingStream, format!("s{id}")),
            (false, 0) => Ok(()),
            (false, busy) => Fail::misuse(Rule::BusyStream, format!("s{id}: {busy} commands")),
        }
    }

    pub(crate) fn event_create(&mut self, timing: bool) -> u64 {
        let id = Ids::next(&mut self.ids.event);
        self.events.insert(id, Event { timing, last: Last::Never });
        id
    }

    pub(crate) fn event_record(&mut self, event: u64, stream: u64) -> Result<(), Fail> {
        self.takes_work(stream)?;
        if let Some(capture) = &self.stream(stream).capture {
            let last = Last::Captured { stream, graph: capture.graph, tail: capture.tail.clone() };
            self.event(event).last = last;
            return Ok(());
        }
        let point = Arc::new(Point::new(self.clock_of(stream)));
        self.event(event).last = Last::Point(Arc::clone(&point));
        self.enqueue(stream, Todo::Record(point));
        Ok(())
    }

    pub(crate) fn stream_wait_event(&mut self, stream: u64, event: u64) -> Result<(), Fail> {
        self.takes_work(stream)?;
        let inside = self.stream(stream).capture.as_ref().map(|capture| capture.graph);
        let last = self.event(event).last.clone();
        match (inside, last) {
            (_, Last::Never) => Ok(()),
            (None, Last::Point(point)) => {
                self.comes_after(stream, point.clock());
                self.enqueue(stream, Todo::Wait(point));
                Ok(())
            }
            (Some(inside), Last::Captured { graph, tail, .. }) if graph == inside => {
                let capture = self.stream(stream).capture.as_mut().expect("it captures");
                for node in tail {
                    if !capture.tail.contains(&node) {
                        capture.tail.push(node);
                    }
                }
                Ok(())
            }
            (_, last) => {
                if let Last::Captured { stream, graph, .. } = last {
                    self.break_capture(stream, Some(graph), "its event was waited for from outside");
                }
                self.break_capture(stream, None, "it waited for an event from outside");
                Fail::misuse(Rule::CaptureEdge, format!("s{stream} and e{event}"))
            }
        }
    }

    pub(crate) fn event_query(&mut self, event: u64) -> Result<bool, Fail> {
        match self.event(event).last.clone() {
            Last::Never => Ok(true),
            Last::Point(point) => {
                let done = point.is_done();
                if done {
                    self.host_saw(point.clock());
                }
                Ok(done)
            }
            Last::Captured { stream, graph, .. } => {
                self.break_capture(stream, Some(graph), "its event was asked about");
                Fail::misuse(Rule::CapturedEvent, format!("e{event}"))
            }
        }
    }

    /// Nanoseconds between two events.
    pub(crate) fn event_elapsed(&mut self, from: u64, to: u64) -> Result<u64, Fail> {
        let mut times = [0; 2];
        for (time, id) in times.iter_mut().zip([from, to]) {
            let event = self.event(id);
            let Last::Point(point) = &event.last else {
                return Fail::misuse(Rule::NoTime, format!("e{id} was never recorded on a stream that runs"));
            };
            if !event.timing {
                return Fail::misuse(Rule::NoTime, format!("e{id} was made without timing"));
            }
            if !point.is_done() {
                return Err(Answer::not_ready().into());
            }
            *time = point.time();
        }
        Ok(times[1].saturating_sub(times[0]))
    }

    pub(crate) fn captures(&self) -> bool {
        self.streams.values().any(|stream| stream.capture.is_some())
    }

    pub(crate) fn mem_free(&mut self, memory: &DeviceMemory) -> Result<(), Fail> {
        let name = self.space.name(memory.address.0.get());
        let of = self.space.find(memory.address.0.get(), 1);
        let holds = self.space.free(memory)?;
        let _ = of.map(|of| self.forget_history(&of));
        if let Some(user) = holds.memory_user() {
            return Fail::misuse(Rule::MemoryInUse, format!("{name}: {user}"));
        }
        if self.options.free_waits_for_device && self.captures() {
            let streams: Vec<u64> = self.streams.keys().copied().collect();
            for stream in streams {
                self.break_capture(stream, None, "the device was waited for");
            }
            return Fail::misuse(Rule::WaitInCapture, format!("the free of {name}"));
        }
        Ok(())
    }
}
