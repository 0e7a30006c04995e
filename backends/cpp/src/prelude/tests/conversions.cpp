// Conversions of floats and integers, of the bit patterns that it reads, and packing.

using namespace wg;

template <typename To, typename From> static void each(const From a) {
    give(convert<To>(a)), give(convert<To>(vec<From, 3>{From(1), From(0), a}).z);
}

template <typename From> static void all_of(const From a) {
    each<i16>(a), each<u16>(a), each<i32>(a), each<u32>(a), each<i64>(a), each<u64>(a), each<bool>(a);
    each<f32>(a), each<f64>(a), each<f16>(a);
}

int main() {
    const std::vector<u64> words = read_words();
    for (const u64 word : words) {
        all_of(reread<f32>(u32(word))), all_of(reread<f64>(word));
        all_of(i16(word)), all_of(u16(word)), all_of(i32(word)), all_of(u32(word)), all_of(i64(word)), all_of(u64(word));
        all_of(word % 2 == 1);
        give(bitcast<f32>(u32(word))), give(bitcast<i32>(vec<f32, 2>{0.0f, bitcast<f32>(u32(word))}).y);
    }
    for (const u64 word : words) {
        const f32 a = reread<f32>(u32(word)), b = reread<f32>(u32(word >> 32));
        give(pack4x8snorm({a, b, -a, 0.5f})), give(pack4x8unorm({a, b, -a, 0.5f}));
        give(pack2x16snorm({a, b})), give(pack2x16unorm({a, b})), give(pack2x16float({a, b}));
        const i32 c = i32(word), d = i32(word >> 32);
        give(pack4x_i8({c, d, c >> 8, d >> 24})), give(pack4x_i8_clamp({c, d, c >> 8, d >> 24}));
        give(pack4x_u8({u32(c), u32(d), 256, 255})), give(pack4x_u8_clamp({u32(c), u32(d), 256, 255}));
        give(dot4_i8_packed(u32(c), u32(d))), give(dot4_u8_packed(u32(c), u32(d)));
        const vec<f32, 4> e = unpack4x8snorm(u32(c)), f = unpack4x8unorm(u32(c));
        give(e.x), give(e.y), give(e.z), give(e.w), give(f.x), give(f.y), give(f.z), give(f.w);
        const vec<f32, 2> g = unpack2x16snorm(u32(c)), h = unpack2x16unorm(u32(c)), i = unpack2x16float(u32(c));
        give(g.x), give(g.y), give(h.x), give(h.y), give(i.x), give(i.y);
        const vec<i32, 4> j = unpack4x_i8(u32(c));
        const vec<u32, 4> k = unpack4x_u8(u32(c));
        give(j.x), give(j.y), give(j.z), give(j.w), give(k.x), give(k.y), give(k.z), give(k.w);
    }
}
