//! One device behind its one lock, and what can be known without it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, DerefMut};

use super::closed::ClosedServer;
use super::graph::WeakGraph;
use super::waiter::Waiters;
use super::{Monitor, wait};
use crate::caps::{Caps, DeviceInfo};
use crate::clock::Deadline;
use crate::config::Config;
use crate::error::{GraphOp, GraphRule, GraphState, Result, ServerError};
use crate::kernel::Compiler;
use crate::memory::{Account, DeviceId, MemoryService};
use crate::op::Op;
use crate::process::{self, AtExit};
use crate::server::Server;
use crate::stream::StreamId;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, Mutex, MutexGuard, OnceLock};
use crate::ticket::Fence;

pub(super) struct DeviceInner {
    server: Mutex<Box<dyn Server>>,
    /// Set before the server goes: nothing is asked of it from then on.
    closed: OnceLock<ServerError>,
    /// Exclusive slots whose users are told apart, with the turn that is theirs now.
    turns: Mutex<HashMap<usize, u32>>,
    /// Graphs that were recorded on exclusive slots in their present turn, by slot.
    recorded: Mutex<HashMap<usize, Recorded>>,
    /// Calls on streams that are everybody's.
    shared_calls: AtomicU64,
    /// Whether memory and captures are had through the attempts of a backend alone.
    pub(super) managed: bool,
    pub(super) id: DeviceId,
    service: MemoryService,
    pub(super) info: DeviceInfo,
    pub(super) caps: Caps,
    pub(super) config: Config,
    pub(super) compiler: Arc<dyn Compiler>,
    pub(super) monitor: Arc<Monitor>,
    pub(super) waiters: Waiters,
    /// For each stream, the number of the last window that a handle on it opened, while that handle lives.
    pub(super) windows: Mutex<HashMap<StreamId, u64>>,
    /// Given back behind the server.
    claim: Mutex<Option<Claim>>,
    /// Set when the process exits: the driver's own threads may be running work.
    leaves_work: AtomicBool,
}

thread_local! {
    /// Closures of `capture` and `profile` that run on this thread, by device.
    static CLOSURES: RefCell<Vec<(DeviceId, GraphOp)>> = const { RefCell::new(Vec::new()) };
}

impl DeviceInner {
    pub(super) fn new(server: Box<dyn Server>, config: Config, use_as: UseAs) -> Arc<Self> {
        let (managed, claim) = match use_as {
            UseAs::Direct(claim) => (false, claim),
            UseAs::Managed => (true, None),
        };
        let inner = Arc::new(Self {
            closed: OnceLock::new(),
            turns: Mutex::new(HashMap::new()),
            recorded: Mutex::new(HashMap::new()),
            shared_calls: AtomicU64::new(0),
            managed,
            claim: Mutex::new(claim),
            leaves_work: AtomicBool::new(false),
            id: server.memory_service().device(),
            service: server.memory_service(),
            info: server.info(),
            caps: server.caps(),
            compiler: server.compiler(),
            monitor: server.monitor(),
            windows: Mutex::new(HashMap::new()),
            waiters: Waiters::new(config.waiter_threads_max),
            server: Mutex::new(server),
            config,
        });
        process::at_exit(&inner.info.backend, process::weak_hook(&inner));
        inner
    }

