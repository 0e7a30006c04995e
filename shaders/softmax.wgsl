// Softmax of each row of a matrix.
//
// Bindings: 0 `input`, array<f32>, rows of `columns` elements, read. 1 `output`, array<f32>, of the same shape, written whole.
// Scalars: `columns`, u32, at least 1.
// Workgroup: 256, one row at a time. Grid: any (rows) in x; workgroups stride over the rows.
// Promises: each row of output is exp(x - max) / sum(exp(x - max)), within 1e-6 + 2e-5 of its value for inputs within +-100;
// rows sum to 1. Inputs are finite.

struct Params { columns: u32 }

var<immediate> params: Params;

@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;

var<workgroup> lanes: array<f32, 256>;

@compute @workgroup_size(256)
fn softmax(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let columns = max(params.columns, 1u);
    let rows = arrayLength(&output) / columns;
    for (var row = group.x; row < rows; row += groups.x) {
        let start = row * columns;

        var highest = -3.4028234e38;
        for (var i = lane; i < columns; i += 256u) {
            highest = max(highest, input[start + i]);
        }
        lanes[lane] = highest;
        for (var half = 128u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if lane < half {
                lanes[lane] = max(lanes[lane], lanes[lane + half]);
            }
        }
        workgroupBarrier();
        highest = lanes[0];
        // Everyone has read lane 0 before it is used again.
        workgroupBarrier();

        var sum = 0.0;
        for (var i = lane; i < columns; i += 256u) {
            sum += exp(input[start + i] - highest);
        }
        lanes[lane] = sum;
        for (var half = 128u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if lane < half {
                lanes[lane] += lanes[lane + half];
            }
        }
        workgroupBarrier();
        sum = lanes[0];
        workgroupBarrier();

        for (var i = lane; i < columns; i += 256u) {
            output[start + i] = exp(input[start + i] - highest) / sum;
        }
    }
}
