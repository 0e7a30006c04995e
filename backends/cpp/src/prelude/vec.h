// Vectors, and operators and functions that take them component by component.

template <typename T, u32 N> struct vec;

template <typename T> struct alignas(2 * sizeof(T)) vec<T, 2> {
    T x, y;
    WG_MEMBER T& operator[](const u32 k) { return k == 0 ? x : y; }
    WG_MEMBER T operator[](const u32 k) const { return k == 0 ? x : y; }
};

// Twelve bytes, so that a scalar may follow within its sixteen.
template <typename T> struct vec<T, 3> {
    T x, y, z;
    WG_MEMBER T& operator[](const u32 k) { return k == 0 ? x : k == 1 ? y : z; }
    WG_MEMBER T operator[](const u32 k) const { return k == 0 ? x : k == 1 ? y : z; }
};

template <typename T> struct alignas(4 * sizeof(T)) vec<T, 4> {
    T x, y, z, w;
    WG_MEMBER T& operator[](const u32 k) { return k == 0 ? x : k == 1 ? y : k == 2 ? z : w; }
    WG_MEMBER T operator[](const u32 k) const { return k == 0 ? x : k == 1 ? y : k == 2 ? z : w; }
};

template <typename T, u32 N> WG_FUNCTION vec<T, N> splat(const itself<T> a) {
    if constexpr (N == 2) return {a, a};
    else if constexpr (N == 3) return {a, a, a};
    else return {a, a, a, a};
}

template <u32 K, typename T, u32 N> WG_FUNCTION T component(const vec<T, N> a) {
    if constexpr (K == 0) return a.x;
    else if constexpr (K == 1) return a.y;
    else if constexpr (K == 2) return a.z;
    else return a.w;
}

template <u32 A, u32 B, typename T, u32 N> WG_FUNCTION vec<T, 2> swizzle(const vec<T, N> a) {
    return {component<A>(a), component<B>(a)};
}
template <u32 A, u32 B, u32 C, typename T, u32 N> WG_FUNCTION vec<T, 3> swizzle(const vec<T, N> a) {
    return {component<A>(a), component<B>(a), component<C>(a)};
}
template <u32 A, u32 B, u32 C, u32 D, typename T, u32 N> WG_FUNCTION vec<T, 4> swizzle(const vec<T, N> a) {
    return {component<A>(a), component<B>(a), component<C>(a), component<D>(a)};
}

// A vector of parts that are scalars or vectors.
template <typename T, u32 N> WG_FUNCTION vec<T, N> vec_of(const vec<T, N> a) { return a; }
template <typename T, u32 N> WG_FUNCTION vec<T, 2> vec_of(const itself<T> a, const itself<T> b) { return {a, b}; }
template <typename T, u32 N> WG_FUNCTION vec<T, 3> vec_of(const vec<T, 2> a, const itself<T> b) { return {a.x, a.y, b}; }
template <typename T, u32 N> WG_FUNCTION vec<T, 3> vec_of(const itself<T> a, const vec<T, 2> b) { return {a, b.x, b.y}; }
template <typename T, u32 N> WG_FUNCTION vec<T, 3> vec_of(const itself<T> a, const itself<T> b, const itself<T> c) {
    return {a, b, c};
}
template <typename T, u32 N> WG_FUNCTION vec<T, 4> vec_of(const vec<T, 3> a, const itself<T> b) {
    return {a.x, a.y, a.z, b};
}
template <typename T, u32 N> WG_FUNCTION vec<T, 4> vec_of(const itself<T> a, const vec<T, 3> b) {
    return {a, b.x, b.y, b.z};
}
template <typename T, u32 N> WG_FUNCTION vec<T, 4> vec_of(const vec<T, 2> a, const vec<T, 2> b) {
    return {a.x, a.y, b.x, b.y};
}
template <typename T, u32 N> WG_FUNCTION vec<T, 4> vec_of(const vec<T, 2> a, const itself<T> b, const itself<T> c) {
    return {a.x, a.y, b, c};
}
template <typename T, u32 N> WG_FUNCTION vec<T, 4> vec_of(const itself<T> a, const vec<T, 2> b, const itself<T> c) {
    return {a, b.x, b.y, c};
}
template <typename T, u32 N> WG_FUNCTION vec<T, 4> vec_of(const itself<T> a, const itself<T> b, const vec<T, 2> c) {
    return {a, b, c.x, c.y};
}
template <typename T, u32 N>
WG_FUNCTION vec<T, 4> vec_of(const itself<T> a, const itself<T> b, const itself<T> c, const itself<T> d) {
    return {a, b, c, d};
}

