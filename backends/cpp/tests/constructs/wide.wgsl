// 64-bit integers and floats.

@group(0) @binding(0) var<storage, read> edges: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u64>;
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u64>>;
@group(0) @binding(3) var<storage, read_write> doubles: array<f64>;
struct Wide { a: u32, b: i64, c: vec3<u64>, d: f64 }
@group(0) @binding(4) var<storage, read_write> structs: array<Wide>;

@compute @workgroup_size(64)
fn arithmetic(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = arrayLength(&edges);
    let i = id.x;
    let u = (u64(edges[i % n]) << 32u) | u64(edges[(i * 3u + 1u) % n]);
    let v = (u64(edges[(i / n) % n]) << 32u) | u64(edges[(i * 5u + 2u) % n]);
    let s = edges[(i * 7u) % n];
    let a = bitcast<i64>(u);
    let b = bitcast<i64>(v);
    if (i + 1u) * 20u <= arrayLength(&out) {
        let at = i * 20u;
        out[at] = u + v; out[at + 1u] = u * v; out[at + 2u] = u / v; out[at + 3u] = u % v; out[at + 4u] = u << s; out[at + 5u] = u >> s;
        out[at + 6u] = u64(a + b); out[at + 7u] = u64(a * b); out[at + 8u] = u64(a / b); out[at + 9u] = u64(a % b); out[at + 10u] = u64(a >> s);
        out[at + 11u] = u64(-a); out[at + 12u] = u64(abs(a)); out[at + 13u] = u64(min(a, b)) ^ max(u, v); out[at + 14u] = u64(sign(a));
        out[at + 15u] = u64(u32(u)) + u64(i32(b)) + u64(f32(i)) + u64(a < b); out[at + 16u] = (vec2(u, v) * vec2(v, u) + 1lu).y;
        out[at + 17u] = u64(a - b) ^ ~u; out[at + 18u] = clamp(u, min(v, 7lu), max(v, 7lu)); out[at + 19u] = u64(a << s);
    }
    atomicAdd(&counts[0], u);
    atomicMax(&counts[1], v);
    atomicMin(&counts[2], u);
    atomicOr(&counts[3], v);
    atomicXor(&counts[4], u);
    atomicAnd(&counts[5], v | 1lu);
    let x = f64(i) * 0.5lf + 1.0lf;
    if i < arrayLength(&doubles) { doubles[i] = x * x / 3.0lf - abs(-x) + sqrt(x) + min(x, 2.0lf) + floor(x) + fma(x, x, 1.0lf) + f64(f32(x)) + f64(i32(x)); }
    if i < arrayLength(&structs) { structs[i] = Wide(i, a, vec3(u, v, 1lu), x); }
}
