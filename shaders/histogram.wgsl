// Counts how often each value occurs.
//
// Bindings: 0 `input`, array<u32>, read. 1 `counts`, array<u32>, at least `bins` elements, read and written.
// Scalars: `bins`, u32.
// Workgroup: 256. Grid: any (n) in x; each invocation strides by the grid.
// Promises: counts[v] grows by the number of elements equal to v, for v below `bins`; other elements count nowhere. The counts
// are not cleared first.

struct Params { bins: u32 }

var<immediate> params: Params;

@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<atomic<u32>>;

@compute @workgroup_size(256)
fn histogram(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let n = arrayLength(&input);
    let bins = min(params.bins, arrayLength(&counts));
    let stride = groups.x * 256u;
    for (var i = id.x; i < n; i += stride) {
        let value = input[i];
        if value < bins {
            atomicAdd(&counts[value], 1u);
        }
    }
}
