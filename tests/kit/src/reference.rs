//! What each kernel of `shaders/` computes, in plain Rust and as exactly as `f64` allows, and how far a device may be off.
//!
//! Devices fuse, reorder and round as WGSL lets them, so floating-point results are held to a bound per element, never to bits.
//! Integer results and copies are exact.

/// What a device's result is held to: `|got - want| <= bound`, element by element.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The exact value of each element, rounded to `f64`.
    pub want: Vec<f64>,
    /// How far each may be off.
    pub bound: Vec<f64>,
}

impl Expected {
    fn with(want: Vec<f64>, bound: impl Fn(f64) -> f64) -> Self {
        let bound = want.iter().map(|value| bound(*value)).collect();
        Self { want, bound }
    }

    /// Whether `got` is within the bounds; else a text with the first element that is not.
    ///
    /// # Errors
    ///
    /// The length, or the first element out of bounds with what was wanted.
    pub fn check(&self, got: &[f32]) -> Result<(), String> {
        if got.len() != self.want.len() {
            return Err(format!("{} elements instead of {}", got.len(), self.want.len()));
        }
        for (index, (got, (want, bound))) in got.iter().zip(self.want.iter().zip(&self.bound)).enumerate() {
            let off = (f64::from(*got) - want).abs();
            // A NaN is not within any bound.
            if off.is_nan() || off > *bound {
                return Err(format!("element {index} is {got} instead of {want} +- {bound}"));
            }
        }
        Ok(())
    }
}

/// Half a unit in the last place of an f32 near one: the error of one rounding, relative.
const ROUNDING: f64 = 1.0 / (1u32 << 24) as f64;

/// Below this an f32 is subnormal, and a device may flush it to zero.
const TINY: f64 = f32::MIN_POSITIVE as f64;

/// `fill`: exact.
pub fn fill(n: usize, value: f32) -> Vec<f32> {
    vec![value; n]
}

/// `saxpy`: the new `y`. Two roundings, or one where fused.
pub fn saxpy(a: f32, x: &[f32], y: &[f32]) -> Expected {
    let terms = || x.iter().zip(y).map(|(x, y)| (f64::from(a) * f64::from(*x), f64::from(*y)));
    let want = terms().map(|(product, y)| product + y).collect();
    let bound = terms().map(|(product, y)| 2.0 * ROUNDING * (product.abs() + (product + y).abs()) + TINY).collect();
    Expected { want, bound }
}

/// `add`: one rounding.
pub fn add(a: &[f32], b: &[f32]) -> Expected {
    let want = a.iter().zip(b).map(|(a, b)| f64::from(*a) + f64::from(*b)).collect();
    Expected::with(want, |value| 2.0 * ROUNDING * value.abs() + TINY)
}

/// `mul`: one rounding.
pub fn mul(a: &[f32], b: &[f32]) -> Expected {
    let want = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).collect();
    Expected::with(want, |value| 2.0 * ROUNDING * value.abs() + TINY)
}

/// `gelu`, tanh form. WGSL gives `tanh` the error of its definition by exponentials, so the bound is loose.
pub fn gelu(input: &[f32]) -> Expected {
    let scale = (2.0 / std::f64::consts::PI).sqrt();
    let one = |x: f64| 0.5 * x * (1.0 + (scale * (x + 0.044715 * x.powi(3))).tanh());
    Expected {
        want: input.iter().map(|x| one(f64::from(*x))).collect(),
        bound: input.iter().map(|x| 2e-5 + 2e-5 * f64::from(*x).abs()).collect(),
    }
}

/// `reduce_sum`, both passes, the first with `groups` workgroups: one element.
pub fn reduce_sum(input: &[f32], groups: usize) -> Expected {
    let sum: f64 = input.iter().map(|x| f64::from(*x)).sum();
    let magnitude: f64 = input.iter().map(|x| f64::from(*x).abs()).sum();
    let lanes = 256 * groups.max(1);
    let additions = input.len().div_ceil(lanes) + groups.div_ceil(256) + 20;
    Expected { want: vec![sum], bound: vec![additions as f64 * ROUNDING * magnitude + TINY] }
}

/// `softmax` of rows of `columns` elements, for finite inputs within +-100.
pub fn softmax(input: &[f32], columns: usize) -> Expected {
    let rows = input.chunks_exact(columns).flat_map(|row| {
        let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f64> = row.iter().map(|x| (f64::from(*x) - f64::from(highest)).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.into_iter().map(move |power| power / sum)
    });
    Expected::with(rows.collect(), |value| 1e-6 + 2e-5 * value)
}

/// `layer_norm` of rows as long as `gamma`, for inputs of ordinary size.
pub fn layer_norm(input: &[f32], gamma: &[f32], beta: &[f32], epsilon: f32) -> Expected {
    let rows = input.chunks_exact(gamma.len()).flat_map(|row| {
        let count = row.len() as f64;
        let mean = row.iter().map(|x| f64::from(*x)).sum::<f64>() / count;
        let variance = row.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / count;
        let scale = 1.0 / (variance + f64::from(epsilon)).sqrt();
        let affine = row.iter().zip(gamma.iter().zip(beta));
        affine.map(move |(x, (gamma, beta))| (f64::from(*x) - mean) * scale * f64::from(*gamma) + f64::from(*beta))
    });
    Expected::with(rows.collect(), |value| 1e-4 + 1e-4 * value.abs())
}

/// `matmul`: `a` is m x k, `b` is k x n.
pub fn matmul(a: &[f32], b: &[f32], m: usize, n: usize, k: usize) -> Expected {
    let mut expected = Expected { want: Vec::with_capacity(m * n), bound: Vec::with_capacity(m * n) };
    for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
        let terms = (0..k).map(|i| f64::from(a[row * k + i]) * f64::from(b[i * n + column]));
        expected.want.push(terms.clone().sum());
        expected.bound.push((k + 1) as f64 * 2.0 * ROUNDING * terms.map(f64::abs).sum::<f64>() + TINY);
    }
    expected
}

