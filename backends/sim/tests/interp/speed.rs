//! How fast kernels are prepared and run: printed, with bounds that only a broken build misses.

use std::time::{Duration, Instant};

use graphreel::kernel::KernelSource;
use graphreel::shaders;
use graphreel_sim::interp::{Program, ProgramOptions};

use crate::rig::Rig;

#[test]
fn a_core_does_millions_of_operations_a_second() {
    // Six operations a round: shift and xor, three times.
    let (lanes, rounds) = (4096u32, 400u32);
    let rig = Rig::new(shaders::SPIN).buffer(&vec![0; lanes as usize]).groups(lanes / 256, 1, 1).scalar(rounds);
    let start = Instant::now();
    rig.run();
    let spent = start.elapsed();
    let rate = f64::from(lanes) * f64::from(rounds) * 6.0 / spent.as_secs_f64();
    println!("spin: {rate:.3e} operations/s");
    assert!(rate > 1e6, "{rate}");

    let n = 128u32;
    let cells = vec![1.0; (n * n) as usize];
    let rig = Rig::new(shaders::MATMUL).floats(&cells).floats(&cells).floats(&cells);
    let rig = rig.scalar(n).scalar(n).scalar(n).groups(n / 16, n / 16, 1);
    let start = Instant::now();
    rig.run();
    let rate = 2.0 * f64::from(n).powi(3) / start.elapsed().as_secs_f64();
    println!("matmul: {rate:.3e} operations/s");
    assert!(rate > 1e6, "{rate}");
}

#[test]
fn a_kernel_is_prepared_in_about_a_millisecond() {
    let source = KernelSource::from(shaders::MATMUL);
    let prepare = || Program::new(&source, ProgramOptions { subgroup_size: 32 }).unwrap();
    prepare();
    let start = Instant::now();
    for _ in 0..20 {
        prepare();
    }
    let each = start.elapsed() / 20;
    println!("prepared in {each:?}");
    assert!(each < Duration::from_millis(100), "{each:?}");
}
