// 16-bit integers, which C++ would promote.
enable wgpu_int16;

struct Short { a: i16, b: vec3<u16>, c: u16 }
@group(0) @binding(0) var<storage, read> edges: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u16>;
@group(0) @binding(2) var<storage, read_write> structs: array<Short>;

@compute @workgroup_size(64)
fn arithmetic(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = arrayLength(&edges);
    let i = id.x;
    let u = u16(edges[i % n]);
    let v = u16(edges[(i / n) % n]);
    let s = edges[(i * 7u) % n] % 16u;
    let a = i16(u);
    let b = i16(v);
    if (i + 1u) * 16u <= arrayLength(&out) {
        let at = i * 16u;
        out[at] = u + v; out[at + 1u] = u * v; out[at + 2u] = u - v; out[at + 3u] = u / v; out[at + 4u] = u % v; out[at + 5u] = u << s; out[at + 6u] = u >> s;
        out[at + 7u] = u16(a + b); out[at + 8u] = u16(a * b); out[at + 9u] = u16(a / b); out[at + 10u] = u16(a % b); out[at + 11u] = u16(a >> s) ^ u16(a << s);
        out[at + 12u] = u16(-a); out[at + 13u] = u16(abs(a)) ^ u16(min(a, b)) ^ max(u, v); out[at + 14u] = ~u ^ (u & v) ^ (u | v) ^ u16(a < b) ^ u16(u < v);
        out[at + 15u] = (vec2(u, v) * vec2(v, u) + vec2(u)).y ^ u16(f32(a)) ^ u16(i32(b));
    }
    if i < arrayLength(&structs) { structs[i] = Short(a, vec3(u, v, 5), v); }
}
