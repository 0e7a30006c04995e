// The inclusive prefix sum of a vector of any length, in three launches over blocks of 1,024 elements.
//
// 1. `scan_blocks`: 0 `input`, array<u32>, read; 1 `output`, as long as input, written whole; 2 `sums`, array<u32>, one element
//    per block (n / 1024, rounded up), written whole. Grid: any (blocks) in x; workgroups stride over the blocks.
// 2. `scan_sums`: 2 `sums`, read and written. Grid: (1).
// 3. `add_sums`: 1 `output`, read and written; 2 `sums`, read. Grid: any (blocks) in x.
//
// Scalars: none.
// Workgroup: 256.
// Promises: output[i] = input[0] + ... + input[i], wrapping at 2^32.

@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;

const LANES: u32 = 256u;
const EACH: u32 = 4u;
const BLOCK: u32 = LANES * EACH;

var<workgroup> lanes: array<u32, LANES>;

// The inclusive prefix sum of `value` over the lanes of the workgroup. Every invocation calls it; the total is in the last lane.
fn scan(lane: u32, value: u32) -> u32 {
    // The last reader of the call before is done.
    workgroupBarrier();
    lanes[lane] = value;
    var sum = value;
    for (var back = 1u; back < LANES; back *= 2u) {
        workgroupBarrier();
        if lane >= back {
            sum += lanes[lane - back];
        }
        workgroupBarrier();
        lanes[lane] = sum;
    }
    workgroupBarrier();
    return sum;
}

@compute @workgroup_size(LANES)
fn scan_blocks(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let n = min(arrayLength(&input), arrayLength(&output));
    let blocks = (n + BLOCK - 1u) / BLOCK;
    for (var block = group.x; block < blocks; block += groups.x) {
        let start = block * BLOCK + lane * EACH;
        var own: array<u32, EACH>;
        var sum = 0u;
        for (var i = 0u; i < EACH; i += 1u) {
            if start + i < n {
                sum += input[start + i];
            }
            own[i] = sum;
        }
        let before = scan(lane, sum) - sum;
        for (var i = 0u; i < EACH; i += 1u) {
            if start + i < n {
                output[start + i] = before + own[i];
            }
        }
        if lane == LANES - 1u {
            sums[block] = before + sum;
        }
    }
}

// One workgroup walks over all the sums and carries the total along.
@compute @workgroup_size(LANES)
fn scan_sums(@builtin(local_invocation_index) lane: u32) {
    let count = arrayLength(&sums);
    var carry = 0u;
    for (var start = 0u; start < count; start += LANES) {
        var value = 0u;
        if start + lane < count {
            value = sums[start + lane];
        }
        let sum = scan(lane, value);
        if start + lane < count {
            sums[start + lane] = carry + sum;
        }
        carry += lanes[LANES - 1u];
    }
}

@compute @workgroup_size(LANES)
fn add_sums(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let n = arrayLength(&output);
    let blocks = (n + BLOCK - 1u) / BLOCK;
    // Nothing comes before the first block.
    for (var block = group.x; block < blocks; block += groups.x) {
        if block > 0u {
            let before = sums[block - 1u];
            for (var i = block * BLOCK + lane; i < min((block + 1u) * BLOCK, n); i += LANES) {
                output[i] += before;
            }
        }
    }
}
