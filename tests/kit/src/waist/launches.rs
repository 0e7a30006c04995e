//! Launches: parameters, grids and indirect counts, by the calling convention that translators and server share.

use graphreel::graph::driver::FunctionAttribute;
use graphreel::graph::{Driver, DriverResult};
use graphreel::kernel::Variant;

use super::Rig;
use super::kernels::{MANY, PLACES, PUSH};
use super::rig::{at, whole};
use crate::kernels::{COUNT_GROUPS, INC, IOTA, WRITE_COUNTS};

/// Both take an array of pointers in the order of the function's parameters.
pub fn a_kernel_takes_scalars_addresses_and_lengths<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let many = rig.code(MANY)?;
    let (x, y) = (rig.words(&[1, 2, 30])?, rig.words(&[0; 9])?);
    let scalars = [11u32.into(), [12u32, 13].into(), 1.5f32.into()];
    rig.launch(&many, [1; 3], &many.params(&[whole(&x), whole(&y)], &scalars), &rig.a)?;
    assert_eq!(rig.read(&y)?, [3, 9, 11, 12, 13, 1.5f32.to_bits(), 30, 0, 0]);
    Ok(())
}

/// Ours: a length that is passed is what the kernel sees of the buffer, so bytes beside a range stay.
pub fn a_length_bounds_what_a_kernel_reaches<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let iota = rig.code(IOTA)?;
    let memory = rig.words(&[9; 32])?;
    // Six words from the fourth on: the address is aligned to 16 bytes, as the convention asks.
    let params = iota.params(&[(at(&memory, 16), 24)], &[100u32.into()]);
    rig.launch(&iota, [3, 1, 1], &params, &rig.a)?;
    let mut expected = vec![9; 32];
    (0..6).for_each(|index| expected[4 + index] = 100 + index as u32);
    assert_eq!(rig.read(&memory)?, expected);
    Ok(())
}

/// Both: each thread of each workgroup runs once, with its own place in all three dimensions.
pub fn every_workgroup_of_a_grid_runs<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let places = rig.code(PLACES)?;
    let memory = rig.words(&[0; 49])?;
    rig.launch(&places, [3, 2, 2], &places.params(&[whole(&memory)], &[]), &rig.a)?;
    let mut expected = vec![1; 49];
    expected[48] = 0;
    assert_eq!(rig.read(&memory)?, expected);
    let (count, groups) = (rig.code(COUNT_GROUPS)?, rig.words(&[0])?);
    rig.launch(&count, [70, 3, 2], &count.params(&[whole(&groups)], &[]), &rig.a)?;
    assert_eq!(rig.read(&groups)?, [420]);
    Ok(())
}

/// Ours: of the launched grid the counts' part runs; counts above it run nothing.
pub fn an_indirect_launch_runs_what_its_counts_say<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let count = rig.variant(COUNT_GROUPS, Variant::Indirect)?;
    let (groups, counts) = (rig.words(&[0])?, rig.words(&[0; 3])?);
    let params = count.params_with_counts(&[whole(&groups)], &[], Some(counts.address));
    let cases = [
        ([0, 1, 1], 0),
        ([1, 1, 0], 0),
        ([1, 1, 1], 1),
        ([3, 2, 1], 6),
        ([4, 3, 2], 24),
        ([5, 1, 1], 0),
        ([1, 1, 3], 0),
        ([u32::MAX; 3], 0),
    ];
    for (given, ran) in cases {
        rig.set(&counts, &given)?;
        rig.set(&groups, &[0])?;
        rig.launch(&count, [4, 3, 2], &params, &rig.a)?;
        assert_eq!(rig.read(&groups)?, [ran], "counts {given:?}");
    }
    Ok(())
}

/// Ours: counts are device memory, so work before the launch on its stream may write them, in a graph at every launch.
pub fn counts_are_read_when_the_launch_runs<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (write, count) = (rig.code(WRITE_COUNTS)?, rig.variant(COUNT_GROUPS, Variant::Indirect)?);
    let (input, counts, groups) = (rig.words(&[3])?, rig.words(&[0; 3])?, rig.words(&[0])?);
    let written = write.params(&[whole(&input), whole(&counts)], &[]);
    let counted = count.params_with_counts(&[whole(&groups)], &[], Some(counts.address));
    let work = || {
        rig.launch(&write, [1; 3], &written, &rig.a)?;
        rig.launch(&count, [8, 1, 1], &counted, &rig.a)
    };
    work()?;
    assert_eq!(rig.read(&groups)?, [3]);
    let graph = rig.capture(&rig.a, work)?;
    let exec = rig.exec(&graph)?;
    for (given, total) in [(8, 11), (0, 11), (9, 11), (1, 12)] {
        rig.set(&input, &[given])?;
        rig.run(&exec, &rig.a)?;
        assert_eq!(rig.read(&groups)?, [total], "after a launch of {given}");
    }
    Ok(())
}

