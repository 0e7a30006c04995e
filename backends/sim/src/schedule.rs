//! Which command runs next: any that its stream, its events and its graph allow, by a seed.

use std::time::{Duration, Instant};

use graphreel::sync::Arc;
use graphreel::sync::atomic::Ordering;

use crate::failure::{Answer, Fail};
use crate::fault::Then;
use crate::op::{End, Holder, Op, Work};
use crate::options::Completion;
use crate::perform::{Job, Outcome, Side, Task};
use crate::state::State;
use crate::stream::{Command, Hold, Point, Todo};

/// What the scheduler found.
#[derive(Debug)]
pub(crate) enum Picked {
    /// Work to do with the lock released, and then to complete.
    Job(Box<Job>),
    /// A command that is done already, or was held back.
    Stepped,
    /// Only commands that some more turns, or time, will free.
    Held(Option<Instant>),
    /// Nothing that can run.
    Nothing,
}

/// Whether a stream's first command can run.
enum Readiness {
    Ready,
    Later(Option<Instant>),
    No,
}

impl State {
    fn prompt(&self) -> bool {
        self.options.completion == Completion::Prompt
    }

    /// Device time in nanoseconds: real, or virtual with `time` as a stream has it.
    pub(crate) fn clock(&self, time: u64) -> u64 {
        if self.prompt() { u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX) } else { time }
    }

    /// How the fault plan holds what a call enqueues.
    pub(crate) fn hold_of(&self, then: Option<Then>) -> Hold {
        match then {
            Some(Then::Hang) => Hold::Hung,
            Some(Then::Delay(ms)) if self.prompt() => {
                Hold::Until(Instant::now() + Duration::from_millis(u64::from(ms)))
            }
            Some(Then::Delay(turns)) => Hold::Turn(self.turn + u64::from(turns)),
            _ => Hold::Free,
        }
    }

    pub(crate) fn enqueue(&mut self, stream: u64, todo: Todo) {
        let command = Command { todo, hold: self.mark, examined: false };
        let place = self.active.len();
        let found = self.stream(stream);
        found.queue.push_back(command);
        if found.place.is_none() {
            found.place = Some(place);
            self.active.push(stream);
        }
        self.wake = true;
    }

    /// Record the work if the stream captures, else enqueue it.
    pub(crate) fn submit(&mut self, stream: u64, work: Work) -> Result<(), Fail> {
        let work = Arc::new(work);
        if !self.recorded(stream, &work) {
            self.ordered(stream, std::slice::from_ref(&work))?;
            self.hold(&work.uses, Holder::Pending);
            self.enqueue(stream, Todo::Work(work));
        }
        Ok(())
    }

    pub(crate) fn deactivate(&mut self, stream: u64) {
        let Some(place) = self.streams.get_mut(&stream).and_then(|found| found.place.take()) else { return };
        self.active.swap_remove(place);
        if let Some(moved) = self.active.get(place).copied() {
            self.stream(moved).place = Some(place);
        }
    }

    /// The stream's first command is done.
    fn advance(&mut self, stream: u64, time: u64) {
        self.latest = self.latest.max(time);
        let found = self.stream(stream);
        found.time = found.time.max(time);
        found.queue.pop_front();
        if found.queue.is_empty() {
            self.deactivate(stream);
        }
    }

    fn readiness(&self, stream: u64) -> Readiness {
        let found = &self.streams[&stream];
        let Some(command) = found.queue.front().filter(|_| !found.running) else { return Readiness::No };
        let allowed = match &command.todo {
            Todo::Work(_) | Todo::Record(_) => true,
            Todo::Wait(point) => point.is_done(),
            Todo::Graph(run) => run.after.as_ref().is_none_or(|after| after.is_done()),
        };
        match command.hold {
            _ if !allowed => Readiness::No,
            Hold::Hung => Readiness::No,
            Hold::Turn(turn) if self.turn < turn => Readiness::Later(None),
            Hold::Until(at) if Instant::now() < at => Readiness::Later(Some(at)),
            Hold::Free | Hold::Turn(_) | Hold::Until(_) => Readiness::Ready,
        }
    }

    /// Take a turn.
    pub(crate) fn pick(&mut self) -> Picked {
        self.turn += 1;
        let count = self.active.len();
        if count == 0 {
            return Picked::Nothing;
        }
        let first = self.rng.usize(..count);
        let mut held: Option<Option<Instant>> = None;
        for step in 0..count {
            let stream = self.active[(first + step) % count];
            match self.readiness(stream) {
                Readiness::Ready => return self.take(stream),
                Readiness::Later(at) => held = Some(held.flatten().into_iter().chain(at).min()),
                Readiness::No => {}
            }
        }
        held.map_or(Picked::Nothing, Picked::Held)
    }

    fn take(&mut self, stream: u64) -> Picked {
        let found = self.streams.get_mut(&stream).expect("an active stream exists");
        let time = found.time;
        let command = found.queue.front_mut().expect("an active stream has work");
        command.hold = Hold::Free;
        match &mut command.todo {
            Todo::Record(point) => {
                let point = Arc::clone(point);
                point.pass(self.clock(time));
                self.advance(stream, time);
                Picked::Stepped
            }
            Todo::Wait(point) => {
                let reached = point.time();
                self.advance(stream, reached);
                Picked::Stepped
            }
            Todo::Work(work) => {
                let work = Arc::clone(work);
                self.start(stream, work, None)
            }
            Todo::Graph(run) => match run.choose(time, &mut self.rng) {
                Some(node) => {
                    let work = Arc::clone(run.work(node));
                    self.start(stream, work, Some(node))
                }
                None => {
                    self.finish_launch(stream);
                    Picked::Stepped
                }
            },
        }
    }

    fn start(&mut self, stream: u64, work: Arc<Work>, node: Option<u32>) -> Picked {
        let command = self.stream(stream).queue.front_mut().expect("it was chosen");
        let examined = std::mem::replace(&mut command.examined, true);
        let then = if examined { None } else { self.faults.run(work.op.kind()) };
        let mut fails = None;
        match then {
            None => {}
            Some(Then::Hang | Then::Delay(_)) => {
                let hold = self.hold_of(then);
                let command = self.stream(stream).queue.front_mut().expect("it was chosen");
                command.hold = hold;
                if let Todo::Graph(run) = &mut command.todo {
                    run.chosen = node;
                }
                return Picked::Stepped;
            }
            Some(Then::Before(failure)) => {
                self.break_context(failure.asynchronous());
                return Picked::Stepped;
            }
            Some(Then::After(failure) | Then::Later(failure)) => fails = Some(failure.asynchronous()),
        }
        let name = self.describe(&work.op);
        self.trace.run(|| match node {
            Some(node) => format!("s{stream} .{node} {name}"),
            None => format!("s{stream} {name}"),
        });
        match self.task(&work.op) {
            Ok(task) => {
                self.stream(stream).running = true;
                let epoch = self.epoch.load(Ordering::Acquire);
                Picked::Job(Box::new(Job { stream, node, work, task, epoch, fails }))
            }
            Err(address) => {
                self.break_context(Answer::trap(format_args!("{name} reached {address}, where no memory is")));
                Picked::Stepped
            }
        }
    }

    fn describe(&self, op: &Op) -> String {
        let end = |end: &End| match end {
            End::Device(address) => self.space.name(*address),
            End::Host { range, .. } => self.pinned.name(range.start()),
        };
        match op {
            Op::Copy { src, dst, bytes } => format!("copy {} <- {} x{bytes}", end(dst), end(src)),
            Op::Fill { dst, word, words } => format!("fill {} = {word:#x} x{words}", self.space.name(*dst)),
            Op::Launch(launch) => format!("launch {} {:?}", launch.code.entry(), launch.groups),
        }
    }

    /// Look up every address; `Err` with the first that leads nowhere.
    fn task(&self, op: &Op) -> Result<Task, String> {
        let view = |address: u64, bytes: u64| self.space.view(address, bytes).ok_or_else(|| self.space.name(address));
        let side = |end: &End, bytes: u64| match end {
            End::Device(address) => view(*address, bytes).map(|(memory, start)| Side::Device(memory, start)),
            End::Host { range, .. } => Ok(Side::Host(*range)),
        };
        Ok(match op {
            Op::Copy { src, dst, bytes } => {
                Task::Copy { src: side(src, bytes.get())?, dst: side(dst, bytes.get())?, bytes: bytes.get() }
            }
            Op::Fill { dst, word, words } => {
                let (memory, start) = view(*dst, words * 4)?;
                Task::Fill { memory, start, word: *word, words: *words }
            }
            Op::Launch(launch) => {
                let views = launch.bindings.iter().map(|(address, bytes)| {
                    let (memory, start) = view(*address, *bytes)?;
                    Ok((memory, start, *bytes))
                });
                let counts = launch.counts.map(|address| view(address, 12)).transpose()?;
                Task::Launch { views: views.collect::<Result<_, String>>()?, counts }
            }
        })
    }

    /// The job was done. What it belonged to may be gone.
    pub(crate) fn complete(&mut self, job: &Job, outcome: Outcome) {
        if job.epoch != self.epoch.load(Ordering::Acquire) {
            return;
        }
        let findings = match outcome {
            Ok(findings) => findings,
            Err(trap) => return self.break_context(Answer::trap(trap)),
        };
        findings.into_iter().for_each(|finding| self.found(finding));
        if let Some(answer) = &job.fails {
            return self.break_context(answer.clone());
        }
        let Some(found) = self.streams.get_mut(&job.stream) else { return };
        found.running = false;
        let (cost, start) = (job.work.op.cost(), found.time);
        let Some(node) = job.node else {
            self.release(&job.work.uses, Holder::Pending);
            return self.advance(job.stream, start + cost);
        };
        let command = found.queue.front_mut().expect("a launch stays first until it is done");
        command.examined = false;
        let Todo::Graph(run) = &mut command.todo else { return };
        if run.finish(node, cost) {
            self.finish_launch(job.stream);
        }
    }

    /// The launch at the head of the stream is done.
    fn finish_launch(&mut self, stream: u64) {
        let Some(Todo::Graph(run)) = self.stream(stream).queue.front().map(|command| &command.todo) else { return };
        let (exec, done, end) = (run.exec, Arc::clone(&run.done), run.end());
        self.end_launch(exec, &done, end);
        self.advance(stream, end);
    }

    pub(crate) fn end_launch(&mut self, exec: u64, done: &Point, end: u64) {
        done.pass(self.clock(end));
        if let Some(exec) = self.execs.get_mut(&exec) {
            exec.in_flight -= 1;
        }
    }

    /// Let what hangs go on.
    pub(crate) fn release_hangs(&mut self) {
        for command in self.streams.values_mut().flat_map(|stream| &mut stream.queue) {
            if command.hold == Hold::Hung {
                command.hold = Hold::Free;
            }
        }
        self.wake = true;
    }

    /// Commands that are enqueued and not done.
    pub(crate) fn pending(&self) -> usize {
        self.streams.values().map(|stream| stream.queue.len()).sum()
    }
}
