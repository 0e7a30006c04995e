//! The generator on the simulator: every kernel is well defined, compiles, ends, and gives the same bytes however it is run.

mod coverage;
mod oracle;
mod shrinking;

use graphreel_wgslgen::{Kernel, Options, Subgroups, generate};

use self::oracle::{Run, outcome};

/// `GRAPHREEL_SEED`, or many.
fn seeds() -> std::ops::Range<u64> {
    let given = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.trim().parse::<u64>().ok());
    let thorough = std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|text| text == "1");
    given.map_or(0..if thorough { 20_000 } else { 2_000 }, |seed| seed..seed + 1)
}

/// What a kernel gives, with nothing to be said against it.
fn run(kernel: &Kernel, threads: usize, subgroup_size: u32) -> Vec<Vec<u8>> {
    let found = outcome(kernel, Run { threads, subgroup_size });
    found.unwrap_or_else(|why| panic!("seed {}: {why}\n{}", kernel.seed(), kernel.wgsl()))
}

/// The options that tests go through, by seed.
fn options(seed: u64) -> Options {
    match seed % 4 {
        0 => Options::portable(),
        1 => Options { subgroups: Subgroups::Exact(32), ..Options::full() },
        2 => Options { subgroups: Subgroups::AnySize, ..Options::portable() },
        _ => Options::full(),
    }
}

fn sound(kernel: &Kernel) {
    let text = kernel.wgsl();
    kernel.check().unwrap_or_else(|why| panic!("seed {}: {why}\n{text}", kernel.seed()));
    let lines = text.lines().count();
    assert!((20..600).contains(&lines), "seed {}: {lines} lines", kernel.seed());
}

#[test]
fn kernels_give_one_result() {
    for seed in seeds() {
        let kernel = generate(seed, options(seed));
        sound(&kernel);
        let one = run(&kernel, 1, 32);
        assert_eq!(one, run(&kernel, 4, 32), "seed {seed}: threads tell\n{}", kernel.wgsl());
        if options(seed).subgroups == Subgroups::AnySize {
            assert_eq!(one, run(&kernel, 1, 8), "seed {seed}: the size of subgroups tells\n{}", kernel.wgsl());
        }
    }
}

#[test]
fn a_seed_is_a_kernel() {
    let once = generate(7, Options::full());
    assert_eq!((&once, once.buffers()), (&generate(7, Options::full()), generate(7, Options::full()).buffers()));
    assert_ne!(once.wgsl(), generate(8, Options::full()).wgsl());
}
