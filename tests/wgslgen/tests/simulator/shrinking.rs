//! Shrinking keeps what fails, and only that.

use graphreel_wgslgen::{Options, generate, shrink};

use crate::run;

#[test]
fn a_failure_is_made_small() {
    for (wanted, seeds) in [("reverseBits", 0..400), ("switch", 0..40), ("workgroupBarrier", 0..40)] {
        let of = |seed| generate(seed, Options::portable());
        let seed = seeds.into_iter().find(|seed| of(*seed).wgsl().contains(wanted)).expect("some kernel has it");
        let before = of(seed).wgsl().lines().count();
        let mut tries = 0;
        let small = shrink(of(seed), |kernel| {
            tries += 1;
            kernel.wgsl().contains(wanted)
        });
        let text = small.wgsl();
        assert!(text.contains(wanted) && tries <= 600);
        let lines = text.lines().count();
        assert!(lines < before && lines < 60, "{wanted}, seed {seed}: from {before} lines to {lines}\n{text}");
        assert_eq!(small.check(), Ok(()));
        run(&small, 1, 32);
    }
}

/// What shrinking asks about is well defined and compiles, so that no driver is blamed for what a smaller kernel got wrong.
#[test]
fn every_smaller_kernel_is_sound() {
    for seed in 0..12 {
        let mut asked = 0;
        shrink(generate(seed, Options::full()), |kernel| {
            asked += 1;
            run(kernel, 1, 32);
            asked % 3 == 0
        });
        assert!(asked > 10, "seed {seed}: only {asked} were tried");
    }
}
