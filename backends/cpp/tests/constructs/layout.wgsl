// Memory as WGSL lays it out: every member is read from its place, and written to its own.

struct Inner { a: vec3<f32>, b: f32, c: vec3<u32> }
struct Wide {
    a: u32,
    @align(32) b: vec2<f32>,
    @size(40) c: vec3<f32>,
    d: mat2x2<f32>, e: mat2x3<f32>, f: mat2x4<f32>,
    g: mat3x2<f32>, h: mat3x3<f32>, i: mat3x4<f32>,
    j: mat4x2<f32>, k: mat4x3<f32>, l: mat4x4<f32>,
    m: array<vec3<f32>, 3>, n: array<vec2<u32>, 2>, o: array<Inner, 2>, p: array<array<vec3<u32>, 2>, 2>,
    q: Inner, r: i32,
}
struct Uniform { a: vec4<u32>, b: array<vec4<f32>, 3>, c: mat3x3<f32>, d: vec3<f32>, e: u32 }
struct Tail { head: vec2<u32>, rest: array<vec3<f32>> }
struct Structs { count: u32, rest: array<Inner> }

@group(0) @binding(0) var<storage, read> floats_wide: array<Wide>;
@group(0) @binding(1) var<uniform> floats_uniform: Uniform;
@group(0) @binding(2) var<storage, read_write> tail: Tail;
@group(0) @binding(3) var<storage, read_write> floats_structs: Structs;
@group(0) @binding(4) var<storage, read_write> floats_vectors: array<vec3<f32>>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;
@group(0) @binding(6) var<storage, read> floats_pairs: array<vec2<f32>>;
@group(0) @binding(7) var<storage, read> floats_matrices: array<mat3x3<f32>>;

@compute @workgroup_size(1)
fn reads(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x > 0u { return; }
    let w = floats_wide[1];
    var at = 0u;
    out[at] = bitcast<f32>(w.a); at++;
    out[at] = w.b.x; at++; out[at] = w.b.y; at++;
    for (var k = 0u; k < 3u; k++) { out[at] = w.c[k]; at++; }
    for (var c = 0u; c < 2u; c++) {
        for (var r = 0u; r < 2u; r++) { out[at] = w.d[c][r]; at++; }
        for (var r = 0u; r < 3u; r++) { out[at] = w.e[c][r]; at++; }
        for (var r = 0u; r < 4u; r++) { out[at] = floats_wide[1].f[c][r]; at++; }
    }
    for (var c = 0u; c < 3u; c++) {
        for (var r = 0u; r < 2u; r++) { out[at] = w.g[c][r]; at++; }
        for (var r = 0u; r < 3u; r++) { out[at] = floats_wide[1].h[c][r]; at++; }
        for (var r = 0u; r < 4u; r++) { out[at] = w.i[c][r]; at++; }
    }
    for (var c = 0u; c < 4u; c++) {
        for (var r = 0u; r < 2u; r++) { out[at] = w.j[c][r]; at++; }
        for (var r = 0u; r < 3u; r++) { out[at] = w.k[c][r]; at++; }
        for (var r = 0u; r < 4u; r++) { out[at] = w.l[c][r]; at++; }
    }
    for (var k = 0u; k < 3u; k++) { let v = floats_wide[1].m[k]; out[at] = v.x + v.z; at++; }
    for (var k = 0u; k < 2u; k++) {
        out[at] = bitcast<f32>(w.n[k].y); at++;
        out[at] = w.o[k].b; at++;
        out[at] = bitcast<f32>(floats_wide[1].o[k].c.z); at++;
        for (var r = 0u; r < 2u; r++) { out[at] = bitcast<f32>(w.p[k][r].y); at++; }
    }
    out[at] = w.q.a.z; at++; out[at] = w.q.b; at++; out[at] = bitcast<f32>(w.r); at++;
    let u = floats_uniform;
    out[at] = bitcast<f32>(u.a.w); at++; out[at] = floats_uniform.b[2].z; at++; out[at] = u.c[1].z + u.c[2].x; at++;
    out[at] = u.d.z; at++; out[at] = bitcast<f32>(floats_uniform.e); at++;
    out[at] = f32(arrayLength(&tail.rest)); at++; out[at] = f32(arrayLength(&floats_structs.rest)); at++;
    out[at] = tail.rest[2].z; at++; out[at] = floats_structs.rest[1].b; at++;
    out[at] = f32(arrayLength(&floats_vectors)); at++; out[at] = floats_vectors[3].y; at++;
    out[at] = floats_pairs[5].y; at++; out[at] = floats_matrices[1][2].y; at++;
}

@compute @workgroup_size(8)
fn writes(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i < arrayLength(&tail.rest) {
        tail.rest[i] = vec3(f32(i), 2.0, 3.0);
        tail.rest[i].y += 10.0;
    }
    if i < arrayLength(&floats_structs.rest) {
        floats_structs.rest[i].c[i % 3u] = i + 7u;
        floats_structs.rest[i].a = floats_structs.rest[i].a.zxy;
    }
    if i < arrayLength(&floats_vectors) {
        floats_vectors[i] += vec3(1.0);
        floats_vectors[i].z = 5.0;
    }
    if i == 0u { tail.head = vec2(arrayLength(&tail.rest), 9u); }
}
