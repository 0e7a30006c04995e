//! Eager work: launches, copies, fills, host writes, reads, times, kernels that do not fit.

use graphreel::error::KernelProblem;
use graphreel::op::{LaunchIndirect, Op};
use graphreel::recording::TimeSource;
use graphreel::{Server, ServerError, Wgsl};
use graphreel_wgpu::Options;

use crate::rig::{OTHER, OWNER, SAXPY, launch, options, rig, rig_with, saxpy, write};

#[test]
fn saxpy_gives_the_expected_bytes() {
    let Some(mut rig) = rig() else { return };
    let kernel = rig.kernel(SAXPY);
    let x = rig.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0]);
    let y = rig.upload(&[10.0f32; 5]);
    rig.run(saxpy(&kernel, &x, &y, 2.0));
    assert_eq!(rig.read::<f32>(&y), [12.0, 14.0, 16.0, 18.0, 20.0]);
    assert_eq!(rig.server.counters().launches, 1);
}

#[test]
fn scalars_arrive_without_immediates_too() {
    let Some(mut rig) = rig_with(Options { without_immediates: true, ..Options::default() }) else { return };
    assert_eq!(rig.server.caps().immediate_bytes_max, 0);
    let kernel = rig.kernel(SAXPY);
    let x = rig.upload(&[1.0f32; 8]);
    let y = rig.upload(&[0.0f32; 8]);
    // More launches than one chunk of entries holds, over several batches.
    for step in 0..600 {
        rig.run(saxpy(&kernel, &x, &y, if step % 2 == 0 { 3.0 } else { -2.0 }));
    }
    assert_eq!(rig.read::<f32>(&y), [300.0; 8]);
}

#[test]
fn writes_and_launches_keep_their_order_in_one_batch() {
    // D38: a write through the queue would run before the whole batch.
    let Some(mut rig) = rig() else { return };
    let kernel = rig.kernel(SAXPY);
    let x = rig.upload(&[1.0f32; 4]);
    let y = rig.upload(&[0.0f32; 4]);
    rig.run(saxpy(&kernel, &x, &y, 1.0));
    rig.write(&x, &[10.0f32; 4]);
    rig.run(saxpy(&kernel, &x, &y, 1.0));
    rig.write(&x, &[100.0f32; 4]);
    rig.run(saxpy(&kernel, &x, &y, 1.0));
    assert_eq!(rig.read::<f32>(&y), [111.0; 4]);
    assert_eq!(rig.server.counters().submits, 1);
}

#[test]
fn streams_of_other_slots_see_each_others_writes_in_call_order() {
    let Some(mut rig) = rig() else { return };
    let kernel = rig.kernel(SAXPY);
    let x = rig.upload(&[1.0f32; 4]);
    let y = rig.upload(&[0.0f32; 4]);
    for stream in [OWNER, OTHER, OWNER, OTHER] {
        rig.server.submit(stream, saxpy(&kernel, &x, &y, 1.0)).expect("a launch");
        rig.server.submit(stream, saxpy(&kernel, &y, &x, 1.0)).expect("a launch");
    }
    // (x, y) goes (1,0) (2,1) (5,3) (13,8) (34,21).
    assert_eq!((rig.read::<f32>(&x)[0], rig.read::<f32>(&y)[0]), (34.0, 21.0));
}

