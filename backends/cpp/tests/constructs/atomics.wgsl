// Atomic operations on storage and workgroup memory; only what does not depend on their order is kept.

struct Counters { a: atomic<u32>, b: array<atomic<i32>, 8>, c: atomic<i32> }

@group(0) @binding(0) var<storage, read_write> counters: Counters;
@group(0) @binding(1) var<storage, read_write> list: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
var<workgroup> shared_counters: array<atomic<u32>, 8>;
var<workgroup> shared_signed: atomic<i32>;

@compute @workgroup_size(64)
fn all(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = id.x;
    let signed = i32(i) - 40;
    atomicAdd(&counters.a, i + 3u);
    atomicSub(&counters.c, signed);
    atomicMax(&counters.b[0], signed);
    atomicMin(&counters.b[1], signed);
    atomicAnd(&counters.b[2], -2);
    atomicOr(&counters.b[3], 1 << (i % 31u));
    atomicXor(&counters.b[4], signed);
    atomicAdd(&counters.b[5], -2147483647);
    atomicMax(&list[0], i);
    atomicMin(&list[1], i);
    atomicAdd(&list[2u + i % 4u], 1u);
    atomicAdd(&shared_counters[i % 8u], i);
    atomicMin(&shared_signed, -signed);
    workgroupBarrier();
    if lane == 0u {
        var sum = 0u;
        for (var k = 0u; k < 8u; k++) { sum = sum * 7u + atomicLoad(&shared_counters[k]); }
        atomicAdd(&list[8], sum);
        atomicAdd(&list[9], u32(atomicLoad(&shared_signed)));
        atomicStore(&list[10], 5u);
    }
    // One that swaps until it wins counts every invocation once.
    loop {
        let old = atomicLoad(&list[11]);
        let swap = atomicCompareExchangeWeak(&list[11], old, old + 2u);
        if swap.exchanged { break; }
    }
}

// What an operation gives back is what was there.
@compute @workgroup_size(1)
fn olds(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x > 0u { return; }
    atomicStore(&list[0], 10u);
    out[0] = atomicAdd(&list[0], 5u);
    out[1] = atomicSub(&list[0], 20u);
    out[2] = atomicMax(&list[0], 7u);
    out[3] = atomicMin(&list[0], 9u);
    out[4] = atomicAnd(&list[0], 0xfcu);
    out[5] = atomicOr(&list[0], 0x103u);
    out[6] = atomicXor(&list[0], 0x1ffu);
    out[7] = atomicExchange(&list[0], 42u);
    let missed = atomicCompareExchangeWeak(&list[0], 41u, 1u);
    out[8] = missed.old_value + select(0u, 1000u, missed.exchanged);
    out[9] = atomicLoad(&list[0]);
    atomicStore(&counters.c, -2147483647 - 1);
    out[10] = u32(atomicAdd(&counters.c, -1));
    out[11] = u32(atomicSub(&counters.c, -2147483647 - 1));
    out[12] = u32(atomicLoad(&counters.c));
}
