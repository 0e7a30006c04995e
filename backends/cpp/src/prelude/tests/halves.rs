//! Half precision against the crate that the interpreter has it from.

use half::f16;

use super::program::{Optimise, Program, WORDS, compare};

const PROGRAM: &str = include_str!("halves.cpp");

/// A pattern of each class of numbers, and some at its edges; of both signs.
fn classes() -> Vec<u64> {
    let sizes = [
        0x0000, 0x0001, 0x0002, 0x01ff, 0x03ff, 0x0400, 0x0401, 0x1000, 0x2e66, 0x37ff, 0x3800, 0x3bff, 0x3c00, 0x3c01,
        0x3e00, 0x4248, 0x5bff, 0x6400, 0x7800, 0x7bfe, 0x7bff, 0x7c00, 0x7e00,
    ];
    sizes.iter().flat_map(|size| [*size, size | 0x8000]).collect()
}

/// Bits to compare: a NaN may have any.
const NAN: u64 = 0x7e00;

fn bits(value: f16) -> u64 {
    if value.is_nan() { NAN } else { u64::from(value.to_bits()) }
}

/// The nearest half, rounded once, to the even one of two that are as near. The crate's own way from f64 rounds to f32 first.
pub(super) fn nearest(value: f64) -> f16 {
    if value.is_nan() || value.abs() >= 65520.0 {
        return f16::from_f64(value);
    }
    let about = (f16::from_f64(value).to_bits() & 0x7fff).min(0x7bff);
    let candidates = [about.saturating_sub(1), about, (about + 1).min(0x7bff)];
    let distance = |bits: u16| (f64::from(f16::from_bits(bits)) - value.abs()).abs();
    let by_distance = |a: &u16, b: &u16| distance(*a).total_cmp(&distance(*b)).then((a & 1).cmp(&(b & 1)));
    let size = candidates.into_iter().min_by(by_distance).expect("three candidates");
    f16::from_bits(size | if value.is_sign_negative() { 0x8000 } else { 0 })
}

/// The integers, with their least and greatest value and the bits that they have.
const INTEGERS: [(&str, i64, i64, u64); 6] = [
    ("i16", i16::MIN as i64, i16::MAX as i64, u16::MAX as u64),
    ("u16", 0, u16::MAX as i64, u16::MAX as u64),
    ("i32", i32::MIN as i64, i32::MAX as i64, u32::MAX as u64),
    ("u32", 0, u32::MAX as i64, u32::MAX as u64),
    ("i64", i64::MIN, i64::MAX, u64::MAX),
    ("u64", 0, i64::MAX, u64::MAX),
];

/// The least and the greatest number that an integer type and f16 both have.
fn limits((_, low, high, _): (&str, i64, i64, u64)) -> [f64; 2] {
    let finite = (0..0x7c00).map(|bits| f64::from(f16::from_bits(bits)));
    [(low as f64).max(-65504.0), finite.filter(|found| *found <= high as f64).fold(0.0, f64::max)]
}

fn pattern(expected: &mut Vec<(String, u64)>, limits: &[[f64; 2]; 6], pattern: u16) {
    let value = f16::from_bits(pattern);
    let mut one = |what: &str, word: u64| expected.push((format!("{what} {pattern:#x}"), word));
    let single = if value.is_nan() { NAN } else { u64::from(f32::from(value).to_bits()) };
    one("value", single);
    one("round trip", bits(value));
    one("quantize", single);
    let middle = (f64::from(value) + f64::from(f16::from_bits(pattern.wrapping_add(1)))) / 2.0;
    for side in [-1i64, 0, 1] {
        let double = f64::from_bits(middle.to_bits().wrapping_add_signed(side));
        let single = f32::from_bits((middle as f32).to_bits().wrapping_add_signed(side as i32));
        one("from f64", bits(nearest(double)));
        one("from f32", bits(f16::from_f32(single)));
    }
    for ((name, .., mask), [low, high]) in INTEGERS.iter().zip(limits) {
        one(name, f64::from(value).max(*low).min(*high) as i64 as u64 & mask);
    }
    one("bool", u64::from(f64::from(value) != 0.0));
    one("f64", if value.is_nan() { NAN } else { f64::from(value).to_bits() });
    one("neg", bits(-value));
    one("abs", bits(f16::from_bits(pattern & 0x7fff)));
    one("sqrt", bits(nearest(f64::from(value).sqrt())));
    one("round", bits(nearest(f64::from(value).round_ties_even())));
}

fn pairs(expected: &mut Vec<(String, u64)>) {
    let near = |value: f64| bits(nearest(value));
    let classes: Vec<f16> = classes().into_iter().map(|bits| f16::from_bits(bits as u16)).collect();
    for a in &classes {
        for b in &classes {
            let (x, y) = (f64::from(*a), f64::from(*b));
            let mut two = |what: &str, word: u64| expected.push((format!("{a:?} {what} {b:?}"), word));
            two("+", near(x + y));
            two("-", near(x - y));
            two("*", near(x * y));
            two("/", near(x / y));
            two("%", near(x % y));
            two("min", near(x.min(y)));
            two("max", near(x.max(y)));
            two("==", u64::from(x == y));
            two("<", u64::from(x < y));
            two(">=", u64::from(x >= y));
            two("+ of a vector", near(x + y));
            two("dot", near(x * y + 0.0));
            for c in &classes {
                two(&format!("fma {c:?}"), near(x * y + f64::from(*c)));
            }
        }
    }
}

/// What was found, with every NaN alike. The place tells its width.
fn settle(found: u64, expected: u64, what: &str) -> u64 {
    let nan = match what.split(' ').next() {
        Some("value" | "quantize") => f32::from_bits(found as u32).is_nan(),
        Some("f64") => f64::from_bits(found).is_nan(),
        _ => f16::from_bits(found as u16).is_nan(),
    };
    // Of two zeros `min` and `max` may take either.
    let zeros = (what.contains("min") || what.contains("max")) && (found | expected) & 0x7fff == 0;
    if expected == NAN && nan {
        NAN
    } else if zeros {
        expected
    } else {
        found
    }
}

#[test]
fn halves_are_those_of_ieee() {
    let mut expected = Vec::new();
    let limits = INTEGERS.map(limits);
    (0..=u16::MAX).for_each(|bits| pattern(&mut expected, &limits, bits));
    pairs(&mut expected);
    let Some(program) = Program::new(&format!("{WORDS}{PROGRAM}"), Optimise::No) else { return };
    let mut found = program.words(&classes());
    for (found, (what, expected)) in found.iter_mut().zip(&expected) {
        *found = settle(*found, *expected, what);
    }
    compare(&found, &expected);
}
