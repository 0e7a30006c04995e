// Half precision, by its bits. Arithmetic is done in f32 and rounded once, which is exact for + - * / and roots, since f32 has
// more than twice the digits.

struct f16 { u16 bits; };

WG_FUNCTION f32 wide(const f16 a) { return half_value(a.bits); }

WG_FUNCTION f16 narrow(const f32 a) { return {half_bits(a)}; }

template <u32 N> WG_FUNCTION vec<f32, N> wide(const vec<f16, N> a) {
    vec<f32, N> v{};
    v.x = wide(a.x);
    v.y = wide(a.y);
    if constexpr (N > 2) v.z = wide(a.z);
    if constexpr (N > 3) v.w = wide(a.w);
    return v;
}

template <> struct rounding<f16> {
    static WG_MEMBER f16 of(const f32 a) { return narrow(a); }
    static WG_MEMBER vec<f16, 2> of(const vec<f32, 2> a) { return {narrow(a.x), narrow(a.y)}; }
    static WG_MEMBER vec<f16, 3> of(const vec<f32, 3> a) { return {narrow(a.x), narrow(a.y), narrow(a.z)}; }
    static WG_MEMBER vec<f16, 4> of(const vec<f32, 4> a) {
        return {narrow(a.x), narrow(a.y), narrow(a.z), narrow(a.w)};
    }
};

// Integers pass through f32: those that it cannot hold are far above the range.
template <> struct into<f16> {
    template <typename From> static WG_MEMBER f16 of(const From a) { return narrow(f32(a)); }
    static WG_MEMBER f16 of(const f64 a) { return {half_bits(a)}; }
    static WG_MEMBER f16 of(const f16 a) { return a; }
};

template <typename To> WG_FUNCTION To convert(const f16 a) {
    if constexpr (is_same<To, f16> || is_same<To, bool> || is_float<To>) {
        return into<To>::of(wide(a));
    } else {
        // What both types have: f16 ends at 65504, and below the end of i16 its values are 16 apart.
        constexpr f32 high = is_same<To, i16> ? 32752.0f : 65504.0f;
        constexpr f32 low = is_same<To, i16> ? -32768.0f : is_signed<To> ? -65504.0f : 0.0f;
        return To(clamp(wide(a), low, high));
    }
}

#define WG_HALF_1(name) \
    WG_FUNCTION f16 name(const f16 a) { return narrow(name(wide(a))); }

#define WG_HALF_2(name) \
    WG_FUNCTION f16 name(const f16 a, const f16 b) { return narrow(name(wide(a), wide(b))); }

#define WG_HALF_3(name) \
    WG_FUNCTION f16 name(const f16 a, const f16 b, const f16 c) { return narrow(name(wide(a), wide(b), wide(c))); }

#define WG_HALF_TEST(name) \
    WG_FUNCTION bool name(const f16 a, const f16 b) { return name(wide(a), wide(b)); }

WG_HALF_2(add)
WG_HALF_2(sub)
WG_HALF_2(mul)
WG_HALF_2(div)
WG_HALF_2(rem)
WG_HALF_TEST(eq)
WG_HALF_TEST(ne)
WG_HALF_TEST(lt)
WG_HALF_TEST(le)
WG_HALF_TEST(gt)
WG_HALF_TEST(ge)

WG_FUNCTION f16 neg(const f16 a) { return {u16(a.bits ^ 0x8000u)}; }

WG_FUNCTION f16 abs(const f16 a) { return {u16(a.bits & 0x7fffu)}; }

WG_FUNCTION f16 fma(const f16 a, const f16 b, const f16 c) { return {half_fma(a.bits, b.bits, c.bits)}; }

WG_FUNCTION f16 ldexp(const f16 a, const i32 power) { return narrow(ldexp(wide(a), power)); }

WG_FUNCTION f16 split(const f16 a, i32& power) { return narrow(split(wide(a), power)); }

WG_HALF_2(min)
WG_HALF_2(max)
WG_HALF_3(clamp)
WG_HALF_1(saturate)
WG_HALF_1(cos)
WG_HALF_1(cosh)
WG_HALF_1(sin)
WG_HALF_1(sinh)
WG_HALF_1(tan)
WG_HALF_1(tanh)
WG_HALF_1(acos)
WG_HALF_1(asin)
WG_HALF_1(atan)
WG_HALF_2(atan2)
WG_HALF_1(asinh)
WG_HALF_1(acosh)
WG_HALF_1(atanh)
WG_HALF_1(radians)
WG_HALF_1(degrees)
WG_HALF_1(ceil)
WG_HALF_1(floor)
WG_HALF_1(round)
WG_HALF_1(fract)
WG_HALF_1(trunc)
WG_HALF_1(exp)
WG_HALF_1(exp2)
WG_HALF_1(log)
WG_HALF_1(log2)
WG_HALF_2(pow)
WG_HALF_1(sign)
WG_HALF_3(mix)
WG_HALF_2(step)
WG_HALF_3(smoothstep)
WG_HALF_1(sqrt)
WG_HALF_1(inverse_sqrt)
