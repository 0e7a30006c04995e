// 16-bit floats: each operation rounded once.
enable f16;

struct Halves { a: f16, b: vec3<f16>, c: vec2<f16>, d: mat2x3<f16>, e: array<f16, 3> }
@group(0) @binding(0) var<storage, read> floats: array<f32>;
@group(0) @binding(1) var<storage, read_write> halves: array<f16>;
@group(0) @binding(2) var<storage, read_write> structs: array<Halves>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;
var<workgroup> shared_halves: array<f16, 32>;
const TABLE = array<f16, 5>(0.5h, -1.0h, 65504.0h, 6e-8h, 2.0h);

@compute @workgroup_size(32)
fn arithmetic(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = id.x;
    let x = f16(clamp(floats[i % arrayLength(&floats)], -100.0, 100.0));
    let y = f16(clamp(floats[(i * 5u + 1u) % arrayLength(&floats)], -100.0, 100.0)) + 0.5h;
    shared_halves[lane] = x * y;
    workgroupBarrier();
    let v = vec3<f16>(x, y, x + y) * 2.0h + vec3<f16>(1.0h);
    var sum = x + y - x * y + x / y + fma(x, y, 1.0h) + abs(x) + min(x, y) + max(x, y) + floor(x) + ceil(y) + round(x) + trunc(y) + sign(x);
    sum += TABLE[i % 5u] + v[i % 3u] + shared_halves[31u - lane] + select(1.0h, 2.0h, x < y) + clamp(x, -1.0h, 1.0h) + f16(i % 7u) + -x + dot(v, v) * 0.01h;
    if i < arrayLength(&halves) { halves[i] = sum; }
    if i < arrayLength(&structs) { structs[i] = Halves(x, v, v.xy, mat2x3<f16>(v, v.zyx), array<f16, 3>(x, y, 3.0h)); }
    if i < arrayLength(&out) {
        out[i] = u32(i32(clamp(x, -9.0h, 9.0h))) + u32(x < y) + bitcast<u32>(f32(sum)) + u32(x == y) + pack2x16float(vec2<f32>(f32(x), 0.1));
    }
}
