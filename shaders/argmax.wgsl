// The column of the greatest element of each row of a matrix.
//
// Bindings: 0 `input`, array<f32>, rows of `columns` elements, read. 1 `output`, array<u32>, one element per row, written whole.
// Scalars: `columns`, u32, at least 1.
// Workgroup: 256, one row at a time. Grid: any (rows) in x; workgroups stride over the rows.
// Promises: output[r] is the least column that holds the greatest element of row r. Inputs hold no NaN.

struct Params { columns: u32 }

var<immediate> params: Params;

@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;

// No column has this number: the lane saw no element.
const NONE: u32 = 0xffffffffu;

var<workgroup> values: array<f32, 256>;
var<workgroup> indices: array<u32, 256>;

@compute @workgroup_size(256)
fn argmax(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let columns = max(params.columns, 1u);
    let rows = min(arrayLength(&input) / columns, arrayLength(&output));
    for (var row = group.x; row < rows; row += groups.x) {
        var best = 0.0;
        var index = NONE;
        for (var i = lane; i < columns; i += 256u) {
            let value = input[row * columns + i];
            if index == NONE || value > best {
                best = value;
                index = i;
            }
        }
        values[lane] = best;
        indices[lane] = index;
        for (var half = 128u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if lane < half {
                let value = values[lane + half];
                let other = indices[lane + half];
                // Lanes without an element come last: a lower lane has one if a higher lane has.
                let earlier = value == values[lane] && other < indices[lane];
                if other != NONE && (value > values[lane] || earlier) {
                    values[lane] = value;
                    indices[lane] = other;
                }
            }
        }
        if lane == 0u {
            output[row] = indices[0];
        }
        // Every lane has read its neighbours' before the next row takes their place.
        workgroupBarrier();
    }
}