/// Ours: in the indirect variant `num_workgroups` is what the counts say, so a stride over the grid visits each word once.
pub fn an_indirect_kernel_sees_its_counts_as_the_grid<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let inc = rig.variant(INC, Variant::Indirect)?;
    let (memory, counts) = (rig.words(&[0; 1000])?, rig.words(&[0; 3])?);
    let params = inc.params_with_counts(&[whole(&memory)], &[], Some(counts.address));
    for (turn, groups) in [(1, 1), (2, 3), (3, 16)] {
        rig.set(&counts, &[groups, 1, 1])?;
        rig.launch(&inc, [16, 1, 1], &params, &rig.a)?;
        assert_eq!(rig.read(&memory)?, [turn; 1000], "with {groups} workgroups");
    }
    Ok(())
}

/// Both: parameters are copied during the call, so their place may be used again at once.
pub fn parameters_are_copied_during_the_call<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (slow, push) = (rig.slow()?, rig.code(PUSH)?);
    let log = rig.words(&[0; 11])?;
    let mut params = push.params(&[whole(&log)], &[0u32.into()]);
    slow.on(&rig.a)?;
    for value in 0..10u32 {
        push.set_scalars(&mut params, &[value.into()]);
        rig.launch(&push, [1; 3], &params, &rig.a)?;
    }
    push.set_scalars(&mut params, &[77u32.into()]);
    drop(params);
    assert_eq!(rig.read(&log)?, [10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    Ok(())
}

/// Both: the attributes of a function bound how it can be launched.
pub fn a_kernel_has_attributes<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let inc = rig.code(INC)?;
    let threads = rig.driver().function_attribute(inc.function, FunctionAttribute::ThreadsMax)?;
    assert!((64..=rig.driver().caps().group_threads_max).contains(&threads), "{threads} threads");
    let shared = rig.driver().function_attribute(inc.function, FunctionAttribute::SharedBytes)?;
    assert!(shared <= rig.driver().caps().shared_bytes_max, "{shared} bytes");
    for attribute in [FunctionAttribute::LocalBytes, FunctionAttribute::Registers] {
        rig.driver().function_attribute(inc.function, attribute)?;
    }
    Ok(())
}

/// CUDA: a kernel has more than 48 KiB of dynamic workgroup memory once it is allowed it. HIP: it has it without asking. Its
/// attribute says which.
pub fn a_kernel_has_all_the_workgroup_memory_of_the_device<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let words = rig.driver().caps().shared_bytes_max / 4;
    // The first and the last word change places through workgroup memory.
    let wgsl = format!(
        "var<workgroup> tile: array<u32, {words}>;
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(2) fn swap(@builtin(local_invocation_index) i: u32) {{
            tile[i * {last}u] = x[i];
            workgroupBarrier();
            x[i] = tile[(1u - i) * {last}u] + tile[{middle}u];
        }}",
        last = words - 1,
        middle = words / 2,
    );
    let (code, memory) = (rig.code(&wgsl)?, rig.words(&[5, 7])?);
    let dynamic = code.shape([1; 3]).shared_bytes;
    let allowed = rig.driver().function_attribute(code.function, FunctionAttribute::DynamicBytesMax)?;
    if allowed < dynamic {
        rig.driver().function_allow_shared(code.function, dynamic)?;
    }
    rig.launch(&code, [1; 3], &code.params(&[whole(&memory)], &[]), &rig.a)?;
    assert_eq!(rig.read(&memory)?, [7, 5], "{dynamic} bytes, of which {allowed} without asking");
    Ok(())
}

/// Both: an image can be loaded more than once, and each module is unloaded by itself.
pub fn a_module_may_be_loaded_and_unloaded_again<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (kept, memory) = (rig.code(INC)?, rig.words(&[0])?);
    for _ in 0..5 {
        let again = rig.code(INC)?;
        rig.launch(&again, [1; 3], &again.params(&[whole(&memory)], &[]), &rig.a)?;
    }
    rig.launch(&kept, [1; 3], &kept.params(&[whole(&memory)], &[]), &rig.a)?;
    assert_eq!(rig.read(&memory)?, [6]);
    Ok(())
}
