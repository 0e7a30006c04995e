// The product of two matrices.
//
// Bindings: 0 `a`, array<f32>, m x k, read. 1 `b`, array<f32>, k x n, read. 2 `c`, array<f32>, m x n, written whole. All row by row.
// Scalars: `m`, `n`, `k`, u32, at least 1.
// Workgroup: 16 x 16, one tile of c at a time. Grid: any (n / 16, m / 16), rounded up; workgroups stride over the tiles.
// Promises: each product is summed in order of k, so the error is below (k + 1) * 2^-23 * sum |a b|.

struct Params { m: u32, n: u32, k: u32 }

var<immediate> params: Params;

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;

const TILE: u32 = 16u;

var<workgroup> left: array<array<f32, TILE>, TILE>;
var<workgroup> right: array<array<f32, TILE>, TILE>;

@compute @workgroup_size(TILE, TILE)
fn matmul(
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    for (var top = group.y * TILE; top < params.m; top += groups.y * TILE) {
        for (var side = group.x * TILE; side < params.n; side += groups.x * TILE) {
            let row = top + local.y;
            let column = side + local.x;
            var sum = 0.0;
            for (var first = 0u; first < params.k; first += TILE) {
                // Beyond the edge a tile holds zeros, which add nothing.
                var value = 0.0;
                if row < params.m && first + local.x < params.k {
                    value = a[row * params.k + first + local.x];
                }
                left[local.y][local.x] = value;
                value = 0.0;
                if first + local.y < params.k && column < params.n {
                    value = b[(first + local.y) * params.n + column];
                }
                right[local.y][local.x] = value;
                workgroupBarrier();
                for (var i = 0u; i < TILE; i += 1u) {
                    sum += left[local.y][i] * right[i][local.x];
                }
                workgroupBarrier();
            }
            if row < params.m && column < params.n {
                c[row * params.n + column] = sum;
            }
        }
    }
}