// One overload for each width: that is what compiles fastest.
#define WG_EACH_1(name, R) \
    template <typename T> WG_FUNCTION vec<R, 2> name(const vec<T, 2> a) { return {name(a.x), name(a.y)}; } \
    template <typename T> WG_FUNCTION vec<R, 3> name(const vec<T, 3> a) { return {name(a.x), name(a.y), name(a.z)}; } \
    template <typename T> WG_FUNCTION vec<R, 4> name(const vec<T, 4> a) { \
        return {name(a.x), name(a.y), name(a.z), name(a.w)}; \
    }

#define WG_EACH_2(name, R, A, B) \
    template <typename T> WG_FUNCTION vec<R, 2> name(const vec<A, 2> a, const vec<B, 2> b) { \
        return {name(a.x, b.x), name(a.y, b.y)}; \
    } \
    template <typename T> WG_FUNCTION vec<R, 3> name(const vec<A, 3> a, const vec<B, 3> b) { \
        return {name(a.x, b.x), name(a.y, b.y), name(a.z, b.z)}; \
    } \
    template <typename T> WG_FUNCTION vec<R, 4> name(const vec<A, 4> a, const vec<B, 4> b) { \
        return {name(a.x, b.x), name(a.y, b.y), name(a.z, b.z), name(a.w, b.w)}; \
    }

#define WG_EACH_3(name, C) \
    template <typename T> WG_FUNCTION vec<T, 2> name(const vec<T, 2> a, const vec<T, 2> b, const vec<C, 2> c) { \
        return {name(a.x, b.x, c.x), name(a.y, b.y, c.y)}; \
    } \
    template <typename T> WG_FUNCTION vec<T, 3> name(const vec<T, 3> a, const vec<T, 3> b, const vec<C, 3> c) { \
        return {name(a.x, b.x, c.x), name(a.y, b.y, c.y), name(a.z, b.z, c.z)}; \
    } \
    template <typename T> WG_FUNCTION vec<T, 4> name(const vec<T, 4> a, const vec<T, 4> b, const vec<C, 4> c) { \
        return {name(a.x, b.x, c.x), name(a.y, b.y, c.y), name(a.z, b.z, c.z), name(a.w, b.w, c.w)}; \
    }

// Of vectors, and of a vector and a scalar.
#define WG_EACH_MIXED(name) \
    WG_EACH_2(name, T, T, T) \
    template <typename T, u32 N> WG_FUNCTION vec<T, N> name(const vec<T, N> a, const itself<T> b) { \
        return name(a, splat<T, N>(b)); \
    } \
    template <typename T, u32 N> WG_FUNCTION vec<T, N> name(const itself<T> a, const vec<T, N> b) { \
        return name(splat<T, N>(a), b); \
    }

WG_EACH_MIXED(add)
WG_EACH_MIXED(sub)
WG_EACH_MIXED(mul)
WG_EACH_MIXED(div)
WG_EACH_MIXED(rem)
WG_EACH_1(neg, T)
WG_EACH_2(bit_and, T, T, T)
WG_EACH_2(bit_or, T, T, T)
WG_EACH_2(bit_xor, T, T, T)
WG_EACH_1(bit_not, T)
WG_EACH_2(shl, T, T, u32)
WG_EACH_2(shr, T, T, u32)
WG_EACH_2(eq, bool, T, T)
WG_EACH_2(ne, bool, T, T)
WG_EACH_2(lt, bool, T, T)
WG_EACH_2(le, bool, T, T)
WG_EACH_2(gt, bool, T, T)
WG_EACH_2(ge, bool, T, T)
WG_EACH_1(logical_not, T)
WG_EACH_2(logical_and, T, T, T)
WG_EACH_2(logical_or, T, T, T)
WG_EACH_3(select, bool)

