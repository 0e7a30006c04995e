//! One run over a grid: arguments checked, then workgroups handed to threads in order.

use std::time::Instant;

use graphreel::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use graphreel::sync::thread;

use super::group::{Crew, Setting, Stuck};
use super::view::Bound;
use super::watch::{Found, join};
use super::{Dispatch, Program, RunReport, Trap};
use crate::memory::Memory;

/// Work below this is done by one thread. Starting another takes some tens of microseconds.
const THREADS_PAY_FROM_NS: u64 = 200_000;

/// What one thread did: what it found, and where it had to stop.
type Outcome = (Found, Option<(u64, Stuck)>);

/// Run a program over a grid.
pub(super) fn run(program: &Program, dispatch: &Dispatch<'_>) -> Result<RunReport, Trap> {
    let trap = |line, problem| Trap { kernel: program.reflection.entry.to_string(), line, problem };
    let scalars = scalars(program, dispatch).map_err(|problem| trap(0, problem))?;
    let bound = bound(program, dispatch, &scalars).map_err(|problem| trap(0, problem))?;
    let groups = dispatch.groups.iter().try_fold(1u64, |all, side| all.checked_mul(u64::from(*side)));
    let groups = groups.ok_or_else(|| trap(0, "the grid has more workgroups than can be counted".to_owned()))?;
    let setting = Setting {
        code: &program.code,
        bound: &bound,
        groups: dispatch.groups,
        size: program.reflection.workgroup_size,
        subgroup_size: program.options.subgroup_size,
        steps_max: dispatch.steps_max,
        epoch: dispatch.epoch,
    };
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let work = || worked(setting, dispatch.sanitize, groups, (&next, &stop));
    // Starting threads costs more than all of a small run: where the last one was not small, or nobody knows, they are there
    // from the start.
    let expected = program.group_ns.load(Ordering::Relaxed).saturating_mul(groups);
    let small = expected > 0 && expected < THREADS_PAY_FROM_NS;
    let threads = if small { 1 } else { (dispatch.threads as u64).min(groups) };
    let started = Instant::now();
    let outcomes: Vec<Outcome> = if threads <= 1 {
        vec![work()]
    } else {
        thread::scope(|scope| {
            // Where the system gives fewer threads, those that there are do the work.
            let spawned = (1..threads).map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok());
            let others: Vec<_> = spawned.collect();
            let own = work();
            let others = others.into_iter().map(|other| match other.join() {
                Ok(outcome) => outcome,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            std::iter::once(own).chain(others).collect()
        })
    };
    let spent = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    program.group_ns.store((spent.saturating_mul(threads) / groups.max(1)).max(1), Ordering::Relaxed);
    let mut found = Found::new();
    let mut stuck: Option<(u64, Stuck)> = None;
    for (more, other) in outcomes {
        found = join(found, more);
        stuck = stuck.into_iter().chain(other).min_by_key(|(number, _)| *number);
    }
    if let Some((_, stuck)) = stuck {
        return Err(trap(program.code.tables.line(stuck.pc), stuck.problem));
    }
    Ok(RunReport { findings: found.into_values().map(|(_, finding)| finding).collect() })
}

/// What one thread does: the next workgroup, until there is none or one cannot go on.
fn worked(setting: Setting<'_>, sanitize: bool, groups: u64, (next, stop): (&AtomicU64, &AtomicBool)) -> Outcome {
    let mut stuck = None;
    let mut crew = Crew::new(setting, sanitize);
    while !stop.load(Ordering::Relaxed) {
        // Lower ones begin first: kernels in which a workgroup waits for those before it come to an end.
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= groups {
            break;
        }
        if let Err(problem) = crew.run(place(number, setting.groups), number) {
            stop.store(true, Ordering::Relaxed);
            stuck = Some((number, problem));
        }
    }
    (crew.watch.map(super::watch::Watch::found).unwrap_or_default(), stuck)
}

/// The place of a workgroup in its grid, x first.
fn place(number: u64, groups: [u32; 3]) -> [u32; 3] {
    let [x, y] = [u64::from(groups[0]), u64::from(groups[1])];
    [number % x, number / x % y, number / x / y].map(|side| u32::try_from(side).unwrap_or(u32::MAX))
}

/// The immediate data as words.
fn scalars(program: &Program, dispatch: &Dispatch<'_>) -> Result<Memory, String> {
    let (given, wanted) = (dispatch.scalars.len(), program.reflection.immediate_bytes as usize);
    if given != wanted && given != wanted.next_multiple_of(4) {
        return Err(format!("it takes {wanted} bytes of scalars, and {given} were given"));
    }
    let memory = Memory::new(given as u64, 0);
    for (word, bytes) in memory.words().iter().zip(dispatch.scalars.chunks(4)) {
        let mut whole = [0; 4];
        whole[..bytes.len()].copy_from_slice(bytes);
        word.store(u32::from_le_bytes(whole), Ordering::Relaxed);
    }
    Ok(memory)
}

/// The bindings, and the immediate data behind them.
fn bound<'a>(program: &Program, dispatch: &Dispatch<'a>, scalars: &'a Memory) -> Result<Vec<Bound<'a>>, String> {
    let infos = &program.reflection.bindings;
    if infos.len() != dispatch.buffers.len() {
        return Err(format!("it takes {} buffers, and {} were given", infos.len(), dispatch.buffers.len()));
    }
    let mut found = Vec::with_capacity(infos.len() + 1);
    for (info, view) in infos.iter().zip(dispatch.buffers) {
        let name = &info.name;
        if view.bytes < info.min_bytes {
            return Err(format!("`{name}` needs {} bytes, and {} are bound", info.min_bytes, view.bytes));
        }
        if !view.start.is_multiple_of(4) {
            return Err(format!("`{name}` is bound from byte {}, which is no multiple of 4", view.start));
        }
        let end = view.start.checked_add(view.bytes).map(|end| end.div_ceil(4));
        let words = end.and_then(|end| Some((usize::try_from(view.start / 4).ok()?, usize::try_from(end).ok()?)));
        let bound = words.and_then(|(first, end)| {
            Bound::new(view.memory, first, end, u32::try_from(info.elements(view.bytes)).unwrap_or(u32::MAX))
        });
        let behind = || {
            let (start, held) = (view.start, view.memory.words().len() as u64 * 4);
            format!("`{name}` is bound from byte {start} for {} bytes of a memory of {held}", view.bytes)
        };
        found.push(bound.ok_or_else(behind)?);
    }
    let words = scalars.words().len();
    found.extend(Bound::new(scalars, 0, words, 0));
    Ok(found)
}
