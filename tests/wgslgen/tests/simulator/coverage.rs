//! Every construct occurs in enough kernels.

use std::collections::BTreeMap;

use graphreel_wgslgen::generate;

use crate::options;

/// Texts that tell a construct, each in at least one of a hundred kernels unless it says otherwise.
const CONSTRUCTS: &[&str] = &["switch"];

#[test]
fn every_construct_occurs() {
    let mut seen: BTreeMap<&str, u32> = CONSTRUCTS.iter().map(|of| (*of, 0)).collect();
    for seed in 0..2_000 {
        let text = generate(seed, options(seed)).wgsl();
        seen.iter_mut().filter(|(of, _)| text.contains(**of)).for_each(|(_, count)| *count += 1);
    }
    let rare: Vec<_> = seen.iter().filter(|(_, count)| **count < 20).collect();
    assert!(rare.is_empty(), "of 2,000 kernels: {rare:?}");
}
