// Stores of whole values leave the padding within and between them as it was.

struct Hole { a: vec3<f32>, @align(16) b: u32, c: vec2<u32> }
struct Nested { a: array<Hole, 2>, b: mat3x3<f32>, c: array<vec3<u32>, 3>, d: mat2x3<f32>, e: u32 }

@group(0) @binding(0) var<storage, read_write> holes: array<Hole>;
@group(0) @binding(1) var<storage, read_write> nested: Nested;
@group(0) @binding(2) var<storage, read_write> vectors: array<array<vec3<u32>, 3>>;
@group(0) @binding(3) var<storage, read_write> matrices: array<mat4x3<f32>>;
@group(0) @binding(4) var<storage, read> floats_from: array<Nested>;
var<workgroup> shared_nested: Nested;

fn hole(i: u32) -> Hole { return Hole(vec3(f32(i), 1.0, 2.0), i, vec2(i + 1u, i + 2u)); }

@compute @workgroup_size(4)
fn stores(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i < arrayLength(&holes) { holes[i] = hole(i); }
    if i < arrayLength(&vectors) { vectors[i] = array<vec3<u32>, 3>(vec3(i), vec3(1u, 2u, 3u), vec3(7u)); }
    if i < arrayLength(&matrices) {
        let m = mat4x3<f32>(vec3(f32(i)), vec3(1.0), vec3(2.0, 3.0, 4.0), vec3(5.0));
        if i % 2u == 0u { matrices[i] = m; } else { matrices[i][i % 4u] = m[2]; }
    }
    if i == 0u {
        nested = Nested(array<Hole, 2>(hole(5u), hole(6u)), mat3x3<f32>(vec3(1.0), vec3(2.0), vec3(3.0)),
            array<vec3<u32>, 3>(vec3(1u), vec3(2u), vec3(3u)), mat2x3<f32>(vec3(4.0), vec3(5.0)), 77u);
    }
}

@compute @workgroup_size(4)
fn copies(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    if lane == 0u { shared_nested = floats_from[1]; }
    workgroupBarrier();
    if id.x == 0u { nested = shared_nested; holes[1] = shared_nested.a[1]; holes[2] = nested.a[0]; }
}
