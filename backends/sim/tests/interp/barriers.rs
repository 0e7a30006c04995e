//! Workgroup memory and the barriers that order it.

use crate::rig::Rig;

#[test]
fn values_cross_a_barrier() {
    let rig = Rig::new(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
         var<workgroup> shared_: array<u32, 64>;
         @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) g: vec3<u32>) {
             let before = shared_[63u - i];
             workgroupBarrier();
             shared_[i] = i + g.x * 100u;
             workgroupBarrier();
             out[g.x * 64u + i] = shared_[63u - i] + before;
         }",
    );
    let got = rig.buffer(&[0; 192]).groups(3, 1, 1).threads(2).run().words(0);
    // Workgroup memory is zero when a workgroup begins, whatever the last one left.
    let expected: Vec<u32> = (0..3).flat_map(|g| (0..64).map(move |i| 63 - i + g * 100)).collect();
    assert_eq!(got, expected);
}

#[test]
fn a_barrier_in_a_loop_and_in_a_function() {
    let rig = Rig::new(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
         var<workgroup> tree: array<u32, 32>;
         fn halve(i: u32, width: u32) {
             if i < width { tree[i] += tree[i + width]; }
             workgroupBarrier();
         }
         @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {
             tree[i] = i;
             workgroupBarrier();
             for (var width = 16u; width > 0u; width /= 2u) { halve(i, width); }
             out[i] = tree[0] + i;
         }",
    );
    let expected: Vec<u32> = (0..32).map(|i| 496 + i).collect();
    assert_eq!(rig.buffer(&[0; 32]).run().words(0), expected);
}

#[test]
fn a_uniform_load_is_seen_by_all() {
    let rig = Rig::new(
        "@group(0) @binding(0) var<storage, read_write> out: array<vec2<u32>>;
         struct S { a: u32, b: vec2<u32> }
         var<workgroup> s: array<S, 2>;
         var<workgroup> n: atomic<u32>;
         @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
             atomicAdd(&n, 2u);
             if i == 5u { s[1].b = vec2(7u, 8u); }
             let b = workgroupUniformLoad(&s[1]).b;
             if i == 0u { s[1].b.x = 1u; }
             out[i] = vec2(b.x, workgroupUniformLoad(&n));
         }",
    );
    assert_eq!(rig.buffer(&[0; 16]).run().words(0), [7, 16].repeat(8));
}

#[test]
fn storage_is_seen_behind_its_barrier() {
    let rig = Rig::new(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(16) fn main(@builtin(local_invocation_index) i: u32) {
             out[i] = i;
             storageBarrier();
             let next = out[(i + 1u) % 16u];
             storageBarrier();
             out[i] = next;
         }",
    );
    let rig = rig.buffer(&[0; 16]).sanitized();
    assert_eq!(rig.try_run().unwrap().findings, []);
    assert_eq!(rig.words(0), (0..16).map(|i| (i + 1) % 16).collect::<Vec<_>>());
}

#[test]
fn workgroup_variables_of_every_kind() {
    let rig = Rig::new(
        "enable f16;
         struct S { m: mat2x3<f32>, h: f16, flag: bool, list: array<vec3<f32>, 3> }
         @group(0) @binding(0) var<storage, read_write> out: array<f32>;
         var<workgroup> s: array<S, 2>;
         @compute @workgroup_size(2) fn main(@builtin(local_invocation_index) i: u32) {
             var own = s[i];
             own.m[1][2] = f32(i) + 1.0;
             own.h = 0.5h;
             own.flag = i == 1u;
             own.list[i + 1u] = vec3(f32(i));
             s[i] = own;
             workgroupBarrier();
             let other = s[1u - i];
             out[i] = other.m[1].z + f32(other.h) + select(0.0, 100.0, other.flag) + other.list[2u - i].y * 10.0;
         }",
    );
    assert_eq!(rig.floats(&[0.0; 2]).run().read_floats(0), [2.0 + 0.5 + 100.0 + 10.0, 1.0 + 0.5]);
}
