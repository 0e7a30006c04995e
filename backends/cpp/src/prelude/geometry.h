// Functions over whole vectors. Those of f16 sum in f32 and round once: `wide` and `like` are the way there and back.

template <typename T> WG_FUNCTION T wide(const T a) { return a; }

template <typename To> struct rounding {
    template <typename T> static WG_MEMBER T of(const T a) { return a; }
};
template <typename To, typename T> WG_FUNCTION auto like(const T a) { return rounding<To>::of(a); }

template <typename T, u32 N> WG_FUNCTION T dot_of(const vec<T, N> a, const vec<T, N> b) {
    T sum = add(mul(a.x, b.x), mul(a.y, b.y));
    if constexpr (N > 2) sum = add(sum, mul(a.z, b.z));
    if constexpr (N > 3) sum = add(sum, mul(a.w, b.w));
    return sum;
}

template <typename T, u32 N> WG_FUNCTION T dot(const vec<T, N> a, const vec<T, N> b) {
    return like<T>(dot_of(wide(a), wide(b)));
}

template <typename T> WG_FUNCTION T length(const T a) { return abs(a); }
template <typename T, u32 N> WG_FUNCTION T length(const vec<T, N> a) {
    const auto v = wide(a);
    return like<T>(sqrt(dot_of(v, v)));
}

template <typename T> WG_FUNCTION T distance(const T a, const T b) { return abs(sub(a, b)); }
template <typename T, u32 N> WG_FUNCTION T distance(const vec<T, N> a, const vec<T, N> b) {
    const auto v = sub(wide(a), wide(b));
    return like<T>(sqrt(dot_of(v, v)));
}

template <typename T, u32 N> WG_FUNCTION vec<T, N> normalize(const vec<T, N> a) {
    const auto v = wide(a);
    return like<T>(div(v, sqrt(dot_of(v, v))));
}

template <typename T> WG_FUNCTION vec<T, 3> cross(const vec<T, 3> p, const vec<T, 3> q) {
    const auto a = wide(p);
    const auto b = wide(q);
    return like<T>(decltype(wide(p)){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x});
}

template <typename T, u32 N>
WG_FUNCTION vec<T, N> face_forward(const vec<T, N> a, const vec<T, N> incident, const vec<T, N> normal) {
    return dot_of(wide(incident), wide(normal)) < 0 ? a : neg(a);
}

template <typename T, u32 N> WG_FUNCTION vec<T, N> reflect(const vec<T, N> a, const vec<T, N> normal) {
    const auto v = wide(a);
    const auto n = wide(normal);
    return like<T>(sub(v, mul(n, 2 * dot_of(n, v))));
}

template <typename T, u32 N>
WG_FUNCTION vec<T, N> refract(const vec<T, N> a, const vec<T, N> normal, const itself<T> ratio) {
    const auto v = wide(a);
    const auto n = wide(normal);
    const auto r = wide(ratio);
    const auto along = dot_of(n, v);
    const auto k = 1 - r * r * (1 - along * along);
    if (k < 0) return vec<T, N>{};
    return like<T>(sub(mul(v, r), mul(n, r * along + sqrt(k))));
}
