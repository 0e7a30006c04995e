// Every operation of integers on pairs of the values that it reads.

using namespace wg;
static const u32 PLACES[] = {0, 1, 7, 8, 15, 16, 31, 32, 33, 63, 64, ~0u};
template <typename T> static void check(const std::vector<u64>& edges) {
    for (const u64 first : edges) {
        const T a = T(first);
        give(neg(a)), give(abs(a)), give(sign(a)), give(bit_not(a));
        give(count_leading_zeros(a)), give(count_trailing_zeros(a)), give(count_one_bits(a)), give(reverse_bits(a));
        give(first_trailing_bit(a)), give(first_leading_bit(a));
        for (const u32 place : PLACES) {
            give(shl(a, place)), give(shr(a, place)), give(shr(vec<T, 2>{T(0), a}, vec<u32, 2>{0, place}).y);
            for (const u32 count : PLACES) {
                give(extract_bits(a, place, count)), give(insert_bits(a, T(0x6b), place, count));
                give(insert_bits(vec<T, 3>{a, a, a}, vec<T, 3>{a, a, T(0x6b)}, place, count).z);
            }
        }
        for (const u64 second : edges) {
            const T b = T(second);
            give(add(a, b)), give(sub(a, b)), give(mul(a, b)), give(div(a, b)), give(rem(a, b));
            give(bit_and(a, b)), give(bit_or(a, b)), give(bit_xor(a, b)), give(min(a, b)), give(max(a, b));
            give(eq(a, b)), give(ne(a, b)), give(lt(a, b)), give(le(a, b)), give(gt(a, b)), give(ge(a, b));
            give(mul(vec<T, 4>{b, b, b, a}, b).w), give(rem(a, vec<T, 3>{a, b, b}).y);
            give(dot(vec<T, 3>{a, b, a}, vec<T, 3>{b, b, a})), give(clamp(a, b, T(5))), give(u8(any(lt(vec<T, 2>{a, b}, vec<T, 2>{b, a}))));
        }
    }
}
int main() {
    const std::vector<u64> edges = read_words();
    check<i16>(edges), check<u16>(edges), check<i32>(edges), check<u32>(edges), check<i64>(edges), check<u64>(edges);
}
