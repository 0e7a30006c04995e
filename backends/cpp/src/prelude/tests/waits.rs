//! Invocations that wait for one another: the fibers of the host's runtime, what subgroups exchange, and the steps that devices
//! do it in. A wait that never ends is told, and ends the program.

use std::process::ExitStatus;

use super::program::{BOTH, Optimise, Program, WORDS, compare};
use crate::prelude::text;
use crate::{Dialect, FloatMode};

const PROGRAM: &str = include_str!("waits.cpp");
const SHUFFLES: &str = include_str!("shuffles.h");
const DIVERGENCE: &str = include_str!("divergence.cpp");

fn hash(k: u32) -> u32 {
    k.wrapping_mul(2654435761) ^ (k >> 3)
}

/// One subgroup: the values of its lanes.
struct Lanes {
    own: Vec<u32>,
    size: usize,
}

impl Lanes {
    /// The value of a lane; the reader's own where there is none.
    fn of(&self, reader: usize, lane: usize) -> u64 {
        self.own.get(lane).filter(|_| lane < self.size).map_or(self.own[reader], |own| *own).into()
    }

    fn sum(&self, end: usize, each: impl Fn(u32) -> u32) -> u64 {
        self.own[..end].iter().fold(0u32, |sum, own| sum.wrapping_add(each(*own))).into()
    }

    fn product(&self, end: usize) -> u64 {
        self.own[..end].iter().fold(1u32, |product, own| product.wrapping_mul(own | 1)).into()
    }

    /// What a lane finds, operation by operation, in the order of the program. `index` is its place in the workgroup.
    fn found(&self, lane: usize, index: usize) -> Vec<(&'static str, u64)> {
        let (own, all) = (&self.own, self.own.len());
        let me = own[lane];
        let n = hash(me) as usize % (self.size + 3);
        let ballot = own.iter().enumerate().fold(0u64, |bits, (k, own)| bits | u64::from(own % 3 == 0) << k);
        let first = index - lane;
        let every = (0..all).all(|k| first + k + 2 > first / self.size);
        let some = own.iter().any(|own| own % 16 == 0);
        vec![
            ("ballot", ballot),
            ("all and any", u64::from(every) | u64::from(some) << 1),
            ("add", self.sum(all, |own| own)),
            ("mul", self.product(all)),
            ("min", own.iter().map(|own| *own as i32).min().expect("a lane") as u32 as u64),
            ("max", own.iter().map(|own| u64::from(*own) << 7).max().expect("a lane")),
            ("and", own.iter().fold(u32::MAX, |bits, own| bits & (own | 0xffff_0000)).into()),
            ("or", own.iter().fold(0, |bits, own| bits | own & 0x1111_1111).into()),
            ("xor", own.iter().fold(0, |bits, own| bits ^ own).into()),
            ("inclusive add", self.sum(lane + 1, |own| own)),
            ("exclusive add", self.sum(lane, |own| own.wrapping_add(1))),
            ("inclusive mul", self.product(lane + 1)),
            ("exclusive mul", self.product(lane)),
            ("add of floats", own.iter().map(|own| u64::from(own % 64)).sum()),
            ("broadcast first", own[0].into()),
            ("broadcast", self.of(lane, 5)),
            ("shuffle", self.of(lane, n) << 20),
            ("shuffle up", self.of(lane, lane.checked_sub(n % 4).unwrap_or(lane)) & 0xffff),
            ("shuffle down", self.of(lane, lane + n % 4)),
            ("shuffle xor", self.of(lane, lane ^ n)),
            ("quad broadcast", self.of(lane, lane | 3)),
            ("quad x", self.of(lane, lane ^ 1)),
            ("quad y", self.of(lane, lane ^ 2)),
            ("quad diagonal", u64::from(self.of(lane, lane ^ 3).is_multiple_of(2))),
        ]
    }
}

