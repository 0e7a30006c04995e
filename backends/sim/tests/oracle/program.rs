//! Programs as data: made from a seed, and shrunk by leaving steps out. Numbers are taken modulo what is alive, so that
//! every part of a program is a program.

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A new buffer.
    Alloc,
    /// Drop a buffer.
    Free(usize),
    /// An operation on a stream: which one, on which halves, with which number.
    Run(usize, Raw),
    /// Read a buffer on a stream and compare.
    Read(usize, usize),
    /// Wait for a stream.
    Sync(usize),
    /// Capture operations by closure.
    Capture(Vec<Raw>),
    /// Open a window on a stream, record on it while neighbours work, and close it in one of several ways.
    Window { stream: usize, own: Vec<Raw>, theirs: Vec<Raw>, close: Close },
    /// Replay a graph on a stream.
    Replay(usize, usize),
    /// Replay a graph and time its nodes.
    Timed(usize),
    /// Set a graph's parameter.
    Update(usize, u32),
    /// Drop a graph.
    DropGraph(usize),
    /// Give free memory back.
    Trim,
}

/// How a window ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    /// By its owner.
    End,
    /// By another stream.
    Abandon,
    /// By its owner, without a graph.
    Abort,
}

/// An operation with numbers that are not yet brought within what is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    /// Which operation.
    pub(crate) kind: u8,
    /// Which halves.
    pub(crate) halves: [usize; 3],
    /// Which number.
    pub(crate) number: u32,
}

/// A list of steps.
pub(crate) type Program = Vec<Step>;

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut rng = fastrand::Rng::with_seed(seed);
    let len = rng.usize(10..60);
    let mut steps = vec![Step::Alloc, Step::Alloc];
    steps.extend((0..len).map(|_| step(&mut rng)));
    steps
}

fn step(rng: &mut fastrand::Rng) -> Step {
    let n = rng.usize(..1000);
    match rng.u8(..100) {
        0..=9 => Step::Alloc,
        10..=13 => Step::Free(n),
        14..=41 => Step::Run(n, raw(rng)),
        42..=49 => Step::Read(n, rng.usize(..100)),
        50..=53 => Step::Sync(n),
        54..=61 => Step::Capture(raws(rng, 8)),
        62..=69 => {
            let close = match rng.u8(..8) {
                0 => Close::Abandon,
                1 => Close::Abort,
                _ => Close::End,
            };
            Step::Window { stream: n, own: raws(rng, 6), theirs: raws(rng, 4), close }
        }
        70..=85 => Step::Replay(n, rng.usize(..100)),
        86..=88 => Step::Timed(n),
        89..=93 => Step::Update(n, rng.u32(..1000)),
        94..=96 => Step::DropGraph(n),
        _ => Step::Trim,
    }
}

fn raws(rng: &mut fastrand::Rng, most: usize) -> Vec<Raw> {
    (0..rng.usize(1..=most)).map(|_| raw(rng)).collect()
}

fn raw(rng: &mut fastrand::Rng) -> Raw {
    Raw { kind: rng.u8(..6), halves: [rng.usize(..100), rng.usize(..100), rng.usize(..100)], number: rng.u32(..1000) }
}

/// The shortest program found that still fails: steps are left out in ever smaller parts.
pub(crate) fn shrink(program: &Program, fails: impl Fn(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut part = best.len() / 2;
    while part > 0 {
        let mut start = 0;
        while start < best.len() {
            let end = (start + part).min(best.len());
            let shorter: Program = best[..start].iter().chain(&best[end..]).cloned().collect();
            if fails(&shorter) {
                best = shorter;
            } else {
                start = end;
            }
        }
        part /= 2;
    }
    best
}
