//! Integers at every width: each operation on every pair of values that are an edge of something.

use super::program::{BOTH, Program, WORDS, compare};

/// Values at the edges of every width, and some in between.
fn edges() -> Vec<u64> {
    let mut edges: Vec<u64> = vec![0, 1, 2, 3, 5, 7, 10, 0x55, 0xaa, 0x5555_5555_5555_5555, 0x0123_4567_89ab_cdef];
    for width in [7, 8, 15, 16, 31, 32, 63] {
        let power = 1u64 << width;
        edges.extend([power - 1, power, power + 1, power.wrapping_neg(), power.wrapping_neg().wrapping_sub(1)]);
    }
    edges.extend([u64::MAX, u64::MAX - 1, u64::MAX - 6]);
    edges
}

const PLACES: [u32; 12] = [0, 1, 7, 8, 15, 16, 31, 32, 33, 63, 64, u32::MAX];

const PROGRAM: &str = include_str!("integers.cpp");

/// The bits from `offset`, brought within the width.
fn field(width: u32, offset: u32, count: u32) -> (u32, u32) {
    let offset = offset.min(width);
    (offset, count.min(width - offset))
}

macro_rules! expect_of {
    ($out:expr, $edges:expr, $t:ty, $raw:ty, $abs:expr, $sign:expr) => {{
        let out: &mut Vec<(String, u64)> = $out;
        let name = stringify!($t);
        for first in $edges {
            let a = *first as $t;
            let mut one = |what: &str, value: $t| out.push((format!("{name} {what} {a}"), u64::from(value as $raw)));
            one("neg", a.wrapping_neg());
            one("abs", $abs(a));
            one("sign", $sign(a));
            one("not", !a);
            one("clz", a.leading_zeros() as $t);
            one("ctz", a.trailing_zeros() as $t);
            one("ones", a.count_ones() as $t);
            one("reverse", a.reverse_bits());
            one("trailing", if a == 0 { !0 } else { a.trailing_zeros() as $t });
            let leading = a ^ (a >> (<$t>::BITS - 1)) * <$t>::from(<$t>::MIN != 0);
            one("leading", if leading == 0 { !0 } else { (<$t>::BITS - 1 - leading.leading_zeros()) as $t });
            for place in PLACES {
                one("shl", a.wrapping_shl(place));
                one("shr", a.wrapping_shr(place));
                one("shr of a vector", a.wrapping_shr(place));
                for count in PLACES {
                    let (from, n) = field(<$t>::BITS, place, count);
                    let taken = if n == 0 { 0 } else { a << (<$t>::BITS - from - n) >> (<$t>::BITS - n) };
                    one(&format!("extract {place} {count}"), taken);
                    let mask = (0..n).fold(0 as $t, |mask, bit| mask | (1 as $t) << (from + bit));
                    let moved = if n == 0 { 0 } else { (0x6b as $t) << from };
                    one(&format!("insert {place} {count}"), a & !mask | moved & mask);
                    one(&format!("insert of a vector {place} {count}"), a & !mask | moved & mask);
                }
            }
            for second in $edges {
                let b = *second as $t;
                let mut two =
                    |what: &str, value: $t| out.push((format!("{name} {a} {what} {b}"), u64::from(value as $raw)));
                let rem = if b == 0 { 0 } else { a.wrapping_rem(b) };
                two("+", a.wrapping_add(b));
                two("-", a.wrapping_sub(b));
                two("*", a.wrapping_mul(b));
                two("/", if b == 0 { a } else { a.wrapping_div(b) });
                two("%", rem);
                two("&", a & b);
                two("|", a | b);
                two("^", a ^ b);
                two("min", a.min(b));
                two("max", a.max(b));
                for (what, holds) in
                    [("==", a == b), ("!=", a != b), ("<", a < b), ("<=", a <= b), (">", a > b), (">=", a >= b)]
                {
                    two(what, <$t>::from(holds));
                }
                two("* of a vector", a.wrapping_mul(b));
                two("% of a vector", rem);
                let product = a.wrapping_mul(b);
                two("dot", product.wrapping_add(b.wrapping_mul(b)).wrapping_add(a.wrapping_mul(a)));
                two("clamp", a.max(b).min(5));
                two("any", <$t>::from(a != b));
            }
        }
    }};
}

#[test]
fn integers_are_wgsls() {
    let edges = edges();
    let mut expected = Vec::new();
    expect_of!(&mut expected, &edges, i16, u16, i16::wrapping_abs, i16::signum);
    expect_of!(&mut expected, &edges, u16, u16, std::convert::identity, |a: u16| a.min(1));
    expect_of!(&mut expected, &edges, i32, u32, i32::wrapping_abs, i32::signum);
    expect_of!(&mut expected, &edges, u32, u32, std::convert::identity, |a: u32| a.min(1));
    expect_of!(&mut expected, &edges, i64, u64, i64::wrapping_abs, i64::signum);
    expect_of!(&mut expected, &edges, u64, u64, std::convert::identity, |a: u64| a.min(1));
    for optimise in BOTH {
        let Some(program) = Program::new(&format!("{WORDS}{PROGRAM}"), optimise) else { return };
        compare(&program.words(&edges), &expected);
    }
}
