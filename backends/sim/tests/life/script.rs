//! What is done in a life: everything that a device can be asked for, at least once.

use super::model::{Amount, At, Cell, Doubt, Op, Params, Word};
use super::windows::{Close, Window};
use super::world::{Check, World};

/// Numbers of the buffers that have a purpose of their own.
const COUNTS: usize = 4;
const PROFILED: usize = 9;
const OUTPUT: usize = 10;
const OTHER_OUTPUT: usize = 11;

pub(super) fn script(world: &mut World) -> Check {
    for kernel in ["bump", "add", "groups"] {
        world.kernel(kernel)?;
    }
    eager(world)?;
    recorded(world)?;
    captured(world)?;
    updated(world)?;
    unsealed(world)?;
    dropped(world)
}

/// Work on two streams that fold on one slot, and on another slot.
fn eager(world: &mut World) -> Check {
    for (number, word) in [(0, 3), (3, 50), (COUNTS, 1), (PROFILED, 6)] {
        world.upload(number, word)?;
    }
    for number in [1, 2, 5, 6, 7, 8, OUTPUT, OTHER_OUTPUT] {
        world.alloc(number)?;
    }
    world.eager(0, &Op::Fill(At::Of(1), 100))?;
    world.eager(2, &Op::Copy(0, At::Of(2)))?;
    world.eager(1, &Op::Bump(2, Amount::Fixed(200)))?;
    world.eager(0, &Op::Add(1, 2, 5))?;
    world.eager(3, &Op::BumpCounted(5, COUNTS, 1_000))?;
    world.eager(2, &Op::Groups(6, Amount::Fixed(3)))?;
    world.read(1, 5)?;
    world.eager(2, &Op::Write(3, 51))?;
    let calls = world.probe.calls();
    match world.stream(2).sync_for(world.patience) {
        Ok(()) => Ok(()),
        Err(error) => world.failed("sync", &error, calls, false),
    }
}

/// A window by hand, with a neighbour at work, and its replays on two streams.
fn recorded(world: &mut World) -> Check {
    world.window(&Window {
        warmup: &[Op::Bump(1, Amount::Fixed(2))],
        own: &[
            Op::Bump(1, Amount::Fixed(4)),
            Op::Copy(1, At::Of(2)),
            Op::Fill(At::Of(7), 300),
            Op::Write(8, 400),
            Op::BumpCounted(2, COUNTS, 8),
            Op::Add(7, 8, 6),
        ],
        theirs: &[Op::Bump(3, Amount::Fixed(16)), Op::Fill(At::Of(5), 500), Op::Write(0, 600)],
        read: 3,
        close: Close::End("recorded"),
    })?;
    world.replay("recorded", Some(2), false)?;
    world.eager(1, &Op::Bump(8, Amount::Fixed(32)))?;
    world.replay("recorded", Some(1), true)?;
    world.read(0, 2)?;
    world.read(3, 6)
}

/// A graph by closure with everything that may change; replayed, timed, and eager work that is timed.
fn captured(world: &mut World) -> Check {
    let params = Params { by: 64, groups: 2, slot: OUTPUT };
    let ops = [
        Op::Bump(7, Amount::Param(params.by)),
        Op::Groups(6, Amount::Param(params.groups)),
        Op::Copy(7, At::Slot(OUTPUT)),
        Op::Write(8, 700),
        Op::Add(6, 8, 5),
    ];
    world.capture("captured", &ops, params)?;
    world.replay("captured", Some(0), false)?;
    world.replay("captured", Some(3), true)?;
    world.read(2, OUTPUT)?;
    world.replay("captured", None, true)?;
    world.read(1, OUTPUT)?;
    profiled(world)
}

fn profiled(world: &mut World) -> Check {
    let op = Op::Fill(At::Of(PROFILED), 900);
    if world.lost() || !world.has(&op, &Params::default()) {
        return Ok(());
    }
    let calls = world.probe.calls();
    match world.device.profile(|c| c.fill(world.buffer(PROFILED), 900)) {
        Ok((profile, ())) if profile.operations.len() == 1 => {
            world.apply(&op, &Params::default());
            Ok(())
        }
        Ok((profile, ())) => Err(format!("one operation was timed as {profile:?}")),
        Err(error) => {
            // It may have run, and its time is what is missing.
            world.cells[PROFILED] = Cell { word: Word::Junk, doubt: Doubt::Maybe };
            world.failed("a profile", &error, calls, false)
        }
    }
}

/// Changes, one at a time and all at once, with a replay after each and one in flight before it.
fn updated(world: &mut World) -> Check {
    for (by, groups, slot) in
        [(128, 2, OUTPUT), (128, 4, OUTPUT), (128, 4, OTHER_OUTPUT), (256, 1, OUTPUT), (257, 1, OUTPUT)]
    {
        world.update("captured", Params { by, groups, slot })?;
        world.replay("captured", Some(1), false)?;
        world.read(0, slot)?;
    }
    world.read(2, 5)
}

/// Windows that leave no graph, and what they would have written.
fn unsealed(world: &mut World) -> Check {
    let own = [Op::Bump(5, Amount::Fixed(1)), Op::Write(6, 1_100)];
    let window =
        Window { warmup: &[], own: &own, theirs: &[Op::Fill(At::Of(3), 1_200)], read: 1, close: Close::Abandon };
    world.window(&window)?;
    world.read(1, 5)?;
    world.eager(1, &Op::Fill(At::Of(5), 1_300))?;
    world.eager(1, &Op::Fill(At::Of(6), 1_400))?;
    world.window(&Window { theirs: &[], close: Close::Abort, ..window })?;
    world.read(3, 6)?;
    world.eager(2, &Op::Fill(At::Of(5), 1_500))?;
    world.eager(0, &Op::Fill(At::Of(6), 1_600))
}

/// Graphs and buffers dropped with work in flight; memory given back, and used again.
fn dropped(world: &mut World) -> Check {
    world.replay("recorded", Some(0), false)?;
    world.graphs.remove("recorded");
    world.read(1, 2)?;
    world.eager(3, &Op::Bump(7, Amount::Fixed(2_000)))?;
    for number in [0, 7, 8] {
        world.buffers[number] = None;
    }
    world.device.trim();
    world.alloc(0)?;
    world.eager(2, &Op::Fill(At::Of(0), 2_100))?;
    world.replay("captured", Some(2), true)?;
    world.device.trim();
    world.read(1, 0)
}
