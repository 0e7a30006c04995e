// Integer operators and builtins on every pair of edges: they wrap, and nothing is undefined.

@group(0) @binding(0) var<storage, read> edges: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

fn put(base: u32, k: u32, value: u32) { out[base + k] = value; }

@compute @workgroup_size(64)
fn pairs(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = arrayLength(&edges);
    let i = id.x;
    if i >= n * n || (i + 1u) * 40u > arrayLength(&out) { return; }
    let u = edges[i % n];
    let v = edges[i / n];
    let a = bitcast<i32>(u);
    let b = bitcast<i32>(v);
    let at = i * 40u;
    put(at, 0u, u + v); put(at, 1u, u - v); put(at, 2u, u * v); put(at, 3u, u / v); put(at, 4u, u % v);
    put(at, 5u, u << v); put(at, 6u, u >> v); put(at, 7u, u & v); put(at, 8u, u | v); put(at, 9u, u ^ v);
    put(at, 10u, bitcast<u32>(a + b)); put(at, 11u, bitcast<u32>(a - b)); put(at, 12u, bitcast<u32>(a * b));
    put(at, 13u, bitcast<u32>(a / b)); put(at, 14u, bitcast<u32>(a % b)); put(at, 15u, bitcast<u32>(a << v));
    put(at, 16u, bitcast<u32>(a >> v)); put(at, 17u, bitcast<u32>(a & b)); put(at, 18u, bitcast<u32>(a | ~b));
    put(at, 19u, bitcast<u32>(-a)); put(at, 20u, bitcast<u32>(abs(a))); put(at, 21u, ~u);
    put(at, 22u, select(0u, 1u, a < b) + select(0u, 2u, u < v) + select(0u, 4u, a >= b) + select(0u, 8u, u != v));
    put(at, 23u, bitcast<u32>(min(a, b))); put(at, 24u, max(u, v)); put(at, 25u, bitcast<u32>(clamp(a, min(b, 5), max(b, 5))));
    put(at, 26u, bitcast<u32>(sign(a))); put(at, 27u, countOneBits(u) + countLeadingZeros(v) * 100u + countTrailingZeros(u) * 10000u);
    put(at, 28u, reverseBits(u)); put(at, 29u, firstLeadingBit(u) ^ firstTrailingBit(v));
    put(at, 30u, bitcast<u32>(firstLeadingBit(a)));
    put(at, 31u, extractBits(u, v % 40u, (v / 7u) % 40u)); put(at, 32u, bitcast<u32>(extractBits(a, v % 40u, (v / 7u) % 40u)));
    put(at, 33u, insertBits(u, v, v % 40u, (v / 7u) % 40u));
    put(at, 34u, bitcast<u32>(dot4I8Packed(u, v))); put(at, 35u, dot4U8Packed(u, v));
    put(at, 36u, bitcast<u32>(dot(vec3(a, b, 1), vec3(b, b, a)))); put(at, 37u, dot(vec2(u, v), vec2(v, v)));
    put(at, 38u, pack4xI8(vec4(a, b, 1, -1)) ^ pack4xU8Clamp(vec4(u, v, 300u, 4u)));
    put(at, 39u, pack4xI8Clamp(vec4(a, b, 200, -200)) ^ u32(unpack4xI8(u).y) ^ unpack4xU8(v).w);
}

@compute @workgroup_size(64)
fn vectors(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = arrayLength(&edges);
    let i = id.x;
    if (i + 1u) * 40u > arrayLength(&out) { return; }
    let u = vec4(edges[i % n], edges[(i + 1u) % n], edges[(i + 5u) % n], edges[(i + 9u) % n]);
    let v = vec4(edges[(i / 3u) % n], edges[(i + 7u) % n], edges[(i + 2u) % n], edges[(i * 5u) % n]);
    let a = bitcast<vec4<i32>>(u);
    let b = bitcast<vec4<i32>>(v);
    var sum = u + v; sum = sum * 31u ^ (u - v); sum = sum * 31u ^ (u * v); sum = sum * 31u ^ (u / v); sum = sum * 31u ^ (u % v);
    sum = sum * 31u ^ (u << v); sum = sum * 31u ^ (u >> v); sum = sum * 31u ^ (u & v) ^ (u | v);
    sum = sum * 31u ^ bitcast<vec4<u32>>(a + b); sum = sum * 31u ^ bitcast<vec4<u32>>(a * b);
    sum = sum * 31u ^ bitcast<vec4<u32>>(a / b); sum = sum * 31u ^ bitcast<vec4<u32>>(a % b);
    sum = sum * 31u ^ bitcast<vec4<u32>>(a << v); sum = sum * 31u ^ bitcast<vec4<u32>>(a >> v);
    sum = sum * 31u ^ bitcast<vec4<u32>>(-a) ^ bitcast<vec4<u32>>(abs(b)) ^ ~u;
    sum = sum * 31u ^ select(u, v, a < b) ^ select(vec4(1u), vec4(2u), u >= v);
    sum = sum * 31u ^ vec4<u32>(min(a, b)) ^ max(u, v) ^ vec4<u32>(clamp(a, min(b, vec4(0)), max(b, vec4(0)))) ^ vec4<u32>(sign(b));
    sum = sum * 31u ^ countOneBits(u) ^ reverseBits(v) ^ firstLeadingBit(u) ^ vec4<u32>(firstTrailingBit(b));
    sum = sum * 31u ^ extractBits(u, 3u, 9u) ^ insertBits(u, v, 30u, 7u) ^ vec4<u32>(extractBits(a, 31u, 1u));
    sum = sum * 31u + u * 3u + 7u / v - 9u % v;
    let bools = (u < v) | (a == b);
    let others = !bools & vec4(true, false, true, true);
    if any(others) { sum.x += 1u; }
    if all(bools) { sum.y += 1u; }
    sum.z += select(0u, 1u, bools.x != others.w);
    for (var k = 0u; k < 4u; k++) { out[i * 40u + k] = sum[k]; }
}

@compute @workgroup_size(64)
fn assigned(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = arrayLength(&edges);
    if id.x >= arrayLength(&out) { return; }
    var x = edges[id.x % n];
    var y = bitcast<i32>(edges[(id.x + 3u) % n]);
    x += 5u; x *= x; x -= 9u; x /= 7u; x %= 1000u; x <<= 3u; x >>= 1u; x ^= 0x55u; x |= 1u; x &= 0xffffu; x++; x--;
    y += 5; y *= y; y -= 9; y /= -1; y %= 1000; y <<= 3u; y >>= 1u; y ^= 0x55; y |= 1; y &= 0xffff; y++; y--; y--;
    y = -2147483647 - 1 + y / 3 * 3 - (y - (y - 1)) - -y;
    let z = i32(x) * (i32(x) + y) - (y - (3 - y));
    out[id.x] = x + u32(y) * 3u + u32(z) + u32(y > 3 && z < 5 || x == 7u);
}
