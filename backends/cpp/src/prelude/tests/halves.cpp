// Half precision: every bit pattern, the values between them, and operations on pairs and triples of what it reads.

using namespace wg;

static f16 half(const u64 bits) { return {u16(bits)}; }

int main() {
    const std::vector<u64> classes = read_words();
    for (u32 bits = 0; bits < 0x10000; ++bits) {
        give(half_value(u16(bits))), give(half_bits(half_value(u16(bits)))), give(quantize_to_f16(half_value(u16(bits))));
        // The midpoint above, and its neighbours in both wider types; of a NaN and of infinity too.
        const f64 middle = (f64(half_value(u16(bits))) + f64(half_value(u16(bits + 1)))) / 2;
        for (i32 side = -1; side <= 1; ++side) {
            give(half_bits(reread<f64>(reread<u64>(middle) + u64(i64(side)))));
            give(half_bits(reread<f32>(reread<u32>(f32(middle)) + u32(side))));
        }
        give(convert<i16>(half(bits))), give(convert<u16>(half(bits))), give(convert<i32>(half(bits)));
        give(convert<u32>(half(bits))), give(convert<i64>(half(bits))), give(convert<u64>(half(bits)));
        give(convert<bool>(half(bits))), give(convert<f64>(half(bits)));
        give(neg(half(bits))), give(abs(half(bits))), give(sqrt(half(bits))), give(round(half(bits)));
    }
    for (const u64 first : classes) {
        const f16 a = half(first);
        for (const u64 second : classes) {
            const f16 b = half(second);
            give(add(a, b)), give(sub(a, b)), give(mul(a, b)), give(div(a, b)), give(rem(a, b));
            give(min(a, b)), give(max(a, b)), give(eq(a, b)), give(lt(a, b)), give(ge(a, b));
            give(add(vec<f16, 3>{a, a, a}, b).z), give(dot(vec<f16, 2>{a, {}}, vec<f16, 2>{b, {}}));
            for (const u64 third : classes) give(fma(a, b, half(third)));
        }
    }
}
