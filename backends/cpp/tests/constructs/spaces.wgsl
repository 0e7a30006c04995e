// Memory that others watch, and every space that a pointer can lead to.

@group(0) @binding(0) @coherent var<storage, read_write> watched: array<u32>;
@group(0) @binding(1) @volatile var<storage, read_write> seen: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
@group(0) @binding(3) var<uniform> table: array<vec4<u32>, 4>;
var<immediate> n: u32;
var<private> scratch: array<vec3<u32>, 3>;

@compute @workgroup_size(16)
fn watch(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= arrayLength(&watched) || i >= arrayLength(&seen) || i >= arrayLength(&out) { return; }
    watched[i] = i * 3u + n;
    seen[i] = vec2(watched[i], 4u);
    seen[i].y += 2u;
    let p = &scratch[i % 3u];
    (*p).y = table[i % 4u][(i / 4u) % 4u];
    *p = (*p).zyx;
    let q = &out[i];
    *q = seen[i].x + seen[i].y + scratch[i % 3u].y;
}
