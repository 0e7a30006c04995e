//! Subgroup operations at several sizes, whole and partly filled.

use crate::rig::Rig;

/// Run an expression of `i` (the place in the subgroup) over 20 invocations in subgroups of 8; `expected` is of the same.
fn check(expression: &str, expected: impl Fn(u32, u32) -> u32) {
    let rig = Rig::with_subgroups(
        &*format!(
            "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
             @compute @workgroup_size(20) fn main(
                 @builtin(local_invocation_index) index: u32,
                 @builtin(subgroup_invocation_id) i: u32,
             ) {{ out[index] = {expression}; }}"
        ),
        8,
    );
    let got = rig.buffer(&[0; 20]).run().words(0);
    let expected: Vec<u32> = (0..20).map(|index| expected(index % 8, if index < 16 { 8 } else { 4 })).collect();
    assert_eq!(got, expected, "{expression}");
}

#[test]
fn collective_operations() {
    let sum = |n: u32| n * (n + 1) / 2;
    check("subgroupAdd(i + 1u)", |_, n| sum(n));
    check("subgroupMul(i + 1u)", |_, n| (1..=n).product());
    check("subgroupMin(i + 3u)", |_, _| 3);
    check("subgroupMax(i)", |_, n| n - 1);
    check("subgroupAnd(i | 16u)", |_, _| 16);
    check("subgroupOr(1u << i)", |_, n| (1 << n) - 1);
    check("subgroupXor(i + 1u)", |_, n| (1..=n).fold(0, |a, b| a ^ b));
    check("subgroupInclusiveAdd(i + 1u)", |i, _| sum(i + 1));
    check("subgroupExclusiveAdd(i + 1u)", |i, _| sum(i));
    check("subgroupInclusiveMul(i + 1u)", |i, _| (1..=i + 1).product());
    check("subgroupExclusiveMul(i + 1u)", |i, _| (1..=i).product());
    check("u32(subgroupAll(i < 4u))", |_, n| u32::from(n == 4));
    check("u32(subgroupAny(i == 6u))", |_, n| u32::from(n == 8));
    check("u32(subgroupExclusiveMul(f32(i) + 1.0))", |i, _| (1..=i).product());
    check("u32(subgroupAdd(vec2(f32(i), 1.0)).y)", |_, n| n);
    check("u32(subgroupMin(-i32(i)) + 100)", |_, n| 101 - n);
}

#[test]
fn ballots_and_exchanges() {
    check("subgroupBallot(i % 2u == 0u).x", |_, n| 0x55 & ((1 << n) - 1));
    check("subgroupBallot(true).y", |_, _| 0);
    check("subgroupBroadcast(i + 5u, 2u)", |_, _| 7);
    check("subgroupBroadcastFirst(i + 5u)", |_, _| 5);
    check("subgroupShuffle(i * 10u, 3u - i % 4u)", |i, _| (3 - i % 4) * 10);
    check("subgroupShuffleXor(i, 1u)", |i, _| i ^ 1);
    check("subgroupShuffleUp(i, 1u)", |i, _| i.saturating_sub(1));
    check("subgroupShuffleDown(i, 1u)", |i, n| (i + 1).min(n - 1));
    check("quadBroadcast(i, 2u)", |i, _| i & !3 | 2);
    check("quadSwapX(i)", |i, _| i ^ 1);
    check("quadSwapY(i)", |i, _| i ^ 2);
    check("quadSwapDiagonal(i)", |i, _| i ^ 3);
    check("subgroupShuffle(vec2(i, i + 1u), 1u).y", |_, _| 2);
}

#[test]
fn a_ballot_of_128() {
    let rig = Rig::with_subgroups(
        "@group(0) @binding(0) var<storage, read_write> out: vec4<u32>;
         @compute @workgroup_size(128) fn main(@builtin(local_invocation_index) i: u32) {
             let all = subgroupBallot(i % 33u == 1u);
             if i == 0u { out = all; }
         }",
        128,
    );
    assert_eq!(rig.buffer(&[0; 4]).run().words(0), [1 << 1, 1 << 2, 1 << 3, 1 << 4]);
}

#[test]
fn rounds_of_different_length_meet_again() {
    let source = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
             var sum = 0u;
             for (var k = 0u; k <= i; k++) { sum += subgroupAdd(1u); }
             subgroupBarrier();
             out[i] = sum * 100u + subgroupAdd(1u);
         }";
    let rig = Rig::with_subgroups(source, 8).buffer(&[0; 8]).sanitized();
    let report = rig.try_run().unwrap();
    // In round k those are there whose number is at least k.
    let expected: Vec<u32> = (0..8).map(|i| (0..=i).map(|k| 8 - k).sum::<u32>() * 100 + 8).collect();
    assert_eq!(rig.words(0), expected);
    assert_eq!(report.findings.len(), 1, "{report:?}");
    assert_eq!(report.findings[0].line, 4);
}
