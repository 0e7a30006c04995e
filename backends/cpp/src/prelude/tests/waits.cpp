// Invocations that wait for one another, in workgroups of SIZE. What they find is given word by word.

using namespace wg;

static u64* results;
static u32 stride;

static void put_words(const u32 place, const u32 k, const u64 word) { results[place * stride + k] = word; }

static u32 hash(const u32 k) { return k * 2654435761u ^ k >> 3; }

// One subgroup operation after the other, on values of several types and sizes.
template <u32 X, u32 Y, u32 Z> static void body(void* const*) {
    const u32 index = local_index<X, Y, Z>();
    const vec<u32, 3> group = workgroup_id(), groups = num_workgroups();
    const u32 place = ((group.z * groups.y + group.y) * groups.x + group.x) * X * Y * Z + index;
    u32 k = 0;
    const auto give_word = [&](const u64 word) { put_words(place, k++, word); };
    const vec<u32, 3> global = global_id<X, Y, Z>();
    give_word(global.x | u64(global.y) << 20 | u64(global.z) << 40);
    give_word(subgroup_invocation_id<X, Y, Z>() | u64(subgroup_id<X, Y, Z>()) << 20 | u64(num_subgroups<X, Y, Z>()) << 40);
    // All see what all wrote before the barrier, round after round.
    WG_SHARED arr<u32, X * Y * Z> words;
    zero_shared<X, Y, Z>(words);
    give_word(words[X * Y * Z - 1 - index]);
    barrier();
    for (u32 round = 0; round < 3; ++round) {
        words[index] = hash(index + round);
        barrier();
        give_word(words[(index + 7 * round + 1) % (X * Y * Z)]);
        barrier();
    }
    atomic_add(words[0], index);
    barrier();
    give_word(words[0]);
    const u32 own = hash(place), n = hash(own) % (WG_SUBGROUP_SIZE + 3);
    const vec<u32, 4> bits = subgroup_ballot<X, Y, Z>(own % 3 == 0);
    give_word(bits.x | u64(bits.y) << 32);
    give_word(subgroup_all<X, Y, Z>(index + 2 > subgroup_id<X, Y, Z>()) | subgroup_any<X, Y, Z>(own % 16 == 0) << 1);
    give_word(subgroup_add<X, Y, Z>(own));
    give_word(subgroup_mul<X, Y, Z>(own | 1u));
    give_word(u32(subgroup_min<X, Y, Z>(i32(own))));
    give_word(subgroup_max<X, Y, Z>(u64(own) << 7));
    give_word(subgroup_and<X, Y, Z>(own | 0xffff0000u));
    give_word(subgroup_or<X, Y, Z>(own & 0x11111111u));
    give_word(subgroup_xor<X, Y, Z>(vec<u32, 3>{0, own, own}).z);
    give_word(subgroup_inclusive_add<X, Y, Z>(own));
    give_word(subgroup_exclusive_add<X, Y, Z>(vec<u32, 2>{own, own + 1}).y);
    give_word(subgroup_inclusive_mul<X, Y, Z>(own | 1u));
    give_word(subgroup_exclusive_mul<X, Y, Z>(own | 1u));
    give_word(u64(subgroup_add<X, Y, Z>(f32(own % 64))));
    give_word(subgroup_broadcast_first<X, Y, Z>(own));
    give_word(subgroup_broadcast<X, Y, Z>(own, 5u));
    give_word(subgroup_shuffle<X, Y, Z>(u64(own) << 20, n));
    give_word(subgroup_shuffle_up<X, Y, Z>(u16(own), n % 4));
    give_word(subgroup_shuffle_down<X, Y, Z>(vec<u32, 4>{0, 0, 0, own}, n % 4).w);
    give_word(subgroup_shuffle_xor<X, Y, Z>(own, n));
    give_word(quad_broadcast<X, Y, Z>(own, 3u));
    give_word(quad_swap_x<X, Y, Z>(own));
    give_word(quad_swap_y<X, Y, Z>(own));
    give_word(u64(quad_swap_diagonal<X, Y, Z>(own % 2 == 0)));
    subgroup_barrier();
}

template <u32 X, u32 Y, u32 Z> static void run() {
    const u32 groups[3] = {2, 1, 2}, size[3] = {X, Y, Z};
    stride = 35;
    std::vector<u64> memory(4 * X * Y * Z * stride);
    results = memory.data();
    ::wg_host_run(groups, size, true, body<X, Y, Z>, nullptr);
    for (const u64 word : memory) give(word);
}

int main() { run<64, 1, 1>(), run<5, 3, 3>(), run<1, 1, 1>(); }
