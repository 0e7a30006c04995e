// Sets every element of a buffer to one value.
//
// Bindings: 0 `output`, array<f32>, written whole.
// Scalars: `value`, f32.
// Workgroup: 256. Grid: any (n) in x; each invocation strides by the grid.
// Promises: output[i] = value, bit for bit.

struct Params { value: f32 }

var<immediate> params: Params;

@group(0) @binding(0) var<storage, read_write> output: array<f32>;

@compute @workgroup_size(256)
fn fill(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let n = arrayLength(&output);
    let stride = groups.x * 256u;
    for (var i = id.x; i < n; i += stride) {
        output[i] = params.value;
    }
}
