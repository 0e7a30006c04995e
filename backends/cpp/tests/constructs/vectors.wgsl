// Components: chosen by name and by number, read and written.

@group(0) @binding(0) var<storage, read> ints: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> matrix: mat4x3<f32>;

@compute @workgroup_size(32)
fn components(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= arrayLength(&out) { return; }
    let k = ints[i % arrayLength(&ints)] % 4u;
    var v = vec4(i, i + 1u, i + 2u, i + 3u);
    v[k] = 100u;
    v[(k + 1u) % 4u] += v[k] * 2u;
    v.y ^= 3u;
    let w = v.wzyx;
    let x = vec4(w.xy, v.zz).yxwz;
    let y = vec4(vec3(v.x, w.yz), 5u) + vec4(1u, vec2(2u, 3u), 4u) + vec4(vec2(v.xy), vec2(7u));
    var b = vec3(false, true, k == 2u);
    b[k % 3u] = !b[(k + 1u) % 3u];
    out[i] = x + y + vec4(k) + select(vec4(0u), vec4(9u), b.x) + vec4(u32(b.y), u32(b.z), vec4<u32>().x, vec2<u32>(3u)[k % 2u]);
    out[i][k] += v[3u - k];
    out[i].z = out[i].z + 1u;
    if i == 0u {
        matrix[k % 4u] = vec3(1.0, 2.0, 3.0);
        matrix[(k + 1u) % 4u][k % 3u] = 7.0;
        matrix[3].y = matrix[k % 4u].z;
    }
}
