// Keeps the device busy for a number of steps that the launch gives, with a result that needs all of them.
//
// Bindings: 0 `output`, array<u32>, written whole.
// Scalars: `steps`, u32.
// Workgroup: 64. Grid: any (n) in x; each invocation strides by the grid.
// Promises: output[i] is i + 1 after `steps` steps of x ^= x << 13; x ^= x >> 17; x ^= x << 5.

struct Params { steps: u32 }

var<immediate> params: Params;

@group(0) @binding(0) var<storage, read_write> output: array<u32>;

@compute @workgroup_size(64)
fn spin(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let n = arrayLength(&output);
    let stride = groups.x * 64u;
    for (var i = id.x; i < n; i += stride) {
        var x = i + 1u;
        for (var step = 0u; step < params.steps; step += 1u) {
            x ^= x << 13u;
            x ^= x >> 17u;
            x ^= x << 5u;
        }
        output[i] = x;
    }
}
