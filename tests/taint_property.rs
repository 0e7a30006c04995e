//! The ledger against one flag per byte: random calls over a few buffers must agree on every byte (C-75 to C-81).
//!
//! The seed is random, or `GRAPHREEL_SEED`; a failure prints it.

use std::collections::HashMap;
use std::ops::Range;

use graphreel::ServerError;
use graphreel::memory::ManagedMemoryId;
use graphreel::server::GraphId;
use graphreel::taint::Ledger;

const BYTES: u64 = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Byte {
    Unwritten,
    Written,
    Tainted { cause: u32, by: Option<GraphId> },
}

#[derive(Default)]
struct Oracle(HashMap<ManagedMemoryId, Vec<Byte>>);

impl Oracle {
    fn bytes(&mut self, id: ManagedMemoryId) -> &mut Vec<Byte> {
        self.0.entry(id).or_insert_with(|| vec![Byte::Written; BYTES as usize])
    }

    fn taint(&mut self, id: ManagedMemoryId, range: Range<u64>, cause: u32, by: Option<GraphId>) {
        for byte in &mut self.bytes(id)[range.start as usize..range.end as usize] {
            *byte = match *byte {
                Byte::Tainted { cause, by: known } => Byte::Tainted { cause, by: if known == by { by } else { None } },
                _ => Byte::Tainted { cause, by },
            };
        }
    }

    /// The first byte of the range that `bad` picks, and the failure there; no failure is unwritten.
    fn first(
        &mut self,
        id: ManagedMemoryId,
        range: &Range<u64>,
        bad: impl Fn(Byte) -> bool,
    ) -> Option<(u64, Option<u32>)> {
        let bytes = self.bytes(id);
        let at = range.clone().find(|at| bad(bytes[*at as usize]))?;
        match bytes[at as usize] {
            Byte::Tainted { cause, .. } => Some((at, Some(cause))),
            _ => Some((at, None)),
        }
    }
}

fn failure(cause: u32) -> ServerError {
    ServerError::graph_state(format!("failure {cause}"))
}

fn found(error: &ServerError) -> (u64, Option<u32>) {
    match error {
        ServerError::Unwritten { range, .. } => (range.start, None),
        ServerError::Tainted { range, cause, .. } => {
            let text = cause.to_string();
            (range.start, text.rsplit(' ').next().and_then(|number| number.parse().ok()))
        }
        other => panic!("neither unwritten nor tainted: {other}"),
    }
}

fn step(rng: &mut fastrand::Rng, ledger: &mut Ledger, oracle: &mut Oracle, causes: &mut u32) {
    let id = ManagedMemoryId(rng.u64(0..3));
    let start = rng.u64(0..=BYTES);
    let range = start..rng.u64(start..=BYTES);
    match rng.u32(0..10) {
        0 => {
            ledger.freed(id);
            ledger.allocated(id, BYTES);
            *oracle.bytes(id) = vec![Byte::Unwritten; BYTES as usize];
        }
        1 => {
            ledger.freed(id);
            *oracle.bytes(id) = vec![Byte::Written; BYTES as usize];
        }
        2..=5 => {
            ledger.written(id, range.clone());
            oracle.bytes(id)[range.start as usize..range.end as usize].fill(Byte::Written);
        }
        _ => {
            *causes += 1;
            let by = [None, Some(GraphId(1)), Some(GraphId(2))][rng.usize(0..3)];
            ledger.taint(id, range.clone(), &failure(*causes), by);
            oracle.taint(id, range, *causes, by);
        }
    }
}

fn agree(rng: &mut fastrand::Rng, ledger: &Ledger, oracle: &mut Oracle) {
    for id in (0..3).map(ManagedMemoryId) {
        let start = rng.u64(0..=BYTES);
        let random = start..rng.u64(start..=BYTES);
        for range in (0..BYTES).map(|at| at..at + 1).chain([random, 0..BYTES]) {
            let read = ledger.check_read(id, range.clone()).err().map(|error| found(&error));
            assert_eq!(read, oracle.first(id, &range, |byte| byte != Byte::Written), "read of {range:?}");
            for ignoring in [None, Some(GraphId(1))] {
                let input = ledger.input_taint(id, range.clone(), ignoring).map(|error| found(&error));
                let bad = |byte| matches!(byte, Byte::Tainted { by, .. } if by.is_none() || by != ignoring);
                assert_eq!(input, oracle.first(id, &range, bad), "input {range:?} ignoring {ignoring:?}");
            }
        }
    }
    let tainted = oracle.0.values().flatten().any(|byte| matches!(byte, Byte::Tainted { .. }));
    assert_eq!(ledger.has_taint(), tainted);
}

#[test]
fn the_ledger_agrees_with_one_flag_per_byte() {
    let seed = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("GRAPHREEL_SEED={seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for _ in 0..60 {
        let (mut ledger, mut oracle, mut causes) = (Ledger::new(), Oracle::default(), 0);
        for _ in 0..60 {
            step(&mut rng, &mut ledger, &mut oracle, &mut causes);
            agree(&mut rng, &ledger, &mut oracle);
        }
    }
}
