//! One device behind its one lock, and what can be known without it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use super::waiter::Waiters;
use super::{Monitor, wait};
use crate::caps::{Caps, DeviceInfo};
use crate::clock::Deadline;
use crate::config::Config;
use crate::error::{GraphOp, GraphRule, GraphState, Result, ServerError};
use crate::kernel::Compiler;
use crate::memory::{Account, DeviceId};
use crate::op::Op;
use crate::server::Server;
use crate::stream::StreamId;
use crate::sync::{Arc, Mutex, MutexGuard};

pub(super) struct DeviceInner {
    server: Mutex<Box<dyn Server>>,
    pub(super) id: DeviceId,
    pub(super) info: DeviceInfo,
    pub(super) caps: Caps,
    pub(super) config: Config,
    pub(super) compiler: Arc<dyn Compiler>,
    pub(super) monitor: Arc<Monitor>,
    pub(super) waiters: Waiters,
    /// For each stream, the number of the last window that a handle on it opened, while that handle lives.
    pub(super) windows: Mutex<HashMap<StreamId, u64>>,
}

thread_local! {
    /// Closures of `capture` and `profile` that run on this thread, by device.
    static CLOSURES: RefCell<Vec<(DeviceId, GraphOp)>> = const { RefCell::new(Vec::new()) };
}

impl DeviceInner {
    pub(super) fn new(server: Box<dyn Server>, config: Config) -> Self {
        Self {
            id: server.memory_service().device(),
            info: server.info(),
            caps: server.caps(),
            compiler: server.compiler(),
            monitor: server.monitor(),
            windows: Mutex::new(HashMap::new()),
            waiters: Waiters::new(config.waiter_threads_max),
            server: Mutex::new(server),
            config,
        }
    }

    /// The device's lock. Held while calls are issued, never across a device wait, a compile or a caller's code.
    pub(super) fn lock(&self) -> MutexGuard<'_, Box<dyn Server>> {
        self.server.lock()
    }

    /// Submit one operation of a plain handle, and wait for room where too much is in flight.
    pub(super) fn submit(&self, stream: StreamId, op: Op) -> Result<()> {
        self.refuse_in_closure(op.call(), instead(&op))?;
        self.or_doom(stream, self.prepare(&op))?;
        let pressure = {
            let mut server = self.lock();
            server.submit(stream, op)?;
            server.pressure()
        };
        match pressure {
            Some(fence) => wait::for_room(&self.config.clock, &*fence, self.deadline()),
            None => Ok(()),
        }
    }

    /// What was made for `stream` to submit; a failure dooms the window that it records, in which it would be missing.
    pub(super) fn or_doom<T>(&self, stream: StreamId, made: Result<T>) -> Result<T> {
        made.inspect_err(|error| self.lock().doom(stream, error))
    }

    /// Compile what `op` needs beside its kernel, without the lock.
    pub(super) fn prepare(&self, op: &Op) -> Result<()> {
        self.compiler.prepare(op)
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