#[test]
fn copies_fills_and_odd_sizes_touch_just_their_bytes() {
    let Some(mut rig) = rig() else { return };
    let a = rig.upload(&(0u32..64).collect::<Vec<_>>());
    let range = |from: u64, to: u64| a.binding().slice(from * 4..to * 4).expect("within 64 words");
    // Within one buffer, which wgpu alone refuses.
    rig.run(Op::Copy { src: range(0, 4).into(), dst: range(8, 12).into() });
    rig.run(Op::Fill { dst: range(1, 3).into(), word: 0xABCD });
    rig.run(Op::Fill { dst: range(5, 6).into(), word: 0 });
    let words = rig.read::<u32>(&a);
    assert_eq!(words[..13], [0, 0xABCD, 0xABCD, 3, 4, 0, 6, 7, 0, 1, 2, 3, 12]);
    let odd = rig.upload(&[1u8, 2, 3, 4, 5, 6, 7]);
    let copy = rig.alloc(7);
    rig.run(Op::Copy { src: odd.binding().into(), dst: copy.binding().into() });
    assert_eq!(rig.read::<u8>(&copy), [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn large_buffers_have_pages_of_their_own_and_fresh_memory_is_unwritten() {
    let Some(mut rig) = rig() else { return };
    let large = rig.alloc(1 << 20);
    assert!(matches!(rig.try_read::<u8>(&large.binding()), Err(ServerError::Unwritten { .. })));
    rig.run(Op::Fill { dst: large.binding().into(), word: 7 });
    let words = rig.read::<u32>(&large);
    assert!(words.len() == 1 << 18 && words.iter().all(|word| *word == 7));
    let before = rig.server.memory_usage();
    drop(large);
    let report = rig.server.trim();
    assert!(report.released_bytes >= 1 << 20, "{report:?} of {before:?}");
}

#[test]
fn a_kernel_sees_zeros_in_memory_that_another_account_used() {
    let Some(mut rig) = rig() else { return };
    let kernel = rig.kernel(SAXPY);
    let secret = rig.upload(&[42.0f32; 16]);
    drop(secret);
    rig.server.flush(OWNER).expect("a flush");
    let x = rig.upload(&[0.0f32; 16]);
    let other = graphreel::Account::new("other", None);
    for _ in 0..4 {
        let y = rig.server.alloc(OWNER, 64, &other).expect("a small allocation");
        rig.run(saxpy(&kernel, &x, &y, 1.0));
        assert_eq!(rig.read::<f32>(&y), [0.0; 16]);
    }
}

#[test]
fn an_indirect_launch_runs_its_counts_or_nothing() {
    let Some(mut rig) = rig() else { return };
    let source = "@group(0) @binding(0) var<storage, read_write> out: array<atomic<u32>>;
        @compute @workgroup_size(1) fn count() { atomicAdd(&out[0], 1u); }";
    let kernel = rig.kernel(source);
    let out = rig.upload(&[0u32; 4]);
    let counts = rig.upload(&[9u32, 3, 2, 1, 5, 1, 1]);
    let indirect = |from: u64| {
        let binding = counts.binding().slice(from * 4..from * 4 + 12).expect("three words");
        let mut launch = launch(&kernel, 1, &[&out], &[]);
        launch.grid = graphreel::op::GridArg::Fixed([4, 4, 4]);
        Op::LaunchIndirect(LaunchIndirect { launch, counts: binding.into() })
    };
    rig.run(indirect(1));
    assert_eq!(rig.read::<u32>(&out)[0], 6);
    // 5 is above the largest grid: nothing runs.
    rig.run(indirect(4));
    rig.run(indirect(1));
    assert_eq!(rig.read::<u32>(&out)[0], 12);
}

#[test]
fn a_profile_measures_or_leaves_the_figure_out() {
    let Some(mut rig) = rig() else { return };
    let kernel = rig.kernel(SAXPY);
    let x = rig.upload(&vec![1.0f32; 4096]);
    let y = rig.upload(&vec![0.0f32; 4096]);
    let ops = vec![
        saxpy(&kernel, &x, &y, 1.0),
        Op::Copy { src: y.binding().into(), dst: x.binding().into() },
        write(&y, &vec![5.0f32; 4096]),
        saxpy(&kernel, &x, &y, 1.0),
    ];
    let ticket = rig.server.profile(OWNER, ops).expect("no window is open");
    let profile = rig.finish(ticket).expect("a profile");
    assert_eq!(profile.operations.len(), 4);
    for time in &profile.operations {
        assert_eq!(time.nanoseconds.is_none(), time.source == TimeSource::None);
    }
    if rig.server.caps().times_eager {
        assert_eq!(profile.operations[0].source, TimeSource::PassBoundary);
    }
    assert_eq!(rig.read::<f32>(&y)[4095], 6.0);
}

#[test]
fn kernels_that_do_not_fit_the_device_are_refused_with_a_reason() {
    let Some(rig) = rig() else { return };
    let compile = |source: &str| rig.server.compiler().compile(&Wgsl::new(source).into());
    let wide = format!("@compute @workgroup_size({}) fn f() {{}}", rig.server.caps().workgroup_invocations_max * 2);
    for source in
        [wide.as_str(), "var<workgroup> a: array<u32, 9000000>; @compute @workgroup_size(1) fn f() { a[0] = 1u; }"]
    {
        match compile(source) {
            Err(ServerError::InvalidKernel(error)) => {
                assert!(matches!(error.problem, KernelProblem::Unsupported(_)), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_batch_is_bounded_and_pressure_names_a_point_to_wait_for() {
    let Some(mut rig) = rig_with(options(|config| {
        config.batch_operations_max = 4;
        config.submits_in_flight_max = 2;
    })) else {
        return;
    };
    let kernel = rig.kernel(SAXPY);
    let x = rig.upload(&vec![1.0f32; 1 << 16]);
    let y = rig.upload(&vec![0.0f32; 1 << 16]);
    let clock = graphreel::Clock::system();
    for _ in 0..64 {
        rig.run(saxpy(&kernel, &x, &y, 1.0));
        if let Some(fence) = rig.server.pressure() {
            assert!(fence.wait(&clock, graphreel::Deadline::NEVER).expect("the device is there"));
            assert!(rig.server.pressure().is_none());
        }
    }
    assert!(rig.server.counters().submits >= 16);
    assert_eq!(rig.read::<f32>(&y)[0], 64.0);
}

#[test]
fn a_dropped_read_gives_its_staging_back() {
    let Some(mut rig) = rig() else { return };
    let x = rig.upload(&[1.0f32; 64]);
    for _ in 0..20 {
        let ticket = rig.server.read(OWNER, vec![x.binding()], graphreel::server::WaitMode::Future).expect("a read");
        drop(ticket);
    }
    assert_eq!(rig.read::<f32>(&x), [1.0; 64]);
}
