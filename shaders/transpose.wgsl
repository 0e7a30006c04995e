// The transpose of a matrix.
//
// Bindings: 0 `input`, array<f32>, rows x columns, read. 1 `output`, array<f32>, columns x rows, written whole. Both row by row.
// Scalars: `rows`, `columns`, u32, at least 1.
// Workgroup: 16 x 16, one tile at a time. Grid: any (columns / 16, rows / 16), rounded up; workgroups stride over the tiles.
// Promises: output[c * rows + r] = input[r * columns + c].

struct Params { rows: u32, columns: u32 }

var<immediate> params: Params;

@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;

const TILE: u32 = 16u;

// One column more than is used: the rows of a column then lie in different banks.
var<workgroup> tile: array<array<f32, TILE + 1u>, TILE>;

@compute @workgroup_size(TILE, TILE)
fn transpose(
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    for (var top = group.y * TILE; top < params.rows; top += groups.y * TILE) {
        for (var side = group.x * TILE; side < params.columns; side += groups.x * TILE) {
            if top + local.y < params.rows && side + local.x < params.columns {
                tile[local.y][local.x] = input[(top + local.y) * params.columns + side + local.x];
            }
            workgroupBarrier();
            if side + local.y < params.columns && top + local.x < params.rows {
                output[(side + local.y) * params.rows + top + local.x] = tile[local.x][local.y];
            }
            workgroupBarrier();
        }
    }
}
