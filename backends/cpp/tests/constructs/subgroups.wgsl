// Subgroup operations, in full subgroups and in one that is not full.

@group(0) @binding(0) var<storage, read> ints: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

fn mixed(sum: u32, value: u32) -> u32 { return (sum ^ value) * 16777619u; }
fn mixed4(sum: u32, value: vec4<u32>) -> u32 { return mixed(mixed(mixed(mixed(sum, value.x), value.y), value.z), value.w); }

fn exchange(x: u32, lane: u32) -> u32 {
    var sum = 2166136261u;
    sum = mixed(sum, subgroupShuffleXor(x, 1u));
    sum = mixed(sum, subgroupBroadcast(x, 3u));
    sum = mixed(sum, subgroupBroadcastFirst(x + 1u));
    sum = mixed(sum, subgroupShuffle(x, lane ^ 5u));
    sum = mixed(sum, quadBroadcast(x, 2u));
    sum = mixed(sum, quadSwapX(x));
    sum = mixed(sum, quadSwapY(x));
    sum = mixed(sum, quadSwapDiagonal(x));
    let up = subgroupShuffleUp(x, 2u);
    let down = subgroupShuffleDown(x, 2u);
    if lane >= 2u { sum = mixed(sum, up); }
    if lane + 2u < 16u { sum = mixed(sum, down); }
    let v = subgroupShuffleXor(vec3<f32>(f32(x), 2.0, -1.0), 2u);
    sum = mixed(sum, u32(v.x) + u32(v.y));
    return sum;
}

fn join(x: u32, lane: u32) -> u32 {
    var sum = 2166136261u;
    sum = mixed4(sum, subgroupBallot(x % 3u == 0u));
    sum = mixed4(sum, subgroupBallot());
    sum = mixed(sum, select(0u, 1u, subgroupAll(x < 1000000u)) + select(0u, 2u, subgroupAny(x == 4u)));
    sum = mixed(sum, subgroupAdd(x));
    sum = mixed(sum, subgroupMul(x | 1u));
    sum = mixed(sum, subgroupMin(x));
    sum = mixed(sum, subgroupMax(x));
    sum = mixed(sum, subgroupAnd(x | 6u));
    sum = mixed(sum, subgroupOr(x));
    sum = mixed(sum, subgroupXor(x));
    sum = mixed(sum, subgroupInclusiveAdd(x));
    sum = mixed(sum, subgroupExclusiveAdd(x));
    sum = mixed(sum, subgroupInclusiveMul(x | 1u));
    sum = mixed(sum, subgroupExclusiveMul(x | 1u));
    sum = mixed(sum, u32(subgroupAdd(i32(x) - 5)) + u32(subgroupMin(i32(x) - 50)) + u32(subgroupMax(-i32(x))));
    let f = subgroupMax(vec2<f32>(f32(x % 16u), -f32(lane)));
    sum = mixed(sum, u32(f.x) + u32(-f.y));
    let s = subgroupInclusiveAdd(vec3<i32>(i32(lane), -1, 2));
    sum = mixed(sum, u32(s.x + s.y * 3 + s.z * 5));
    return mixed(sum, u32(subgroupExclusiveAdd(f32(x % 8u))));
}

@compute @workgroup_size(64)
fn full(
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) size: u32, @builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) subgroups: u32,
) {
    let x = ints[id.x % arrayLength(&ints)];
    let all = exchange(x, lane) + join(x, lane) * 3u + size + subgroup * 5u + subgroups * 7u;
    subgroupBarrier();
    if id.x < arrayLength(&out) { out[id.x] = all; }
}

@compute @workgroup_size(44)
fn partial(@builtin(global_invocation_id) id: vec3<u32>, @builtin(subgroup_invocation_id) lane: u32) {
    let x = ints[id.x % arrayLength(&ints)];
    let all = join(x, lane);
    if id.x < arrayLength(&out) { out[id.x] = all; }
}
