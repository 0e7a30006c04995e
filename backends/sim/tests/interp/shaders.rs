//! Every kernel of `shaders/` against the host's reference.

use graphreel::shaders;
use graphreel_testkit::reference::{self, Expected};

use crate::rig::Rig;

fn floats(n: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..n).map(|_| random.f32() * 6.0 - 3.0).collect()
}

fn whole(n: usize, bound: u32, seed: u64) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..n).map(|_| random.u32(0..bound)).collect()
}

fn close(expected: &Expected, got: &[f32], what: &str) {
    expected.check(got).unwrap_or_else(|wrong| panic!("{what}: {wrong}"));
}

const LENGTHS: [usize; 4] = [1, 257, 1023, 5000];
const ROWS: [(usize, usize); 4] = [(1, 1), (7, 300), (3, 1024), (40, 33)];

fn groups_for(n: usize, each: usize) -> [u32; 2] {
    let natural = n.div_ceil(each) as u32;
    [natural, natural.min(3)]
}

#[test]
fn vectors_in_and_out() {
    for n in LENGTHS {
        let (a, b) = (floats(n, 1), floats(n, 2));
        for groups in groups_for(n, 256) {
            for threads in [1, 3] {
                let run = |shader, scalar: Option<u32>| {
                    let rig = Rig::new(shader).floats(&a).floats(&b).groups(groups, 1, 1).threads(threads);
                    scalar.into_iter().fold(rig, Rig::scalar)
                };
                let got = run(shaders::SAXPY, Some(0.5f32.to_bits()));
                close(&reference::saxpy(0.5, &a, &b), &got.run().read_floats(1), "saxpy");
                let got = run(shaders::ADD, None).floats(&vec![0.0; n]);
                close(&reference::add(&a, &b), &got.run().read_floats(2), "add");
                let got = run(shaders::MUL, None).floats(&vec![0.0; n]);
                close(&reference::mul(&a, &b), &got.run().read_floats(2), "mul");
            }
            let got = Rig::new(shaders::GELU).floats(&a).floats(&vec![0.0; n]).groups(groups, 1, 1);
            close(&reference::gelu(&a), &got.run().read_floats(1), "gelu");
            let got = Rig::new(shaders::FILL).floats(&a).groups(groups, 1, 1).scalar(7f32.to_bits());
            assert_eq!(got.run().read_floats(0), reference::fill(n, 7.0));
            let words = whole(n, u32::MAX, 3);
            let got = Rig::new(shaders::INCREMENT).buffer(&words).groups(groups, 1, 1);
            assert_eq!(got.run().words(0), reference::increment(&words, 1));
            let got = Rig::new(shaders::SPIN).buffer(&words).groups(groups, 1, 1).scalar(20);
            assert_eq!(got.run().words(0), reference::spin(n as u32, 20));
        }
    }
}

#[test]
fn sums_counts_and_prefixes() {
    for n in LENGTHS {
        let a = floats(n, 4);
        for groups in groups_for(n, 256) {
            let first = Rig::new(shaders::REDUCE_SUM).floats(&a).floats(&vec![0.0; groups as usize]);
            let partial = first.groups(groups, 1, 1).run().read_floats(1);
            let last = Rig::new(shaders::REDUCE_SUM).floats(&partial).floats(&[0.0]);
            close(&reference::reduce_sum(&a, groups as usize), &last.run().read_floats(1), "reduce_sum");
            let (words, bins) = (whole(n, 40, 5), vec![0; 32]);
            let got = Rig::new(shaders::HISTOGRAM).buffer(&words).buffer(&bins).scalar(32);
            let got = got.groups(groups, 1, 1).threads(2);
            assert_eq!(got.run().words(1), reference::histogram(&words, 32));
        }
        let words = whole(n, u32::MAX, 6);
        let blocks = reference::prefix_sum_blocks(n);
        let (mut output, mut sums) = (vec![0; n], vec![0; blocks]);
        let rig = Rig::new(shaders::PREFIX_SUM.entry("scan_blocks")).buffer(&words).buffer(&output).buffer(&sums);
        let rig = rig.groups(blocks as u32, 1, 1);
        (output, sums) = (rig.run().words(1), rig.words(2));
        let rig = Rig::new(shaders::PREFIX_SUM.entry("scan_sums")).buffer(&sums);
        sums = rig.run().words(0);
        let rig = Rig::new(shaders::PREFIX_SUM.entry("add_sums")).buffer(&output).buffer(&sums);
        assert_eq!(rig.groups(blocks as u32, 1, 1).run().words(0), reference::prefix_sum(&words));
    }
}

#[test]
fn rows_of_matrices() {
    for (rows, columns) in ROWS {
        let x = floats(rows * columns, 7);
        let (gamma, beta, blank) = (floats(columns, 8), floats(columns, 9), vec![0.0; rows * columns]);
        let groups = rows as u32;
        let got = Rig::new(shaders::SOFTMAX).floats(&x).floats(&blank).scalar(columns as u32).groups(groups, 1, 1);
        close(&reference::softmax(&x, columns), &got.run().read_floats(1), "softmax");
        let rounded: Vec<f32> = x.iter().map(|value| value.round()).collect();
        let got = Rig::new(shaders::ARGMAX).floats(&rounded).buffer(&vec![0; rows]).scalar(columns as u32);
        assert_eq!(got.groups(groups, 1, 1).run().words(1), reference::argmax(&rounded, columns));
        let got = Rig::new(shaders::LAYER_NORM).floats(&x).floats(&gamma).floats(&beta).floats(&blank);
        let got = got.scalar(columns as u32).scalar(1e-5f32.to_bits()).groups(groups, 1, 1);
        close(&reference::layer_norm(&x, &gamma, &beta, 1e-5), &got.run().read_floats(3), "layer_norm");
        let got = Rig::new(shaders::TRANSPOSE).floats(&x).floats(&blank).scalar(rows as u32).scalar(columns as u32);
        let got = got.groups(columns.div_ceil(16) as u32, rows.div_ceil(16) as u32, 1);
        assert_eq!(got.run().read_floats(1), reference::transpose(&x, rows, columns));
    }
}

#[test]
fn products_of_matrices() {
    for [m, n, k] in [[1, 1, 1], [17, 5, 33], [40, 50, 7]] {
        let (a, b, bias) = (floats(m * k, 10), floats(k * n, 11), floats(n, 12));
        let blank = vec![0.0; m * n];
        let (x, y) = (n.div_ceil(16) as u32, m.div_ceil(16) as u32);
        let got = Rig::new(shaders::MATMUL).floats(&a).floats(&b).floats(&blank).groups(x, y, 1).threads(2);
        let got = got.scalar(m as u32).scalar(n as u32).scalar(k as u32);
        close(&reference::matmul(&a, &b, m, n, k), &got.run().read_floats(2), "matmul");
        for relu in [false, true] {
            let got = Rig::new(shaders::DENSE).floats(&a).floats(&b).floats(&bias).floats(&blank).groups(x, y, 1);
            let got = got.scalar(m as u32).scalar(k as u32).scalar(n as u32).scalar(u32::from(relu));
            close(&reference::dense(&a, &b, &bias, m, relu), &got.run().read_floats(3), "dense");
        }
    }
}

/// Every shader is run above, or this fails.
#[test]
fn no_shader_is_left_out() {
    let source = include_str!("shaders.rs");
    for shader in shaders::ALL {
        assert!(source.contains(&shader.name.to_uppercase()), "`{}` is not run", shader.name);
    }
}
