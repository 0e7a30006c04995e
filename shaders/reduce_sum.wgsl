// Sums a vector, in passes: each workgroup leaves one partial sum.
//
// Bindings: 0 `input`, array<f32>, read. 1 `partials`, array<f32>, one element per workgroup, written whole.
// Scalars: none.
// Workgroup: 256. Grid: (g) in x, g the length of `partials`. A second pass with grid (1) over the partials gives the sum.
// Promises: partials[w] sums the elements that workgroup w strides over. The order is fixed by n and g, so the same launch
// gives the same bits on one device; the error of both passes together is below (n / 256 / g + g / 256 + 20) * 2^-24 * sum |x|.

@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> partials: array<f32>;

var<workgroup> sums: array<f32, 256>;

@compute @workgroup_size(256)
fn reduce_sum(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let n = arrayLength(&input);
    let stride = groups.x * 256u;
    var sum = 0.0;
    for (var i = id.x; i < n; i += stride) {
        sum += input[i];
    }
    sums[lane] = sum;
    for (var half = 128u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            sums[lane] += sums[lane + half];
        }
    }
    if lane == 0u {
        partials[group.x] = sums[0];
    }
}
