//! Streams and events: queues of commands, and the points in them that others wait for.

use std::collections::VecDeque;
use std::time::Instant;

use graphreel::sync::Arc;
use graphreel::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::capture::Capture;
use crate::exec::GraphRun;
use crate::hazard::Clock;
use crate::op::Work;

/// A queue of commands, run in order.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) queue: VecDeque<Command>,
    /// Whether the first command runs now.
    pub(crate) running: bool,
    pub(crate) capture: Option<Capture>,
    /// Virtual time up to which it has run.
    pub(crate) time: u64,
    /// Its place in the list of streams with work.
    pub(crate) place: Option<usize>,
}

/// One entry of a queue.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) todo: Todo,
    pub(crate) hold: Hold,
    /// Whether the fault plan has had its say.
    pub(crate) examined: bool,
}

/// What to do.
#[derive(Debug)]
pub(crate) enum Todo {
    Work(Arc<Work>),
    Record(Arc<Point>),
    Wait(Arc<Point>),
    Graph(Box<GraphRun>),
}

/// What keeps a command that could run from running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hold {
    #[default]
    Free,
    /// Until this turn of the scheduler.
    Turn(u64),
    Until(Instant),
    Hung,
}

/// A moment in the device's work that has come or has not.
#[derive(Debug, Default)]
pub(crate) struct Point {
    done: AtomicBool,
    time: AtomicU64,
    /// What it stands for, where unordered work is looked for.
    clock: Clock,
}

impl Point {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, ..Self::default() }
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    pub(crate) fn time(&self) -> u64 {
        self.time.load(Ordering::Acquire)
    }

    pub(crate) fn pass(&self, time: u64) {
        self.time.store(time, Ordering::Release);
        self.done.store(true, Ordering::Release);
    }
}

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) timing: bool,
    pub(crate) last: Last,
}

/// What an event stands for.
#[derive(Clone, Debug)]
pub(crate) enum Last {
    Never,
    Point(Arc<Point>),
    /// It was recorded on a capturing stream.
    Captured {
        stream: u64,
        graph: u64,
        tail: Vec<u32>,
    },
}
