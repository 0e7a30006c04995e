// Adds two vectors element by element.
//
// Bindings: 0 `a`, 1 `b`, array<f32>, read. 2 `output`, array<f32>, as long as they are, written whole.
// Scalars: none.
// Workgroup: 256. Grid: any (n) in x; each invocation strides by the grid.
// Promises: output[i] = a[i] + b[i], the correctly rounded sum for normal numbers.

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> output: array<f32>;

@compute @workgroup_size(256)
fn add(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let n = arrayLength(&output);
    let stride = groups.x * 256u;
    for (var i = id.x; i < n; i += stride) {
        output[i] = a[i] + b[i];
    }
}
