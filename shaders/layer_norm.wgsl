// Layer normalisation of each row of a matrix.
//
// Bindings: 0 `input`, array<f32>, rows of `columns` elements, read. 1 `gamma`, 2 `beta`, array<f32>, `columns` elements, read.
// 3 `output`, array<f32>, shaped as input, written whole.
// Scalars: `columns`, u32, at least 1; `epsilon`, f32.
// Workgroup: 256, one row at a time. Grid: any (rows) in x; workgroups stride over the rows.
// Promises: output = (x - mean) / sqrt(variance + epsilon) * gamma + beta, the variance that of the row (divided by columns),
// found in a second pass over the deviations, within 1e-4 + 1e-4 of its value for inputs of ordinary size.

struct Params { columns: u32, epsilon: f32 }

var<immediate> params: Params;

@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read> gamma: array<f32>;
@group(0) @binding(2) var<storage, read> beta: array<f32>;
@group(0) @binding(3) var<storage, read_write> output: array<f32>;

var<workgroup> lanes: array<f32, 256>;

// The sum of `value` over the workgroup. Every invocation calls it.
fn total(lane: u32, value: f32) -> f32 {
    // The last reader of the call before is done.
    workgroupBarrier();
    lanes[lane] = value;
    for (var half = 128u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            lanes[lane] += lanes[lane + half];
        }
    }
    workgroupBarrier();
    return lanes[0];
}

@compute @workgroup_size(256)
fn layer_norm(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let columns = max(params.columns, 1u);
    let rows = arrayLength(&output) / columns;
    for (var row = group.x; row < rows; row += groups.x) {
        let start = row * columns;
        var sum = 0.0;
        for (var i = lane; i < columns; i += 256u) {
            sum += input[start + i];
        }
        let mean = total(lane, sum) / f32(columns);

        var squares = 0.0;
        for (var i = lane; i < columns; i += 256u) {
            let deviation = input[start + i] - mean;
            squares += deviation * deviation;
        }
        let scale = inverseSqrt(total(lane, squares) / f32(columns) + params.epsilon);

        for (var i = lane; i < columns; i += 256u) {
            output[start + i] = (input[start + i] - mean) * scale * gamma[i] + beta[i];
        }
    }
}
