//! Copies by engines: each has a thread that takes them in order, waits for what they depend on, and copies.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::abi::{Signal, Status};
use crate::chance::Chance;
use crate::{fault, memory, report, signal};

/// How many engines there are: by default one for each direction.
pub(crate) const ENGINES: usize = 2;

/// The mask with all engines.
pub(crate) const ENGINES_MASK: u32 = 0b11;

/// Rows to copy: `(to, from)` each.
struct Job {
    rows: Vec<(usize, usize)>,
    bytes: usize,
    after: Vec<Signal>,
    completion: Signal,
}

struct Engine {
    jobs: Mutex<(bool, VecDeque<Job>)>,
    more: Condvar,
}

static ALL: [Engine; ENGINES] =
    [const { Engine { jobs: Mutex::new((false, VecDeque::new())), more: Condvar::new() } }; ENGINES];

impl Engine {
    fn jobs(&self) -> MutexGuard<'_, (bool, VecDeque<Job>)> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(&'static self, index: usize, job: Job) -> Status {
        let mut jobs = self.jobs();
        jobs.1.push_back(job);
        if !std::mem::replace(&mut jobs.0, true) {
            let chance = Chance::new(1000 + index as u64);
            let spawned =
                std::thread::Builder::new().name(format!("swhsa-copy-{index}")).spawn(move || self.work(chance));
            if spawned.is_err() {
                return Status::OUT_OF_RESOURCES;
            }
        }
        self.more.notify_one();
        Status::SUCCESS
    }

    fn work(&self, mut chance: Chance) {
        loop {
            let job = {
                let mut jobs = self.jobs();
                loop {
                    if let Some(job) = jobs.1.pop_front() {
                        break job;
                    }
                    jobs = self.more.wait(jobs).unwrap_or_else(PoisonError::into_inner);
                }
            };
            signal::wait_until(None, || job.after.iter().all(|after| signal::load(*after) <= 0));
            chance.delay();
            perform(&job);
        }
    }
}

fn perform(job: &Job) {
    let start = signal::now();
    if fault::take(fault::Kind::Copy).is_some() {
        report::fail("a fault was asked for: a copy is not made, and its signal is set below zero");
        signal::store(job.completion, -1);
        return;
    }
    let copied = job.rows.iter().try_for_each(|(to, from)| memory::copy(*to, *from, job.bytes));
    if let Err(why) = copied {
        report::fail(&format!("a copy of an engine faults: {why}"));
        // A real engine would end the process by a memory fault; the signal tells it here.
        signal::store(job.completion, -1);
        return;
    }
    signal::complete(job.completion, start, signal::now());
}

/// Copy bytes on an engine, after the signals are zero.
pub(crate) fn linear(
    engine: usize,
    to: usize,
    from: usize,
    bytes: usize,
    after: Vec<Signal>,
    completion: Signal,
) -> Status {
    rows(engine, vec![(to, from)], bytes, after, completion)
}

/// Copy rows of the same length on an engine, after the signals are zero.
pub(crate) fn rows(
    engine: usize,
    rows: Vec<(usize, usize)>,
    bytes: usize,
    after: Vec<Signal>,
    completion: Signal,
) -> Status {
    let index = engine % ENGINES;
    ALL[index].give(index, Job { rows, bytes, after, completion })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::Condition;

    #[test]
    fn a_copy_waits_for_its_signals_and_tells_its_end() {
        let from = memory::host_allocate(4096, 0).unwrap();
        let to = memory::device_allocate(4096, 0).unwrap();
        memory::write(from, b"copied").unwrap();
        let (first, done) = (signal::create(1).unwrap(), signal::create(1).unwrap());
        assert_eq!(linear(0, to, from, 6, vec![first], done), Status::SUCCESS);
        assert_eq!(signal::wait(done, Condition::Less, 1, 3_000_000), 1);
        signal::store(first, 0);
        assert_eq!(signal::wait(done, Condition::Less, 1, u64::MAX), 0);
        assert_eq!(memory::read(to, 6).unwrap(), b"copied");
        signal::store(done, 1);
        assert_eq!(linear(1, to, 16, 6, vec![], done), Status::SUCCESS);
        assert_eq!(signal::wait(done, Condition::Less, 1, u64::MAX), -1, "nobody locked address 16");
        memory::free(from);
        memory::free(to);
    }
}