/// `dense`: `x` is batch x inputs, `w` is inputs x outputs, `b` has one element per output.
pub fn dense(x: &[f32], w: &[f32], b: &[f32], batch: usize, relu: bool) -> Expected {
    let outputs = b.len();
    let inputs = w.len() / outputs;
    let mut expected = matmul(x, w, batch, outputs, inputs);
    for (index, (want, bound)) in expected.want.iter_mut().zip(&mut expected.bound).enumerate() {
        let bias = f64::from(b[index % outputs]);
        *want += bias;
        *bound += 2.0 * ROUNDING * (2.0 * bias.abs() + want.abs()) + *bound * (1.0 / inputs as f64);
        if relu {
            // The rectifier moves no two values further apart, so the bound holds as it is.
            *want = want.max(0.0);
        }
    }
    expected
}

/// `transpose` of a rows x columns matrix: exact.
pub fn transpose(input: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| (0..rows).map(move |row| input[row * columns + column])).collect()
}

/// `prefix_sum`, all three launches: exact, wrapping.
pub fn prefix_sum(input: &[u32]) -> Vec<u32> {
    let running = input.iter().scan(0u32, |sum, value| {
        *sum = sum.wrapping_add(*value);
        Some(*sum)
    });
    running.collect()
}

/// How many elements `prefix_sum` wants in `sums` for `n` elements.
pub const fn prefix_sum_blocks(n: usize) -> usize {
    n.div_ceil(1024)
}

/// `argmax` of rows of `columns` elements: exact; the first of equals.
pub fn argmax(input: &[f32], columns: usize) -> Vec<u32> {
    let rows = input.chunks_exact(columns).map(|row| {
        let better = |best: usize, index: usize| if row[index] > row[best] { index } else { best };
        (1..columns).fold(0, better) as u32
    });
    rows.collect()
}

/// `histogram` into counts that were zero: exact.
pub fn histogram(input: &[u32], bins: usize) -> Vec<u32> {
    let mut counts = vec![0u32; bins];
    for value in input {
        if let Some(count) = counts.get_mut(*value as usize) {
            *count = count.wrapping_add(1);
        }
    }
    counts
}

/// `increment`, run `times` times: exact, wrapping.
pub fn increment(values: &[u32], times: u32) -> Vec<u32> {
    values.iter().map(|value| value.wrapping_add(times)).collect()
}

/// `spin` over `n` elements: exact.
pub fn spin(n: u32, steps: u32) -> Vec<u32> {
    let one = |index: u32| {
        (0..steps).fold(index.wrapping_add(1), |mut x, _| {
            x ^= x << 13;
            x ^= x >> 17;
            x ^ (x << 5)
        })
    };
    (0..n).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases_by_hand() {
        assert_eq!(saxpy(2.0, &[1.0, 2.0], &[10.0, 20.0]).want, [12.0, 24.0]);
        assert_eq!(add(&[1.0], &[2.5]).want, [3.5]);
        assert_eq!(mul(&[3.0], &[2.5]).want, [7.5]);
        assert!((gelu(&[1.0]).want[0] - 0.841_192).abs() < 1e-6);
        assert_eq!(reduce_sum(&[1.0, 2.0, 4.0], 1).want, [7.0]);
        assert_eq!(softmax(&[5.0, 5.0, 1.0, 1.0], 2).want, [0.5; 4]);
        assert_eq!(layer_norm(&[1.0, 3.0], &[1.0, 2.0], &[0.0, 1.0], 0.0).want, [-1.0, 3.0]);
        assert_eq!(matmul(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0], 2, 1, 2).want, [17.0, 39.0]);
        assert_eq!(dense(&[1.0, 2.0], &[1.0, -1.0, 1.0, -1.0], &[0.5, 0.5], 1, true).want, [3.5, 0.0]);
        assert_eq!(transpose(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(prefix_sum(&[1, 2, u32::MAX]), [1, 3, 2]);
        assert_eq!(argmax(&[1.0, 7.0, 7.0, -1.0, -2.0, -1.0], 3), [1, 0]);
        assert_eq!(histogram(&[0, 2, 2, 9], 3), [1, 0, 2]);
        assert_eq!(increment(&[u32::MAX, 1], 2), [1, 3]);
        // 1 -> 1 ^ 8192 = 8193; 8193 >> 17 = 0; 8193 ^ 262176 = 270369.
        assert_eq!(spin(1, 1), [270_369]);
    }

    #[test]
    fn a_result_out_of_bounds_is_told() {
        let expected = add(&[1.0, 1.0], &[1.0, 1.0]);
        assert_eq!(expected.check(&[2.0, 2.0]), Ok(()));
        assert!(expected.check(&[2.0]).unwrap_err().contains("1 elements instead of 2"));
        assert!(expected.check(&[2.0, 2.001]).unwrap_err().starts_with("element 1 is 2.001 instead of 2 "));
        assert!(expected.check(&[f32::NAN, 2.0]).unwrap_err().starts_with("element 0"));
    }
}