    /// The device's lock. Held while calls are issued, never across a device wait, a compile or a caller's code. Once the
    /// process is ending, a server that refuses everything: the lock may be held by a thread that is no more.
    pub(super) fn lock(&self) -> ServerGuard<'_> {
        if process::is_ending() {
            return ServerGuard::Ended(self.refuser(self.ended()));
        }
        let server = self.server.lock();
        if process::is_ending() {
            return ServerGuard::Ended(self.refuser(self.ended()));
        }
        ServerGuard::Open(server)
    }

    /// As [`DeviceInner::lock`], for a call on `stream`.
    ///
    /// # Errors
    ///
    /// [`ServerError::Closed`] for an exclusive stream whose turn is over.
    pub(super) fn lock_on(&self, stream: StreamId) -> Result<ServerGuard<'_>> {
        let server = self.lock();
        if stream.exclusive_index().is_none() {
            self.shared_calls.fetch_add(1, Ordering::Relaxed);
        }
        if self.is_over(stream) { Err(over(stream)) } else { Ok(server) }
    }

    /// How many calls on streams that are everybody's were begun. Who has the lock misses none of those before.
    pub(super) fn shared_calls(&self) -> u64 {
        self.shared_calls.load(Ordering::Relaxed)
    }

    fn is_over(&self, stream: StreamId) -> bool {
        let (Some(index), turn) = (stream.exclusive_index(), stream.turn()) else { return false };
        turn != 0 && self.turns.lock().get(&index) != Some(&turn)
    }

    /// A graph was recorded on `stream`: it ends with the stream's turn. One that comes too late ends at once.
    pub(super) fn note_graph(&self, stream: StreamId, graph: WeakGraph) {
        let Some(index) = stream.exclusive_index() else { return };
        {
            let mut recorded = self.recorded.lock();
            let recorded = recorded.entry(index).or_default();
            if recorded.graphs.len() >= recorded.sweep_at.max(GRAPHS_SWEEP_MIN) {
                recorded.graphs.retain(WeakGraph::is_held);
                recorded.sweep_at = recorded.graphs.len() * 2;
            }
            recorded.graphs.push(graph.clone());
        }
        if self.is_over(stream) {
            graph.close(ATTEMPT_ENDED);
        }
    }

    /// The exclusive slot of `stream` in its next turn: handles of the last one are refused from now on, graphs that it
    /// recorded are destroyed, and a window that it left open is aborted.
    pub(super) fn next_turn(&self, stream: StreamId) -> StreamId {
        let Some(index) = stream.exclusive_index() else { return stream };
        let next = self.begin_turn(index, stream);
        let recorded = self.recorded.lock().remove(&index).unwrap_or_default();
        recorded.graphs.iter().for_each(|graph| graph.close(ATTEMPT_ENDED));
        next
    }

    fn begin_turn(&self, index: usize, stream: StreamId) -> StreamId {
        let mut server = self.lock();
        if let Some(owner) = server.capture_status(stream).owner
            && let Err(error) = server.graph_abort(owner)
        {
            tracing::warn!(%error, ?stream, "the window of a stream that was given back could not be aborted");
        }
        let mut turns = self.turns.lock();
        let turn = turns.entry(index).or_insert(0);
        *turn = stream.in_turn(*turn + 1).turn().max(1);
        stream.in_turn(*turn)
    }

    /// Why it was closed, or that the process is ending; `None` while it is open.
    pub(super) fn closed(&self) -> Option<ServerError> {
        if process::is_ending() { Some(self.ended()) } else { self.closed.get().cloned() }
    }

    /// Whether `fence` is passed, without asking for it once the device is closed.
    pub(super) fn passed(&self, fence: &dyn Fence) -> Result<bool> {
        let _call = self.unlocked_call()?;
        fence.is_passed()
    }

    /// The server for good, and what is asked from now on is refused with `why`. `None` the second time.
    pub(super) fn take_server(&self, why: &str) -> Option<Box<dyn Server>> {
        let error = ServerError::closed(format!("device {} ({})", self.id.0, self.info.name), why);
        self.closed.set(error.clone()).ok()?;
        match self.lock() {
            ServerGuard::Open(mut server) => Some(std::mem::replace(&mut *server, self.refuser(error))),
            ServerGuard::Ended(_) => None,
        }
    }

    /// What was held for as long as the device is open, once it is not.
    pub(super) fn take_claim(&self) -> Option<Claim> {
        self.claim.lock().take()
    }

    fn ended(&self) -> ServerError {
        let why = process::ending_reason().unwrap_or("the process is exiting");
        ServerError::closed(format!("device {} ({})", self.id.0, self.info.name), why)
    }

    fn refuser(&self, why: ServerError) -> Box<dyn Server> {
        Box::new(ClosedServer {
            info: self.info.clone(),
            caps: self.caps.clone(),
            service: self.service.clone(),
            compiler: self.compiler.clone(),
            monitor: self.monitor.clone(),
            why,
        })
    }

    /// Submit one operation of a plain handle, and wait for room where too much is in flight.
    pub(super) fn submit(&self, stream: StreamId, op: Op) -> Result<()> {
        self.refuse_in_closure(op.call(), instead(&op))?;
        self.or_doom(stream, self.prepare(&op))?;
        let pressure = {
            let mut server = self.lock_on(stream)?;
            server.submit(stream, op)?;
            server.pressure()
        };
        match pressure {
            Some(fence) => wait::for_room(self, &*fence, self.deadline()),
            None => Ok(()),
        }
    }

    /// What was made for `stream` to submit; a failure dooms the window that it records, in which it would be missing.
    pub(super) fn or_doom<T>(&self, stream: StreamId, made: Result<T>) -> Result<T> {
        made.inspect_err(|error| {
            if let Ok(mut server) = self.lock_on(stream) {
                server.doom(stream, error);
            }
        })
    }

    /// Compile what `op` needs beside its kernel, without the lock.
    pub(super) fn prepare(&self, op: &Op) -> Result<()> {
        let _call = self.unlocked_call()?;
        self.compiler.prepare(op)
    }

    /// Mark that this thread calls into the driver without the lock.
    ///
    /// # Errors
    ///
    /// [`ServerError::Closed`].
    pub(super) fn unlocked_call(&self) -> Result<process::UnlockedCall> {
        let call = process::unlocked_call().ok_or_else(|| self.ended())?;
        self.closed.get().cloned().map_or(Ok(call), Err)
    }

    /// Memory of the attempts of a backend is paid by their grants, and their captures are theirs.
    ///
    /// # Errors
    ///
    /// `Unsupported` on a device that a backend manages.
    pub(super) fn refuse_if_managed(&self, what: &'static str) -> Result<()> {
        if !self.managed {
            return Ok(());
        }
        Err(ServerError::unsupported(
            format!("{what} on a device that a backend manages"),
            "use the context of an admitted attempt, whose grant pays for it",
        ))
    }

    /// When a wait without a deadline of its own gives up.
    pub(super) fn deadline(&self) -> Deadline {
        self.config.clock.deadline_in(self.config.wait_max)
    }

    /// The account that pays when none is named.
    pub(super) fn default_account() -> Account {
        static DEFAULT: crate::sync::OnceLock<Account> = crate::sync::OnceLock::new();
        DEFAULT.get_or_init(|| Account::new("default", None)).clone()
    }

    /// Refuse a plain handle's call while a closure of this device runs on this thread: only what goes through the
    /// closure's own value is recorded, so the call would silently not be part of the graph.
    pub(super) fn refuse_in_closure(&self, call: GraphOp, instead: &'static str) -> Result<()> {
        if self.in_closure().is_none() {
            return Ok(());
        }
        Err(GraphState::new(call, GraphRule::PlainHandleInClosure { instead }).caller(StreamId::current()).into())
    }

    /// The closure of this device that runs on this thread.
    pub(super) fn in_closure(&self) -> Option<GraphOp> {
        let running = |closures: &RefCell<Vec<(DeviceId, GraphOp)>>| {
            closures.borrow().iter().rev().find(|(id, _)| *id == self.id).map(|(_, call)| *call)
        };
        // A thread that ends may call from the destructor of a thread-local; no closure runs on it then.
        CLOSURES.try_with(running).unwrap_or(None)
    }

    /// Mark that a closure of this device runs on this thread until the guard is dropped, also by a panic.
    pub(super) fn enter_closure(&self, call: GraphOp) -> Result<ClosureGuard> {
        if self.in_closure().is_some() {
            return Err(GraphState::new(call, GraphRule::NestedCapture).caller(StreamId::current()).into());
        }
        let entered = CLOSURES.try_with(|closures| closures.borrow_mut().push((self.id, call)));
        match entered {
            Ok(()) => Ok(ClosureGuard { device: self.id }),
            Err(_) => {
                let rule = GraphRule::Other("its thread is ending; call it before, or on another thread".to_owned());
                Err(GraphState::new(call, rule).caller(StreamId::current()).into())
            }
        }
    }

    /// Refuse a handle of another device.
    pub(super) fn check_owner(&self, what: impl FnOnce() -> String, of: DeviceId) -> Result<()> {
        if of == self.id {
            return Ok(());
        }
        Err(ServerError::ForeignHandle { what: what().into(), of: of.0, here: self.id.0 })
    }
}

