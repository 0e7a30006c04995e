// Workgroup memory: zeroed before it is read, exchanged at barriers, and of every size.

@group(0) @binding(0) var<storage, read> ints: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
var<workgroup> scratch: array<u32, 64>;
var<workgroup> flag: bool;
var<workgroup> many: array<vec3<u32>, 5>;
var<workgroup> huge: array<u32, 13000>;
var<workgroup> chosen: u32;

@compute @workgroup_size(64)
fn zeroed(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = scratch[63u - lane] + many[lane % 5u].z + select(0u, 100u, flag);
    workgroupBarrier();
    scratch[lane] = lane + 1u;
    many[lane % 5u].z = 9u;
    flag = true;
    workgroupBarrier();
    if id.x < arrayLength(&out) { out[id.x] = first * 1000u + scratch[lane ^ 1u] + many[4].z; }
}

@compute @workgroup_size(64)
fn reduces(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    scratch[lane] = ints[(group.x * 64u + lane) % arrayLength(&ints)];
    for (var step = 32u; step > 0u; step /= 2u) {
        workgroupBarrier();
        if lane < step { scratch[lane] += scratch[lane + step]; }
    }
    workgroupBarrier();
    if lane == 0u && group.x < arrayLength(&out) { out[group.x] = scratch[0]; }
}

@compute @workgroup_size(64)
fn uniformly(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    if lane == 17u { chosen = ints[id.x % arrayLength(&ints)] % 5u + 1u; }
    let rounds = workgroupUniformLoad(&chosen);
    var sum = 0u;
    for (var k = 0u; k < rounds; k++) {
        scratch[lane] = sum + lane;
        workgroupBarrier();
        sum += scratch[(lane + k) % 64u];
        storageBarrier();
    }
    if id.x < arrayLength(&out) { out[id.x] = sum; }
}

// More than code can declare: the launch asks for it.
@compute @workgroup_size(64)
fn large(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    var sum = 0u;
    for (var k = lane; k < 13000u; k += 64u) { sum += huge[k]; huge[k] = k * 3u; }
    workgroupBarrier();
    for (var k = 0u; k < 13000u; k += 517u) { sum += huge[k]; }
    if id.x < arrayLength(&out) { out[id.x] = sum; }
}
