//! Runs one piece of work with the lock released. Copies that reach host memory take it for each of their parts, so that none
//! touches a caller's memory once the device is lost.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use graphreel::sync::Arc;
use graphreel::sync::atomic::Ordering;

use crate::bytes;
use crate::failure::Answer;
use crate::instance::Instance;
use crate::interp::{Dispatch, Epoch, View};
use crate::memory::Memory;
use crate::op::{Launch, Op, Work};
use crate::probe::KernelFinding;
use crate::raw::HostRange;

/// Bytes that are copied between two looks at whether the device is lost.
const PART: usize = 64 << 10;

/// Work that was chosen to run.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) stream: u64,
    /// The node, where it is one of a graph's launch.
    pub(crate) node: Option<u32>,
    pub(crate) work: Arc<Work>,
    pub(crate) task: Task,
    /// The epoch in which it was chosen; in a later one it has no effect.
    pub(crate) epoch: u64,
    /// How it fails once it is done, by the fault plan.
    pub(crate) fails: Option<Answer>,
}

/// The work with its addresses looked up.
#[derive(Debug)]
pub(crate) enum Task {
    Copy { src: Side, dst: Side, bytes: u64 },
    Fill { memory: Arc<Memory>, start: u64, word: u32, words: u64 },
    Launch { views: Vec<(Arc<Memory>, u64, u64)>, counts: Option<(Arc<Memory>, u64)> },
}

/// One end of a copy.
#[derive(Debug)]
pub(crate) enum Side {
    Device(Arc<Memory>, u64),
    Host(HostRange),
}

/// What the sanitizer found, or the text of a fault.
pub(crate) type Outcome = Result<Vec<KernelFinding>, String>;

pub(crate) fn perform(instance: &Instance, job: &Job) -> Outcome {
    match (&job.task, &job.work.op) {
        (Task::Copy { src, dst, bytes }, _) => copy(instance, job.epoch, src, dst, *bytes),
        (Task::Fill { memory, start, word, words }, _) => {
            let mut done = 0;
            while done < *words && instance.epoch.load(Ordering::Relaxed) == job.epoch {
                let part = (words - done).min(PART as u64);
                bytes::fill(memory, start + done * 4, *word, part as usize);
                done += part;
            }
            Ok(Vec::new())
        }
        (Task::Launch { views, counts }, Op::Launch(launched)) => {
            launch(instance, job.epoch, launched, views, counts.as_ref())
        }
        (Task::Launch { .. }, _) => unreachable!("a task is made from its work"),
    }
}

fn copy(instance: &Instance, epoch: u64, src: &Side, dst: &Side, total: u64) -> Outcome {
    let mut buffer = vec![0; PART.min(usize::try_from(total).unwrap_or(PART))];
    let mut done = 0;
    while done < total {
        let part = (total - done).min(PART as u64) as usize;
        let buffer = &mut buffer[..part];
        let host = matches!(src, Side::Host(_)) || matches!(dst, Side::Host(_));
        let _guard = host.then(|| instance.state.lock());
        if instance.epoch.load(Ordering::Relaxed) != epoch {
            break;
        }
        match src {
            Side::Device(memory, start) => bytes::read(memory, start + done, buffer),
            Side::Host(range) => range.read(done as usize, buffer),
        }
        match dst {
            Side::Device(memory, start) => bytes::write(memory, start + done, buffer),
            Side::Host(range) => range.write(done as usize, buffer),
        }
        done += part as u64;
    }
    Ok(Vec::new())
}

/// The grid that runs: an indirect launch takes its own from memory, and none at all where that is larger than what was
/// launched.
fn grid(launched: [u32; 3], counts: Option<&(Arc<Memory>, u64)>) -> Option<[u32; 3]> {
    let Some((memory, start)) = counts else { return Some(launched) };
    let mut raw = [0; 12];
    bytes::read(memory, *start, &mut raw);
    let mut groups = [0; 3];
    for (group, four) in groups.iter_mut().zip(raw.chunks_exact(4)) {
        *group = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    }
    groups.iter().zip(launched).all(|(count, most)| (1..=most).contains(count)).then_some(groups)
}

/// Memory, first byte and length of a binding.
type Viewed = (Arc<Memory>, u64, u64);

fn launch(
    instance: &Instance,
    begun: u64,
    launch: &Launch,
    views: &[Viewed],
    counts: Option<&(Arc<Memory>, u64)>,
) -> Outcome {
    let Some(groups) = grid(launch.groups, counts) else { return Ok(Vec::new()) };
    let buffers: Vec<View<'_>> =
        views.iter().map(|(memory, start, bytes)| View { memory, start: *start, bytes: *bytes }).collect();
    let dispatch = Dispatch {
        groups,
        scalars: &launch.scalars,
        buffers: &buffers,
        steps_max: instance.settings.steps_max,
        sanitize: instance.settings.sanitize,
        // A device that is lost, or closed, computes no further.
        epoch: Some(Epoch { now: &instance.epoch, begun }),
        threads: instance.settings.threads,
    };
    // A panic of the interpreter ends the kernel, and not the thread that all other work waits for.
    let ran = catch_unwind(AssertUnwindSafe(|| launch.code.program.run(&dispatch)));
    let entry = launch.code.entry();
    match ran {
        Ok(Ok(report)) => {
            let named = |finding| KernelFinding { kernel: entry.to_owned(), finding };
            Ok(report.findings.into_iter().map(named).collect())
        }
        Ok(Err(trap)) => Err(trap.to_string()),
        Err(panic) => Err(format!("kernel `{entry}`: the interpreter panicked: {}", message(&*panic))),
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