/// Why handles of an attempt that has ended are refused.
pub(crate) const ATTEMPT_ENDED: &str = "its attempt has ended (backend_closing); admit another one for more work";

/// Graphs that are remembered before those that are gone are forgotten.
const GRAPHS_SWEEP_MIN: usize = 16;

/// Graphs of one turn of a slot.
#[derive(Default)]
struct Recorded {
    graphs: Vec<WeakGraph>,
    /// Look for what is gone once there are this many.
    sweep_at: usize,
}

fn over(stream: StreamId) -> ServerError {
    ServerError::closed(format!("stream {stream:?}"), ATTEMPT_ENDED)
}

/// The device's lock, or what stands in for the server of a process that is ending.
pub(super) enum ServerGuard<'a> {
    Open(MutexGuard<'a, Box<dyn Server>>),
    Ended(Box<dyn Server>),
}

impl Deref for ServerGuard<'_> {
    type Target = Box<dyn Server>;

    fn deref(&self) -> &Box<dyn Server> {
        match self {
            Self::Open(server) => server,
            Self::Ended(server) => server,
        }
    }
}

impl DerefMut for ServerGuard<'_> {
    fn deref_mut(&mut self) -> &mut Box<dyn Server> {
        match self {
            Self::Open(server) => server,
            Self::Ended(server) => server,
        }
    }
}

