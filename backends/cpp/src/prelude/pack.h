// Small numbers packed into a u32, the first lowest, and back; products of packed bytes.

// floor(0.5 + value * scale) as if the product were not rounded: `rest` is what rounding took from it.
WG_FUNCTION u32 whole(const f32 value, const f32 scale) {
    const f32 product = value * scale;
    const f32 rest = WG_F32(fma)(value, scale, -product);
    const f32 below = WG_F32(floor)(product);
    const f32 part = product - below;
    const bool up = part > 0.5f || (part == 0.5f && rest >= 0.0f);
    return u32(i32(below) + (up ? 1 : 0));
}

WG_FUNCTION u32 join4(const u32 a, const u32 b, const u32 c, const u32 d) {
    return (a & 255u) | (b & 255u) << 8 | (c & 255u) << 16 | d << 24;
}

WG_FUNCTION u32 join2(const u32 a, const u32 b) { return (a & 65535u) | b << 16; }

WG_FUNCTION i32 signed8(const u32 a) { return i8(u8(a)); }

WG_FUNCTION i32 signed16(const u32 a) { return i16(u16(a)); }

WG_FUNCTION u32 pack4x8snorm(const vec<f32, 4> a) {
    return join4(whole(clamp(a.x, -1.0f, 1.0f), 127.0f), whole(clamp(a.y, -1.0f, 1.0f), 127.0f),
                 whole(clamp(a.z, -1.0f, 1.0f), 127.0f), whole(clamp(a.w, -1.0f, 1.0f), 127.0f));
}

WG_FUNCTION u32 pack4x8unorm(const vec<f32, 4> a) {
    return join4(whole(clamp(a.x, 0.0f, 1.0f), 255.0f), whole(clamp(a.y, 0.0f, 1.0f), 255.0f),
                 whole(clamp(a.z, 0.0f, 1.0f), 255.0f), whole(clamp(a.w, 0.0f, 1.0f), 255.0f));
}

WG_FUNCTION u32 pack2x16snorm(const vec<f32, 2> a) {
    return join2(whole(clamp(a.x, -1.0f, 1.0f), 32767.0f), whole(clamp(a.y, -1.0f, 1.0f), 32767.0f));
}

WG_FUNCTION u32 pack2x16unorm(const vec<f32, 2> a) {
    return join2(whole(clamp(a.x, 0.0f, 1.0f), 65535.0f), whole(clamp(a.y, 0.0f, 1.0f), 65535.0f));
}

WG_FUNCTION u32 pack2x16float(const vec<f32, 2> a) { return join2(half_bits(a.x), half_bits(a.y)); }

WG_FUNCTION u32 pack4x_i8(const vec<i32, 4> a) { return join4(u32(a.x), u32(a.y), u32(a.z), u32(a.w)); }

WG_FUNCTION u32 pack4x_u8(const vec<u32, 4> a) { return join4(a.x, a.y, a.z, a.w); }

WG_FUNCTION u32 pack4x_i8_clamp(const vec<i32, 4> a) {
    return join4(u32(clamp(a.x, -128, 127)), u32(clamp(a.y, -128, 127)), u32(clamp(a.z, -128, 127)),
                 u32(clamp(a.w, -128, 127)));
}

WG_FUNCTION u32 pack4x_u8_clamp(const vec<u32, 4> a) {
    return join4(min(a.x, 255u), min(a.y, 255u), min(a.z, 255u), min(a.w, 255u));
}

WG_FUNCTION vec<i32, 4> unpack4x_i8(const u32 a) { return {signed8(a), signed8(a >> 8), signed8(a >> 16), signed8(a >> 24)}; }

WG_FUNCTION vec<u32, 4> unpack4x_u8(const u32 a) { return {a & 255u, a >> 8 & 255u, a >> 16 & 255u, a >> 24}; }

WG_FUNCTION vec<f32, 4> unpack4x8snorm(const u32 a) {
    const vec<i32, 4> v = unpack4x_i8(a);
    return {max(f32(v.x) / 127.0f, -1.0f), max(f32(v.y) / 127.0f, -1.0f), max(f32(v.z) / 127.0f, -1.0f),
            max(f32(v.w) / 127.0f, -1.0f)};
}

WG_FUNCTION vec<f32, 4> unpack4x8unorm(const u32 a) {
    const vec<u32, 4> v = unpack4x_u8(a);
    return {f32(v.x) / 255.0f, f32(v.y) / 255.0f, f32(v.z) / 255.0f, f32(v.w) / 255.0f};
}

WG_FUNCTION vec<f32, 2> unpack2x16snorm(const u32 a) {
    return {max(f32(signed16(a)) / 32767.0f, -1.0f), max(f32(signed16(a >> 16)) / 32767.0f, -1.0f)};
}

WG_FUNCTION vec<f32, 2> unpack2x16unorm(const u32 a) { return {f32(a & 65535u) / 65535.0f, f32(a >> 16) / 65535.0f}; }

WG_FUNCTION vec<f32, 2> unpack2x16float(const u32 a) { return {half_value(u16(a)), half_value(u16(a >> 16))}; }

// For where no instruction does it.
WG_FUNCTION i32 byte_products(const u32 a, const u32 b) {
    return signed8(a) * signed8(b) + signed8(a >> 8) * signed8(b >> 8) + signed8(a >> 16) * signed8(b >> 16) +
           signed8(a >> 24) * signed8(b >> 24);
}

WG_FUNCTION u32 unsigned_byte_products(const u32 a, const u32 b) {
    return (a & 255u) * (b & 255u) + (a >> 8 & 255u) * (b >> 8 & 255u) + (a >> 16 & 255u) * (b >> 16 & 255u) +
           (a >> 24) * (b >> 24);
}

WG_FUNCTION i32 dot4_i8_packed(const u32 a, const u32 b) { return WG_DOT4I8(a, b); }

WG_FUNCTION u32 dot4_u8_packed(const u32 a, const u32 b) { return WG_DOT4U8(a, b); }
