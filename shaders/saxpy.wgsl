// Adds a multiple of one vector to another.
//
// Bindings: 0 `x`, array<f32>, read. 1 `y`, array<f32>, as long as x, read and written.
// Scalars: `a`, f32.
// Workgroup: 256. Grid: any (n) in x; each invocation strides by the grid.
// Promises: y[i] = a * x[i] + y[i], fused or not, so within one rounding of each other.

struct Params { a: f32 }

var<immediate> params: Params;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn saxpy(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let n = min(arrayLength(&x), arrayLength(&y));
    let stride = groups.x * 256u;
    for (var i = id.x; i < n; i += stride) {
        y[i] = params.a * x[i] + y[i];
    }
}
