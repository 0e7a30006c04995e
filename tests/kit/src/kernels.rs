//! Small kernels for scenarios: each does one thing over words, with a grid-stride loop, so that any grid is right.

/// `b[i] += 1`.
pub const INC: &str = "
@group(0) @binding(0) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(64)
fn inc(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&b); i += groups.x * 64u) { b[i] = b[i] + 1u; }
}";

/// `o[i] = x[i] + y[i]`; bindings in order x, y, o.
pub const ADD: &str = "
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read> y: array<u32>;
@group(0) @binding(2) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(64)
fn add(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&o); i += groups.x * 64u) { o[i] = x[i] + y[i]; }
}";

/// `o[i] = 2 * a[i]`; bindings in order a, o.
pub const MUL2: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(64)
fn mul2(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&o); i += groups.x * 64u) { o[i] = 2u * a[i]; }
}";

/// `o[i] = a[i]`; bindings in order a, o.
pub const COPY: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(64)
fn copy_words(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&o); i += groups.x * 64u) { o[i] = a[i]; }
}";

/// `o[i] = value`; scalar: value (u32).
pub const FILL: &str = "
struct Scalars { value: u32 }
var<immediate> scalars: Scalars;
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(64)
fn fill_value(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&o); i += groups.x * 64u) { o[i] = scalars.value; }
}";

/// `o[i] = base + i`; scalar: base (u32).
pub const IOTA: &str = "
struct Scalars { base: u32 }
var<immediate> scalars: Scalars;
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(64)
fn iota(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&o); i += groups.x * 64u) { o[i] = scalars.base + i; }
}";

/// `y[i] += a * x[i]` over f32; bindings in order x, y; scalar: a (f32).
pub const AXPY: &str = "
struct Scalars { a: f32 }
var<immediate> scalars: Scalars;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn axpy(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&y); i += groups.x * 64u) { y[i] = y[i] + scalars.a * x[i]; }
}";

/// Changes `b[i]` by `rounds` steps of `v = v * 1664525 + 1013904223`: work that takes a while; scalar: rounds (u32).
pub const SPIN: &str = "
struct Scalars { rounds: u32 }
var<immediate> scalars: Scalars;
@group(0) @binding(0) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(64)
fn spin(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&b); i += groups.x * 64u) {
        var v = b[i];
        for (var round = 0u; round < scalars.rounds; round++) { v = v * 1664525u + 1013904223u; }
        b[i] = v;
    }
}";

/// Adds to `flag[0]` the words of `a` that are not `value`; bindings in order a, flag; scalar: value (u32).
pub const CHECK: &str = "
struct Scalars { value: u32 }
var<immediate> scalars: Scalars;
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> flag: array<atomic<u32>>;
@compute @workgroup_size(64)
fn check(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&a); i += groups.x * 64u) {
        if a[i] != scalars.value { atomicAdd(&flag[0], 1u); }
    }
}";

/// Counts the words of `a` by their low four bits into the 16 words of `bins`; bindings in order a, bins.
pub const HIST: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>, 16>;
@compute @workgroup_size(64)
fn hist(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&a); i += groups.x * 64u) { atomicAdd(&bins[a[i] & 15u], 1u); }
}";

/// Writes the three counts of an indirect launch, `(a[0], 1, 1)`; bindings in order a, counts.
pub const WRITE_COUNTS: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;
@compute @workgroup_size(1)
fn write_counts() {
    counts[0] = a[0];
    counts[1] = 1u;
    counts[2] = 1u;
}";

/// Adds 1 to `o[0]` for each workgroup that runs: how often, and how wide, launches ran.
pub const COUNT_GROUPS: &str = "
@group(0) @binding(0) var<storage, read_write> o: array<atomic<u32>>;
@compute @workgroup_size(1)
fn count_groups() { atomicAdd(&o[0], 1u); }";

/// `o[0] = sum of a`, by one invocation; bindings in order a, o.
pub const SUM: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(1)
fn sum() {
    var total = 0u;
    for (var i = 0u; i < arrayLength(&a); i++) { total += a[i]; }
    o[0] = total;
}";

/// `b[0] = 7`, and nothing else: a kernel that writes a part of what it is given.
pub const POKE: &str = "
@group(0) @binding(0) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(1)
fn poke() { b[0] = 7u; }";