/// Something that is held for as long as a device is open.
pub(super) type Claim = Box<dyn Send + Sync>;

/// Who opened a device.
pub(super) enum UseAs {
    /// A program that shares it with others, with its claim where it has one.
    Direct(Option<Claim>),
    /// A backend, whose attempts alone may use it.
    Managed,
}

impl AtExit for DeviceInner {
    fn stand_still(&self) -> bool {
        let Some(server) = self.server.try_lock() else { return false };
        self.leaves_work.store(server.runs_in_process(), Ordering::Release);
        // Nobody gets it any more; who waits for it waits until the process is gone.
        std::mem::forget(server);
        true
    }

    fn leaves_work(&self) -> bool {
        self.leaves_work.load(Ordering::Acquire)
    }
}

impl Drop for DeviceInner {
    fn drop(&mut self) {
        if process::is_ending() {
            let refuser = self.refuser(self.ended());
            std::mem::forget(std::mem::replace(self.server.get_mut(), refuser));
        }
    }
}

fn instead(op: &Op) -> &'static str {
    match op {
        Op::Launch(_) => "c.launch",
        Op::LaunchIndirect(_) => "c.launch_indirect",
        Op::Copy { .. } => "c.copy",
        Op::Fill { .. } => "c.fill",
        Op::Write { .. } | Op::Upload { .. } => "c.upload",
    }
}

pub(super) struct ClosureGuard {
    device: DeviceId,
}

impl Drop for ClosureGuard {
    fn drop(&mut self) {
        // It cannot fail while the closure's thread runs.
        let _ = CLOSURES.try_with(|closures| {
            let mut closures = closures.borrow_mut();
            if let Some(index) = closures.iter().rposition(|(id, _)| *id == self.device) {
                closures.remove(index);
            }
        });
    }
}

impl fmt::Debug for DeviceInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("id", &self.id).field("info", &self.info).finish_non_exhaustive()
    }
}