/// What all invocations of one run find.
fn expected([x, y, z]: [usize; 3], subgroup_size: usize) -> Vec<(String, u64)> {
    let all = x * y * z;
    let mut expected = Vec::new();
    for group in 0..4 {
        let (gx, gz) = (group % 2, group / 2);
        for index in 0..all {
            let (lx, ly, lz) = (index % x, index / x % y, index / (x * y));
            let mut one = |what: &str, word: u64| {
                expected
                    .push((format!("{what}, {x}x{y}x{z} by {subgroup_size}, group {group}, invocation {index}"), word));
            };
            one("global id", (gx * x + lx) as u64 | (ly as u64) << 20 | ((gz * z + lz) as u64) << 40);
            let (lane, subgroup) = (index % subgroup_size, index / subgroup_size);
            one("subgroup ids", lane as u64 | (subgroup as u64) << 20 | (all.div_ceil(subgroup_size) as u64) << 40);
            one("zero", 0);
            for round in 0..3 {
                one("a word after a barrier", hash(((index + 7 * round + 1) % all + round) as u32).into());
            }
            let total = (0..all as u32).fold(hash(2), u32::wrapping_add);
            one("an atomic sum", total.into());
            let first = index - lane;
            let count = subgroup_size.min(all - first);
            let own = (first..first + count).map(|k| hash((group * all + k) as u32)).collect();
            for (what, word) in (Lanes { own, size: subgroup_size }).found(lane, index) {
                one(what, word);
            }
        }
    }
    expected
}

fn all_expected(subgroup_size: usize) -> Vec<(String, u64)> {
    let sizes = [[64, 1, 1], [5, 3, 3], [1, 1, 1]];
    // The table of the program has room for four words more than it uses.
    let rows = sizes.iter().flat_map(|size| expected(*size, subgroup_size)).collect::<Vec<_>>();
    let used = 7 + 24;
    rows.chunks(used)
        .flat_map(|row| row.iter().cloned().chain((used..35).map(|_| (String::from("unused"), 0))))
        .collect()
}

#[test]
fn invocations_meet_at_barriers_and_in_subgroups() {
    let source = format!("{}{WORDS}{PROGRAM}", text(Dialect::Host, FloatMode::Strict, &crate::prelude::NAMES));
    for (size, optimise) in [(32, Optimise::No), (8, Optimise::No), (64, Optimise::Yes)] {
        let flag = format!("-DWG_SUBGROUP_SIZE={size}");
        let Some(program) = Program::with(&source, optimise, &[&flag]) else { return };
        compare(&program.words(&[]), &all_expected(size));
    }
}

#[test]
fn the_ladder_of_devices_gives_the_same() {
    let words: Vec<&'static str> = crate::prelude::item::words(PROGRAM);
    for (dialect, size) in [(Dialect::Cuda, 32), (Dialect::Hip, 32), (Dialect::Hip, 64)] {
        let prelude = text(dialect, FloatMode::Strict, &words);
        let source = format!("{SHUFFLES}{prelude}{WORDS}{PROGRAM}");
        let size_flag = format!("-DWG_SUBGROUP_SIZE={size}");
        // One vendor's functions are not called by the other, and the size of CUDA's subgroups is its own.
        let mut flags = vec!["-Wno-unused-function"];
        if dialect == Dialect::Hip {
            flags.push(&size_flag);
        }
        let Some(program) = Program::with(&source, Optimise::No, &flags) else { return };
        compare(&program.words(&[]), &all_expected(size));
    }
}

/// Whether a signal of `abort` ended it, told by `timeout` as a shell does.
fn aborted(status: ExitStatus) -> bool {
    status.code() == Some(128 + 6) || std::os::unix::process::ExitStatusExt::signal(&status) == Some(6)
}

#[test]
fn a_wait_that_cannot_end_is_told() {
    for optimise in BOTH {
        let Some(program) = Program::new(&format!("{WORDS}{DIVERGENCE}"), optimise) else { return };
        let told = [
            ("missing", "only 3 of the 8 invocations of workgroup (1, 0, 0) come to the barrier"),
            ("missing", "0 wait at another one, 5 have ended"),
            ("different", "only 5 of the 8 invocations of workgroup (0, 0, 0) come to the barrier"),
            ("different", "3 wait at another one, 0 have ended"),
            ("undeclared", "a kernel that was started as one that never waits came to a barrier"),
            ("proof", "an index that was proven to be inside is not"),
            ("negative", "an index that was proven to be inside is not"),
        ];
        for (case, text) in told {
            let output = program.output(&[], &[case]);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(aborted(output.status), "{case}: {} {stderr}", output.status);
            assert!(stderr.contains(text), "{case}: {stderr}");
        }
        // An overflow of a fiber's stack meets the guard, and is no silent write.
        assert!(!program.output(&[], &["deep"]).status.success());
        assert!(program.output(&[], &["none"]).status.success());
    }
}
