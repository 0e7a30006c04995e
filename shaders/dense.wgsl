// A dense layer: y = x w + b, through a rectifier where asked.
//
// Bindings: 0 `x`, array<f32>, batch x inputs, read. 1 `w`, array<f32>, inputs x outputs, read. 2 `b`, array<f32>, outputs, read.
// 3 `y`, array<f32>, batch x outputs, written whole. All row by row.
// Scalars: `batch`, `inputs`, `outputs`, u32, at least 1; `relu`, u32: 0 for y, else max(y, 0).
// Workgroup: 16 x 16, one tile of y at a time. Grid: any (outputs / 16, batch / 16), rounded up; workgroups stride over the tiles.
// Promises: each product is summed in order of the inputs, so the error is below (inputs + 2) * 2^-23 * (sum |x w| + |b|).

struct Params { batch: u32, inputs: u32, outputs: u32, relu: u32 }

var<immediate> params: Params;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

const TILE: u32 = 16u;

var<workgroup> left: array<array<f32, TILE>, TILE>;
var<workgroup> right: array<array<f32, TILE>, TILE>;

@compute @workgroup_size(TILE, TILE)
fn dense(
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    for (var top = group.y * TILE; top < params.batch; top += groups.y * TILE) {
        for (var side = group.x * TILE; side < params.outputs; side += groups.x * TILE) {
            let row = top + local.y;
            let column = side + local.x;
            var sum = 0.0;
            for (var first = 0u; first < params.inputs; first += TILE) {
                // Beyond the edge a tile holds zeros, which add nothing.
                var value = 0.0;
                if row < params.batch && first + local.x < params.inputs {
                    value = x[row * params.inputs + first + local.x];
                }
                left[local.y][local.x] = value;
                value = 0.0;
                if first + local.y < params.inputs && column < params.outputs {
                    value = w[(first + local.y) * params.outputs + column];
                }
                right[local.y][local.x] = value;
                workgroupBarrier();
                for (var i = 0u; i < TILE; i += 1u) {
                    sum += left[local.y][i] * right[i][local.x];
                }
                workgroupBarrier();
            }
            if row < params.batch && column < params.outputs {
                let biased = sum + b[column];
                y[row * params.outputs + column] = select(biased, max(biased, 0.0), params.relu != 0u);
            }
        }
    }
}
