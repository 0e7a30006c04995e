//! Traps and refusals: arguments that do not fit, kernels without an end, barriers that cannot be passed, types beyond the simulator.

use graphreel::kernel::KernelSource;
use graphreel::sync::atomic::{AtomicU64, Ordering};
use graphreel_sim::interp::{Program, ProgramOptions};

use crate::rig::Rig;

fn trap(rig: &Rig) -> String {
    rig.try_run().expect_err("it cannot run").to_string()
}

const COPY: &str = "@group(0) @binding(0) var<storage, read> a: array<vec4<u32>>;
    @group(0) @binding(1) var<storage, read_write> b: vec4<u32>;
    struct P { x: u32, y: f32 }
    var<immediate> p: P;
    @compute @workgroup_size(1) fn copy() { b = a[p.x]; }";

#[test]
fn arguments_that_do_not_fit() {
    let whole = || Rig::new(COPY).buffer(&[1; 8]).buffer(&[0; 4]).scalar(1).scalar(0);
    assert_eq!(whole().run().words(1), [1; 4]);
    let text = trap(&Rig::new(COPY).buffer(&[1; 8]).scalar(1).scalar(0));
    assert!(text.contains("kernel `copy`") && text.contains("2 buffers, and 1"), "{text}");
    let text = trap(&Rig::new(COPY).buffer(&[1; 3]).buffer(&[0; 4]).scalar(1).scalar(0));
    assert!(text.contains("`a` needs 16 bytes, and 12"), "{text}");
    let text = trap(&Rig::new(COPY).buffer(&[1; 8]).buffer(&[0; 4]).scalar(1));
    assert!(text.contains("8 bytes of scalars, and 4"), "{text}");
    let mut rig = whole();
    rig.bytes[0] = Some(64);
    assert!(trap(&rig).contains("`a` is bound from byte 0 for 64 bytes of a memory of 32"), "{}", trap(&rig));
    assert_eq!(whole().groups(0, 5, 1).run().words(1), [0; 4]);
    let text = trap(&whole().groups(u32::MAX, u32::MAX, 5));
    assert!(text.contains("more workgroups"), "{text}");
    assert_eq!(whole().threads(0).run().words(1), [1; 4]);
}

#[test]
fn endless_kernels_are_stopped() {
    let source = "@group(0) @binding(0) var<storage, read_write> out: u32;
        fn spin(x: u32) -> u32 {
            var i = x;
            loop { i++; }
            return i;
        }
        @compute @workgroup_size(4) fn forever() { out = spin(1u); }";
    let rig = Rig::new(source).buffer(&[0]).steps(100_000).groups(8, 1, 1).threads(2);
    let stopped = rig.try_run().expect_err("it has no end");
    assert_eq!((&*stopped.kernel, stopped.line), ("forever", 4));
    assert!(stopped.problem.contains("100000 steps"), "{stopped}");
    // Calls alone double with each function, without a loop.
    let calls: String = (1..40).map(|k| format!("fn f{k}() {{ f{0}(); f{0}(); }}\n", k - 1)).collect();
    let source =
        format!("var<private> n: u32; fn f0() {{ n++; }}\n{calls}@compute @workgroup_size(1) fn main() {{ f39(); }}");
    assert!(trap(&Rig::new(&*source).steps(100_000)).contains("steps"));
    // Waiting for another invocation without a barrier does not end either.
    let source = "var<workgroup> flag: atomic<u32>;
        @compute @workgroup_size(2) fn wait(@builtin(local_invocation_index) i: u32) {
            if i == 0u { while atomicLoad(&flag) == 0u { } } else { atomicStore(&flag, 1u); }
        }";
    assert!(trap(&Rig::new(source).steps(100_000)).contains("line 3"));
}

/// What nobody waits for any more ends: an invocation that loops, and many short ones.
#[test]
fn a_run_is_called_off() {
    let endless = "@group(0) @binding(0) var<storage, read_write> n: u32;
        @compute @workgroup_size(2) fn endless() { n = 1u; while n > 0u { } }";
    let many = "@group(0) @binding(0) var<storage, read_write> n: u32;
        @compute @workgroup_size(256) fn many() { n = 1u; }";
    for (source, groups) in [(endless, 2), (many, 1 << 30)] {
        let mut rig = Rig::new(source).buffer(&[0]).groups(groups, 1, 1).steps(u64::MAX).threads(2);
        let now = AtomicU64::new(7);
        rig.epoch = Some((now, 7));
        let text = std::thread::scope(|scope| {
            let run = scope.spawn(|| trap(&rig));
            while rig.words(0) == [0] {
                std::thread::yield_now();
            }
            assert!(!run.is_finished(), "nothing else ends it");
            rig.epoch.as_ref().unwrap().0.fetch_add(1, Ordering::Relaxed);
            run.join().unwrap()
        });
        assert!(text.contains("called off"), "{text}");
    }
    // One that is called off before it begins does nothing.
    let mut rig = Rig::new(many).buffer(&[0]);
    rig.epoch = Some((AtomicU64::new(8), 7));
    assert!(trap(&rig).contains("called off"));
    assert_eq!(rig.words(0), [0]);
}

#[test]
fn barriers_that_cannot_be_passed() {
    let source = |body: &str| {
        format!(
            "var<workgroup> x: u32;
             @compute @workgroup_size(64) fn stuck(@builtin(local_invocation_index) i: u32) {{ {body} }}"
        )
    };
    let text = trap(&Rig::new(&*source("if i < 10u {\n return;\n }\n workgroupBarrier();")));
    assert!(
        text.contains("kernel `stuck`, line 5") && text.contains("54 of the 64") && text.contains("10 have ended"),
        "{text}"
    );
    let text = trap(&Rig::new(&*source("if i < 10u {\n workgroupBarrier();\n } else {\n workgroupBarrier();\n }")));
    assert!(text.contains("line 3") && text.contains("54 wait at another one"), "{text}");
    let text = trap(&Rig::new(&*source("if i == 3u { x = workgroupUniformLoad(&x); }")).sanitized());
    assert!(text.contains("only 1 of the 64"), "{text}");
}

#[test]
fn what_the_simulator_does_not_run_is_refused() {
    let refusal = |source: &str, subgroup_size| {
        let made = Program::new(&KernelSource::from(source), ProgramOptions { subgroup_size });
        made.expect_err("it is refused").to_string()
    };
    let empty = "@compute @workgroup_size(1) fn main() { }";
    for size in [0, 3, 256] {
        assert!(refusal(empty, size).contains("power of two"), "{size}");
    }
    let large =
        "var<private> a: array<array<u32, 65536>, 65535>; @compute @workgroup_size(1) fn main() { a[0][0] = 1u; }";
    let text = refusal(large, 32);
    assert!(text.contains("kernel `main`"), "{text}");
    let wide = "var<workgroup> a: u32; @compute @workgroup_size(1024) fn main() {
        var a_: array<u32, 1000000>; a_[a] = 1u; workgroupBarrier(); a = a_[1]; }";
    assert!(refusal(wide, 32).contains("1024 invocations"), "{}", refusal(wide, 32));
    assert!(refusal("@compute @workgroup_size(1) fn main() { let x = ; }", 32).contains("does not parse"));
}

#[test]
fn a_kernel_without_anything_runs() {
    Rig::new("@compute @workgroup_size(1) fn main() { }").groups(3, 2, 1).threads(2).run();
    Rig::new("@compute @workgroup_size(4) fn main() { workgroupBarrier(); }").sanitized().run();
}
