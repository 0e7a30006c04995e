// Built-in functions of floats. Overloads for the scalars come first, since a template finds only what is declared before it.

#define WG_FLOAT_1(name) \
    WG_FUNCTION f32 name(const f32 a) { return WG_F32(name)(a); } \
    WG_FUNCTION f64 name(const f64 a) { return WG_F64(name)(a); }

WG_FLOAT_1(cosh)
WG_FLOAT_1(sinh)
WG_FLOAT_1(tanh)
WG_FLOAT_1(acos)
WG_FLOAT_1(asin)
WG_FLOAT_1(atan)
WG_FLOAT_1(asinh)
WG_FLOAT_1(acosh)
WG_FLOAT_1(atanh)
WG_FLOAT_1(ceil)
WG_FLOAT_1(floor)
WG_FLOAT_1(trunc)
WG_FLOAT_1(sqrt)

// These have a fast form in single precision.
#define WG_QUICK_1(name, form) \
    WG_FUNCTION f32 name(const f32 a) { return form(a); } \
    WG_FUNCTION f64 name(const f64 a) { return WG_F64(name)(a); }

WG_QUICK_1(cos, WG_COS)
WG_QUICK_1(sin, WG_SIN)
WG_QUICK_1(tan, WG_TAN)
WG_QUICK_1(exp, WG_EXP)
WG_QUICK_1(exp2, WG_EXP2)
WG_QUICK_1(log, WG_LOG)
WG_QUICK_1(log2, WG_LOG2)

WG_FUNCTION f32 pow(const f32 a, const f32 b) { return WG_POW(a, b); }
WG_FUNCTION f64 pow(const f64 a, const f64 b) { return WG_F64(pow)(a, b); }

WG_FUNCTION f32 atan2(const f32 y, const f32 x) { return WG_F32(atan2)(y, x); }
WG_FUNCTION f64 atan2(const f64 y, const f64 x) { return WG_F64(atan2)(y, x); }

// Halves go to the even neighbour.
WG_FUNCTION f32 round(const f32 a) { return WG_F32(rint)(a); }
WG_FUNCTION f64 round(const f64 a) { return WG_F64(rint)(a); }

WG_FUNCTION f32 inverse_sqrt(const f32 a) { return WG_RSQRT32(a); }
WG_FUNCTION f64 inverse_sqrt(const f64 a) { return WG_RSQRT64(a); }

WG_FUNCTION f32 fma(const f32 a, const f32 b, const f32 c) { return WG_F32(fma)(a, b, c); }
WG_FUNCTION f64 fma(const f64 a, const f64 b, const f64 c) { return WG_F64(fma)(a, b, c); }

WG_FUNCTION f32 ldexp(const f32 a, const i32 power) { return WG_F32(ldexp)(a, power); }
WG_FUNCTION f64 ldexp(const f64 a, const i32 power) { return WG_F64(ldexp)(a, power); }

template <typename T> WG_FUNCTION T radians(const T a) { return a * T(0.017453292519943295); }

template <typename T> WG_FUNCTION T degrees(const T a) { return a * T(57.29577951308232); }

template <typename T> WG_FUNCTION T fract(const T a) { return a - floor(a); }

template <typename T> WG_FUNCTION T saturate(const T a) { return clamp(a, T(0), T(1)); }

template <typename T> WG_FUNCTION T step(const T edge, const T x) { return edge <= x ? T(1) : T(0); }

template <typename T> WG_FUNCTION T mix(const T a, const T b, const T part) { return a * (T(1) - part) + b * part; }

template <typename T> WG_FUNCTION T smoothstep(const T low, const T high, const T x) {
    const T t = saturate((x - low) / (high - low));
    return t * t * (T(3) - T(2) * t);
}

// The fraction in 0.5 to 1 and the power of two. Of zero, infinity and NaN it is the value and 0.
WG_FUNCTION f32 split(const f32 a, i32& power) {
    int found = 0;
    const f32 part = WG_F32(frexp)(a, &found);
    const bool ends = WG_F32(fabs)(a) <= 3.40282347e+38f;
    power = ends ? found : 0;
    return ends ? part : a;
}
WG_FUNCTION f64 split(const f64 a, i32& power) {
    int found = 0;
    const f64 part = WG_F64(frexp)(a, &found);
    const bool ends = WG_F64(fabs)(a) <= 1.7976931348623157e+308;
    power = ends ? found : 0;
    return ends ? part : a;
}

// R is a struct of a fraction and a power.
template <typename R, typename T> WG_FUNCTION R frexp(const T a) {
    i32 power = 0;
    const T part = split(a, power);
    return R{part, power};
}

// R is a struct of a fraction and a whole part, both with the sign of the value.
template <typename R, typename T> WG_FUNCTION R modf(const T a) {
    const T whole = trunc(a);
    return R{sub(a, whole), whole};
}
