// Conversions between all types, and the same bits as others.

@group(0) @binding(0) var<storage, read> edges: array<u32>;
@group(0) @binding(1) var<storage, read> floats: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn scalars(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i + 1u) * 16u > arrayLength(&out) { return; }
    let u = edges[i % arrayLength(&edges)];
    let a = i32(u);
    let f = floats[i % arrayLength(&floats)];
    let at = i * 16u;
    out[at] = bitcast<u32>(f32(u)); out[at + 1u] = bitcast<u32>(f32(a)); out[at + 2u] = u32(f); out[at + 3u] = bitcast<u32>(i32(f));
    out[at + 4u] = u32(bool(u)) + u32(bool(f)) * 2u + u32(bool(a)) * 4u;
    out[at + 5u] = bitcast<u32>(f32(u > 5u)); out[at + 6u] = bitcast<u32>(i32(a < 0)); out[at + 7u] = u32(a);
    out[at + 8u] = bitcast<u32>(bitcast<f32>(u & 0x7f7fffffu) * 1.0); out[at + 9u] = bitcast<u32>(bitcast<i32>(f));
    let v = vec3<i32>(vec3(f, f * 2.0, -f));
    out[at + 10u] = u32(v.x) ^ u32(v.y) ^ u32(v.z);
    out[at + 11u] = bitcast<u32>(vec2<f32>(vec2(a, -a)).y);
    let w = bitcast<vec2<u32>>(vec2(f, f + 1.0));
    out[at + 12u] = w.x ^ w.y;
    let m = mat2x2<f32>(vec2(f, 1.0), vec2(2.0, f));
    out[at + 13u] = bitcast<u32>((m * m)[1].x);
    out[at + 14u] = pack2x16snorm(vec2(f, -f)) ^ pack2x16unorm(vec2(f, 0.5)) ^ pack4x8snorm(vec4(f, 1.0, -1.0, 0.3));
    out[at + 15u] = pack4x8unorm(vec4(f, 1.0, -1.0, 0.7)) ^ bitcast<u32>(unpack2x16snorm(u).y) ^ bitcast<u32>(unpack4x8unorm(u).z);
}
