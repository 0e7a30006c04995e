// Functions: arguments by value and by pointer, structs in and out, and variables of the module that callees use.

struct Pair { a: u32, b: vec3<f32> }
struct Settings { scale: u32, shift: vec2<i32> }

var<immediate> settings: Settings;
@group(0) @binding(0) var<storage, read> ints: array<u32>;
@group(1) @binding(3) var<storage, read_write> out: array<u32>;
@group(0) @binding(7) var<uniform> small: vec4<u32>;
var<private> calls: u32 = 3u;
var<private> memory: array<u32, 4> = array<u32, 4>(1u, 2u, 3u, 4u);
var<workgroup> shared_sum: array<u32, 32>;

fn bump(p: ptr<function, u32>, by: u32) { *p += by; calls += 1u; }
fn bump_private(p: ptr<private, u32>) -> u32 { *p = *p * 2u + 1u; return *p; }
fn fill(p: ptr<function, array<u32, 3>>, value: u32) { for (var i = 0u; i < 3u; i++) { (*p)[i] = value + i; } }
fn turn(pair: Pair) -> Pair { return Pair(u32(pair.b.z) + pair.a, pair.b.zxy * 2.0); }
fn change(p: ptr<function, Pair>) { (*p).b.y += 4.0; (*p).a = u32((*p).b.y); }
fn length() -> u32 { return arrayLength(&ints) + small.y; }
fn fetch(i: u32) -> u32 { return ints[i % length()] * settings.scale; }
fn share(i: u32, lane: u32) -> u32 {
    shared_sum[lane] = fetch(i);
    workgroupBarrier();
    return shared_sum[(lane + 1u) % 32u] + shared_sum[31u - lane];
}
fn give(i: u32, value: u32) { out[i] = value; }
fn nested(x: u32) -> u32 { return turn(Pair(x, vec3(1.0, f32(x), 3.0))).a; }

@compute @workgroup_size(32)
fn calls_of_all_kinds(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = id.x;
    var x = fetch(i);
    bump(&x, 5u);
    bump(&x, x);
    var list = array<u32, 3>();
    fill(&list, x);
    var pair = turn(Pair(list[i % 3u], vec3(f32(i), 2.0, 3.0)));
    change(&pair);
    let others = share(i, lane);
    let last = bump_private(&calls) + bump_private(&memory[1]);
    if i < arrayLength(&out) {
        give(i, x + list[0] * 3u + pair.a * 5u + u32(pair.b.x) * 7u + others * 11u + last + nested(i) + memory[i % 4u]
            + u32(settings.shift.x - settings.shift.y) + length());
    }
}

struct Given {
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(global_invocation_id) global: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
}

@compute @workgroup_size(4, 2, 3)
fn told(given: Given) {
    let i = given.index + 24u * (given.group.x + given.groups.x * (given.group.y + given.groups.y * given.group.z));
    if i < arrayLength(&out) {
        out[i] = given.local.x + given.local.y * 10u + given.local.z * 100u + given.global.x * 1000u
            + given.global.y * 10000u + given.global.z * 100000u + given.groups.x + given.groups.y * 3u;
    }
}
