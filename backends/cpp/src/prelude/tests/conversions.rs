//! Conversions and packing: floats of every size to integers of every width, and back.

use half::f16;

use super::halves::nearest;
use super::program::{BOTH, Program, WORDS, compare};

const PROGRAM: &str = include_str!("conversions.cpp");

/// Bit patterns: floats around every limit of the integers, in the low half as f32 and whole as f64, and numbers without order.
fn patterns() -> Vec<u64> {
    let mut found = vec![0, 1, u64::MAX, 1 << 63, 0x8000_0000, 0x0123_4567_89ab_cdef, 0x8080_8080_7f7f_7f7f];
    let powers = [-30, -24, -14, -2, -1, 0, 1, 7, 8, 11, 15, 16, 17, 23, 24, 31, 32, 52, 53, 62, 63, 64, 100, 127];
    for power in powers {
        for factor in [1.0, -1.0, 1.5, -1.25, 0.999] {
            let value = factor * 2f64.powi(power);
            let single = (value as f32).to_bits();
            for step in [-1i32, 0, 1] {
                let (low, high) =
                    (single.wrapping_add_signed(step), single.wrapping_add_signed(-step).rotate_left(step as u32 & 7));
                found.push(u64::from(high) << 32 | u64::from(low));
                found.push(value.to_bits().wrapping_add_signed(step.into()));
            }
        }
    }
    let specials = [
        f32::NAN,
        -f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
        65504.0,
        65519.9,
        65520.0,
    ];
    found.extend(specials.iter().map(|value| u64::from(value.to_bits()) << 32 | u64::from(value.to_bits())));
    found.extend(specials.iter().map(|value| f64::from(*value).to_bits()));
    found.extend([f64::MAX, f64::MIN, f64::from_bits(1)].map(f64::to_bits));
    // Values between 0 and 1 whose products with the scales of packing are close to a half.
    found.extend((0..2000u64).map(|k| {
        let value = (k as f64 * 32.75 + 0.5) / 65535.0;
        let below = ((k % 255) as f64 + 0.5) / 255.0;
        u64::from((below as f32).to_bits()) << 32 | u64::from((value as f32).to_bits())
    }));
    found
}

/// The greatest float that is an integer of the type.
macro_rules! top {
    ($float:ty, $t:ty) => {{
        let top = <$t>::MAX as $float;
        // A limit that was rounded up is one above.
        if top as i128 > <$t>::MAX as i128 { top.next_down() } else { top }
    }};
}

struct Expected(Vec<(String, u64)>);

impl Expected {
    /// Each is asked for as a scalar and in a vector.
    fn twice(&mut self, what: &str, word: u64) {
        self.0.push((what.to_owned(), word));
        self.0.push((format!("{what} in a vector"), word));
    }
}

fn single(value: f32) -> u64 {
    if value.is_nan() { u64::MAX } else { value.to_bits().into() }
}

fn double(value: f64) -> u64 {
    if value.is_nan() { u64::MAX } else { value.to_bits() }
}

fn half(value: f16) -> u64 {
    if value.is_nan() { u64::MAX } else { value.to_bits().into() }
}

macro_rules! from_float {
    ($out:expr, $value:expr, $float:ty) => {{
        let (out, value): (&mut Expected, $float) = ($out, $value);
        let name = stringify!($float);
        from_float!(@ out, value, name, $float, i16 u16, u16 u16, i32 u32, u32 u32, i64 u64, u64 u64);
        out.twice(&format!("{name} {value:?} to bool"), u64::from(value != 0.0));
        out.twice(&format!("{name} {value:?} to f32"), single(value as f32));
        out.twice(&format!("{name} {value:?} to f64"), double(value.into()));
        out.twice(&format!("{name} {value:?} to f16"), half(nearest(value.into())));
    }};
    (@ $out:ident, $value:ident, $name:ident, $float:ty, $($t:ident $raw:ident),*) => {$(
        let whole = $value.max(<$t>::MIN as $float).min(top!($float, $t)) as $t;
        $out.twice(&format!("{} {:?} to {}", $name, $value, stringify!($t)), whole as $raw as u64);
    )*};
}

macro_rules! from_integer {
    ($out:expr, $word:expr, $($from:ident),*) => {$({
        let value = $word as $from;
        let name = format!("{value}{} to", stringify!($from));
        from_integer!(@ $out, value, name, u16, u16, u32, u32, u64, u64);
        $out.twice(&format!("{name} bool"), u64::from(value != 0));
        $out.twice(&format!("{name} f32"), single(value as f32));
        $out.twice(&format!("{name} f64"), double(value as f64));
        $out.twice(&format!("{name} f16"), half(nearest(value as f64)));
    })*};
    (@ $out:expr, $value:ident, $name:ident, $($raw:ident),*) => {$(
        $out.twice(&format!("{} {}", $name, stringify!($raw)), u64::from($value as $raw));
    )*};
}

