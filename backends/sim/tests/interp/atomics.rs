//! Atomic operations of every type, alone and with many workgroups at once.

use crate::rig::Rig;

/// Operations of one type: statements and what each gives back, then what is left.
fn check(space: &str, ty: &str, start: &str, steps: &[(&str, &str)], left: &str) {
    let storage = space == "storage, read_write";
    let place = if storage { "@group(0) @binding(1) " } else { "" };
    let width = if ty.ends_with("64") { 2 } else { 1 };
    let mut body = format!("atomicStore(&a, {ty}({start}));\n");
    for (index, (step, _)) in steps.iter().enumerate() {
        body.push_str(&format!("out[{index}] = {step};\n"));
    }
    let rig = Rig::new(&*format!(
        "@group(0) @binding(0) var<storage, read_write> out: array<{ty}>;
         {place} var<{space}> a: atomic<{ty}>;
         @compute @workgroup_size(1) fn main() {{ {body} out[{}] = atomicLoad(&a); }}",
        steps.len()
    ));
    let mut rig = rig.buffer(&vec![0; (steps.len() + 1) * width]);
    if storage {
        rig = rig.buffer(&vec![0; width]);
    }
    let expected: String =
        steps.iter().map(|(_, expected)| *expected).chain([left]).map(|value| format!("{value},")).collect();
    // The interpreter's own constants say which words the expected values are.
    let wanted = Rig::new(&*format!(
        "@group(0) @binding(0) var<storage, read_write> out: array<{ty}, {0}>;
         @compute @workgroup_size(1) fn main() {{ out = array<{ty}, {0}>({expected}); }}",
        steps.len() + 1
    ));
    let wanted = wanted.buffer(&vec![0; (steps.len() + 1) * width]);
    assert_eq!(rig.run().words(0), wanted.run().words(0), "{ty} in {space}");
}

#[test]
fn every_operation_of_every_integer() {
    for space in ["storage, read_write", "workgroup"] {
        for (ty, suffix) in [("u32", "u"), ("i32", "i"), ("u64", "lu"), ("i64", "li")] {
            let n = |value: u32| format!("{value}{suffix}");
            let call = |name: &str, value: u32| format!("{name}(&a, {})", n(value));
            let steps = [
                (call("atomicAdd", 7), n(5)),
                (call("atomicSub", 2), n(12)),
                (call("atomicMax", 30), n(10)),
                (call("atomicMin", 21), n(30)),
                (call("atomicAnd", 20), n(21)),
                (call("atomicOr", 3), n(20)),
                (call("atomicXor", 1), n(23)),
                (call("atomicExchange", 9), n(22)),
            ];
            let steps: Vec<(&str, &str)> = steps.iter().map(|(step, old)| (&**step, &**old)).collect();
            check(space, ty, "5", &steps, &n(9));
        }
        check(
            space,
            "i32",
            "5",
            &[("atomicMin(&a, -7)", "5"), ("atomicMax(&a, -9)", "-7"), ("atomicAdd(&a, 2147483647)", "-7")],
            "2147483640",
        );
        check(space, "i64", "5", &[("atomicMin(&a, -7li)", "5li"), ("atomicMax(&a, -9li)", "-7li")], "-7li");
        check(
            space,
            "u32",
            "5",
            &[
                ("atomicCompareExchangeWeak(&a, 4u, 8u).old_value", "5u"),
                ("u32(atomicCompareExchangeWeak(&a, 5u, 8u).exchanged)", "1u"),
                ("u32(atomicCompareExchangeWeak(&a, 5u, 9u).exchanged)", "0u"),
            ],
            "8u",
        );
    }
    check(
        "storage, read_write",
        "f32",
        "1.5",
        &[("atomicAdd(&a, 2.0)", "1.5"), ("atomicSub(&a, 0.5)", "3.5"), ("atomicExchange(&a, 9.0)", "3.0")],
        "9.0",
    );
}

#[test]
fn nothing_is_lost_among_workgroups() {
    let rig = Rig::new(
        "struct S { a: atomic<u32>, b: atomic<u64>, c: atomic<f32>, most: atomic<i64> }
         @group(0) @binding(0) var<storage, read_write> s: S;
         @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
             atomicAdd(&s.a, 1u);
             atomicAdd(&s.b, 0x100000001lu);
             atomicAdd(&s.c, 1.0);
             atomicMax(&s.most, i64(id.x) - 5000li);
         }",
    );
    let rig = rig.buffer(&[0; 8]).groups(100, 1, 1).threads(4);
    let words = rig.run().words(0);
    assert_eq!(words[0], 6400);
    assert_eq!(words[2..4], [6400, 6400]);
    assert_eq!(f32::from_bits(words[4]), 6400.0);
    assert_eq!(words[6..8], [1399, 0]);
}

/// A single pass over blocks, each waiting for the one before it: workgroups must begin in order and see one another's stores.
#[test]
fn a_workgroup_may_wait_for_those_before_it() {
    let rig = Rig::new(
        "@group(0) @binding(0) var<storage, read_write> state: array<atomic<u32>>;
         @group(0) @binding(1) var<storage, read_write> next: atomic<u32>;
         var<workgroup> mine: u32;
         @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) lane: u32) {
             if lane == 0u { mine = atomicAdd(&next, 1u); }
             let block = workgroupUniformLoad(&mine);
             if lane == 0u {
                 var before = 0u;
                 if block > 0u {
                     loop {
                         before = atomicLoad(&state[block - 1u]);
                         if before != 0u { break; }
                     }
                 }
                 atomicStore(&state[block], before + block + 1u);
             }
         }",
    );
    let rig = rig.buffer(&[0; 50]).buffer(&[0]).groups(50, 1, 1).threads(2);
    let expected: Vec<u32> = (1..=50)
        .scan(0, |sum, k| {
            *sum += k;
            Some(*sum)
        })
        .collect();
    assert_eq!(rig.run().words(0), expected);
}
