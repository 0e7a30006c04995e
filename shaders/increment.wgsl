// Adds one to every element: run twice it shows, so tests tell how often a launch ran.
//
// Bindings: 0 `values`, array<u32>, read and written.
// Scalars: none.
// Workgroup: 256. Grid: any (n) in x; each invocation strides by the grid.
// Promises: values[i] = values[i] + 1, wrapping at 2^32.

@group(0) @binding(0) var<storage, read_write> values: array<u32>;

@compute @workgroup_size(256)
fn increment(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let n = arrayLength(&values);
    let stride = groups.x * 256u;
    for (var i = id.x; i < n; i += stride) {
        values[i] += 1u;
    }
}