fn converted(out: &mut Expected, word: u64) {
    from_float!(out, f32::from_bits(word as u32), f32);
    from_float!(out, f64::from_bits(word), f64);
    from_integer!(out, word, i16, u16, i32, u32, i64, u64);
    let odd = word % 2;
    for to in ["i16", "u16", "i32", "u32", "i64", "u64", "bool"] {
        out.twice(&format!("bool to {to}"), odd);
    }
    out.twice("bool to f32", single(odd as f32));
    out.twice("bool to f64", double(odd as f64));
    out.twice("bool to f16", half(nearest(odd as f64)));
    out.0.push(("bits of f32".to_owned(), single(f32::from_bits(word as u32))));
    out.0.push(("bits of i32".to_owned(), u64::from(word as u32)));
}

/// A number of a field, as WGSL defines it on numbers without rounding.
fn field(value: f32, low: f64, scale: f64) -> u64 {
    (0.5 + scale * f64::from(value).max(low).min(1.0)).floor() as i64 as u64
}

fn joined(width: u32, fields: &[u64]) -> u64 {
    fields.iter().rev().fold(0, |word, field| word << width | field & ((1 << width) - 1))
}

fn packed(out: &mut Expected, word: u64) {
    let (a, b) = (f32::from_bits(word as u32), f32::from_bits((word >> 32) as u32));
    let mut one = |what: &str, value: u64| out.0.push((format!("{what} of {word:#x}"), value));
    one("pack4x8snorm", joined(8, &[a, b, -a, 0.5].map(|value| field(value, -1.0, 127.0))));
    one("pack4x8unorm", joined(8, &[a, b, -a, 0.5].map(|value| field(value, 0.0, 255.0))));
    one("pack2x16snorm", joined(16, &[a, b].map(|value| field(value, -1.0, 32767.0))));
    one("pack2x16unorm", joined(16, &[a, b].map(|value| field(value, 0.0, 65535.0))));
    let halves = [a, b].map(|value| {
        if value.is_nan() {
            0x7e00 | u64::from(value.to_bits() >> 31) << 15
        } else {
            u64::from(f16::from_f32(value).to_bits())
        }
    });
    one("pack2x16float", joined(16, &halves));
    let (c, d) = (word as i32, (word >> 32) as i32);
    let four = [c, d, c >> 8, d >> 24];
    one("pack4xI8", joined(8, &four.map(|value| value as u64)));
    one("pack4xI8Clamp", joined(8, &four.map(|value| value.clamp(-128, 127) as u64)));
    let four = [c as u32, d as u32, 256, 255];
    one("pack4xU8", joined(8, &four.map(u64::from)));
    one("pack4xU8Clamp", joined(8, &four.map(|value| value.min(255).into())));
    let (bytes, others) = ((c as u32).to_le_bytes(), (d as u32).to_le_bytes());
    let signed: i32 = bytes.iter().zip(others).map(|(a, b)| i32::from(*a as i8) * i32::from(b as i8)).sum();
    one("dot4I8", (signed as u32).into());
    one("dot4U8", bytes.iter().zip(others).map(|(a, b)| u64::from(*a) * u64::from(b)).sum());
    bytes.iter().for_each(|byte| one("unpack4x8snorm", single((f64::from(*byte as i8) / 127.0).max(-1.0) as f32)));
    bytes.iter().for_each(|byte| one("unpack4x8unorm", single((f64::from(*byte) / 255.0) as f32)));
    let pairs = [c as u32 as u16, (c as u32 >> 16) as u16];
    pairs.iter().for_each(|pair| one("unpack2x16snorm", single((f64::from(*pair as i16) / 32767.0).max(-1.0) as f32)));
    pairs.iter().for_each(|pair| one("unpack2x16unorm", single((f64::from(*pair) / 65535.0) as f32)));
    pairs.iter().for_each(|pair| one("unpack2x16float", single(f16::from_bits(*pair).into())));
    bytes.iter().for_each(|byte| one("unpack4xI8", u64::from(i32::from(*byte as i8) as u32)));
    bytes.iter().for_each(|byte| one("unpack4xU8", (*byte).into()));
}

#[test]
fn conversions_and_packing_are_wgsls() {
    let patterns = patterns();
    let mut expected = Expected(Vec::new());
    patterns.iter().for_each(|word| converted(&mut expected, *word));
    patterns.iter().for_each(|word| packed(&mut expected, *word));
    for optimise in BOTH {
        let Some(program) = Program::new(&format!("{WORDS}{PROGRAM}"), optimise) else { return };
        let mut found = program.words(&patterns);
        for (found, (what, expected)) in found.iter_mut().zip(&expected.0) {
            let nan = match what {
                what if what.contains("to f64") => f64::from_bits(*found).is_nan(),
                what if what.contains("to f16") => f16::from_bits(*found as u16).is_nan(),
                _ => f32::from_bits(*found as u32).is_nan(),
            };
            if *expected == u64::MAX && nan {
                *found = u64::MAX;
            }
        }
        compare(&found, &expected.0);
    }
}
