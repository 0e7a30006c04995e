//! Kernels that only the waist's suite needs; the others are the kit's own.

/// Appends `value` to `log`, whose first word is how many there are: an order that can be read. Not atomic on purpose: two
/// that overlap lose one.
pub(super) const PUSH: &str = "
struct Scalars { value: u32 }
var<immediate> scalars: Scalars;
@group(0) @binding(0) var<storage, read_write> log: array<u32>;
@compute @workgroup_size(1)
fn push() {
    let n = log[0];
    log[n + 1u] = scalars.value;
    log[0] = n + 1u;
}";

/// Writes all that it is given to `y`: lengths, scalars of three alignments, and the last word of `x`.
pub(super) const MANY: &str = "
struct Scalars { a: u32, b: vec2<u32>, c: f32 }
var<immediate> scalars: Scalars;
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(1) @binding(3) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1)
fn many() {
    y[0] = arrayLength(&x);
    y[1] = arrayLength(&y);
    y[2] = scalars.a;
    y[3] = scalars.b.x;
    y[4] = scalars.b.y;
    y[5] = bitcast<u32>(scalars.c);
    y[6] = x[arrayLength(&x) - 1u];
}";

/// Each invocation of a grid of 3 by 2 by 2 workgroups of 2 by 2 by 1 adds 1 to its own word of `o`.
pub(super) const PLACES: &str = "
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(2, 2, 1)
fn places(@builtin(global_invocation_id) id: vec3<u32>) {
    let at = id.x + 6u * (id.y + 4u * id.z);
    o[at] = o[at] + 1u;
}";