template <u32 N> WG_FUNCTION bool all(const vec<bool, N> a) {
    if constexpr (N == 2) return a.x & a.y;
    else if constexpr (N == 3) return a.x & a.y & a.z;
    else return a.x & a.y & a.z & a.w;
}

template <u32 N> WG_FUNCTION bool any(const vec<bool, N> a) {
    if constexpr (N == 2) return a.x | a.y;
    else if constexpr (N == 3) return a.x | a.y | a.z;
    else return a.x | a.y | a.z | a.w;
}

WG_EACH_1(abs, T)
WG_EACH_2(min, T, T, T)
WG_EACH_2(max, T, T, T)
WG_EACH_3(clamp, T)
WG_EACH_1(saturate, T)
WG_EACH_1(cos, T)
WG_EACH_1(cosh, T)
WG_EACH_1(sin, T)
WG_EACH_1(sinh, T)
WG_EACH_1(tan, T)
WG_EACH_1(tanh, T)
WG_EACH_1(acos, T)
WG_EACH_1(asin, T)
WG_EACH_1(atan, T)
WG_EACH_2(atan2, T, T, T)
WG_EACH_1(asinh, T)
WG_EACH_1(acosh, T)
WG_EACH_1(atanh, T)
WG_EACH_1(radians, T)
WG_EACH_1(degrees, T)
WG_EACH_1(ceil, T)
WG_EACH_1(floor, T)
WG_EACH_1(round, T)
WG_EACH_1(fract, T)
WG_EACH_1(trunc, T)
WG_EACH_2(ldexp, T, T, i32)
WG_EACH_1(exp, T)
WG_EACH_1(exp2, T)
WG_EACH_1(log, T)
WG_EACH_1(log2, T)
WG_EACH_2(pow, T, T, T)
WG_EACH_1(sign, T)
WG_EACH_3(fma, T)
WG_EACH_3(mix, T)
WG_EACH_2(step, T, T, T)
WG_EACH_3(smoothstep, T)
WG_EACH_1(sqrt, T)
WG_EACH_1(inverse_sqrt, T)
WG_EACH_1(quantize_to_f16, T)
WG_EACH_1(count_trailing_zeros, T)
WG_EACH_1(count_leading_zeros, T)
WG_EACH_1(count_one_bits, T)
WG_EACH_1(reverse_bits, T)
WG_EACH_1(first_trailing_bit, T)
WG_EACH_1(first_leading_bit, T)

template <typename T, u32 N>
WG_FUNCTION vec<T, N> mix(const vec<T, N> a, const vec<T, N> b, const itself<T> part) {
    return mix(a, b, splat<T, N>(part));
}

template <typename T, u32 N>
WG_FUNCTION vec<T, N> select(const vec<T, N> reject, const vec<T, N> accept, const bool condition) {
    return condition ? accept : reject;
}

// The fields of all components are at one place.
template <typename T, u32 N> WG_FUNCTION vec<T, N> extract_bits(vec<T, N> a, const u32 offset, const u32 count) {
    a.x = extract_bits(a.x, offset, count);
    a.y = extract_bits(a.y, offset, count);
    if constexpr (N > 2) a.z = extract_bits(a.z, offset, count);
    if constexpr (N > 3) a.w = extract_bits(a.w, offset, count);
    return a;
}

template <typename T, u32 N>
WG_FUNCTION vec<T, N> insert_bits(vec<T, N> a, const vec<T, N> bits, const u32 offset, const u32 count) {
    a.x = insert_bits(a.x, bits.x, offset, count);
    a.y = insert_bits(a.y, bits.y, offset, count);
    if constexpr (N > 2) a.z = insert_bits(a.z, bits.z, offset, count);
    if constexpr (N > 3) a.w = insert_bits(a.w, bits.w, offset, count);
    return a;
}

// R is a struct of two vectors.
template <typename R, typename T, u32 N> WG_FUNCTION R frexp(const vec<T, N> a) {
    vec<i32, N> power{};
    vec<T, N> part{};
    part.x = split(a.x, power.x);
    part.y = split(a.y, power.y);
    if constexpr (N > 2) part.z = split(a.z, power.z);
    if constexpr (N > 3) part.w = split(a.w, power.w);
    return R{part, power};
}
