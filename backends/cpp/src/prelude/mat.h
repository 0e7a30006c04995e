// Matrices, by columns.

template <typename T, u32 C, u32 R> struct mat {
    slot<vec<T, R>> c[C];
    WG_MEMBER vec<T, R>& operator[](const u32 k) { return c[k].v; }
    WG_MEMBER const vec<T, R>& operator[](const u32 k) const { return c[k].v; }
};

template <typename T, u32 C, u32 R, typename... Columns> WG_FUNCTION mat<T, C, R> mat_of(const Columns... columns) {
    static_assert(sizeof...(Columns) == C, "one vector for each column");
    return {{slot<vec<T, R>>{columns}...}};
}

#define WG_COLUMNS_2(name) \
    template <typename T, u32 C, u32 R> \
    WG_FUNCTION mat<T, C, R> name(const mat<T, C, R>& a, const mat<T, C, R>& b) { \
        mat<T, C, R> m{}; \
        m.c[0].v = name(a.c[0].v, b.c[0].v); \
        m.c[1].v = name(a.c[1].v, b.c[1].v); \
        if constexpr (C > 2) m.c[2].v = name(a.c[2].v, b.c[2].v); \
        if constexpr (C > 3) m.c[3].v = name(a.c[3].v, b.c[3].v); \
        return m; \
    }

WG_COLUMNS_2(add)
WG_COLUMNS_2(sub)

// The sum of the columns, each times a component.
template <typename T, u32 C, u32 R> WG_FUNCTION vec<T, R> columns_by(const mat<T, C, R>& a, const vec<T, C> b) {
    auto sum = add(mul(wide(a.c[0].v), wide(b.x)), mul(wide(a.c[1].v), wide(b.y)));
    if constexpr (C > 2) sum = add(sum, mul(wide(a.c[2].v), wide(b.z)));
    if constexpr (C > 3) sum = add(sum, mul(wide(a.c[3].v), wide(b.w)));
    return like<T>(sum);
}

template <typename T, u32 C, u32 R> WG_FUNCTION vec<T, R> mul(const mat<T, C, R>& a, const vec<T, C> b) {
    return columns_by(a, b);
}
template <typename T, u32 C, u32 R> WG_FUNCTION vec<T, C> mul(const vec<T, R> a, const mat<T, C, R>& b) {
    vec<T, C> v{};
    v.x = dot(a, b.c[0].v);
    v.y = dot(a, b.c[1].v);
    if constexpr (C > 2) v.z = dot(a, b.c[2].v);
    if constexpr (C > 3) v.w = dot(a, b.c[3].v);
    return v;
}
template <typename T, u32 K, u32 R, u32 C>
WG_FUNCTION mat<T, C, R> mul(const mat<T, K, R>& a, const mat<T, C, K>& b) {
    mat<T, C, R> m{};
    m.c[0].v = columns_by(a, b.c[0].v);
    m.c[1].v = columns_by(a, b.c[1].v);
    if constexpr (C > 2) m.c[2].v = columns_by(a, b.c[2].v);
    if constexpr (C > 3) m.c[3].v = columns_by(a, b.c[3].v);
    return m;
}
// Without this one, the function of any two values of one type would be as good.
template <typename T, u32 N> WG_FUNCTION mat<T, N, N> mul(const mat<T, N, N>& a, const mat<T, N, N>& b) {
    return mul<T, N, N, N>(a, b);
}
template <typename T, u32 C, u32 R> WG_FUNCTION mat<T, C, R> mul(const mat<T, C, R>& a, const itself<T> b) {
    mat<T, C, R> m{};
    m.c[0].v = mul(a.c[0].v, b);
    m.c[1].v = mul(a.c[1].v, b);
    if constexpr (C > 2) m.c[2].v = mul(a.c[2].v, b);
    if constexpr (C > 3) m.c[3].v = mul(a.c[3].v, b);
    return m;
}
template <typename T, u32 C, u32 R> WG_FUNCTION mat<T, C, R> mul(const itself<T> a, const mat<T, C, R>& b) {
    return mul(b, a);
}

// Row K as a column.
template <u32 K, typename T, u32 C, u32 R> WG_FUNCTION vec<T, C> row(const mat<T, C, R>& a) {
    vec<T, C> v{};
    v.x = component<K>(a.c[0].v);
    v.y = component<K>(a.c[1].v);
    if constexpr (C > 2) v.z = component<K>(a.c[2].v);
    if constexpr (C > 3) v.w = component<K>(a.c[3].v);
    return v;
}

template <typename T, u32 C, u32 R> WG_FUNCTION mat<T, R, C> transpose(const mat<T, C, R>& a) {
    mat<T, R, C> m{};
    m.c[0].v = row<0>(a);
    m.c[1].v = row<1>(a);
    if constexpr (R > 2) m.c[2].v = row<2>(a);
    if constexpr (R > 3) m.c[3].v = row<3>(a);
    return m;
}

// The part of a determinant that three rows of three columns are.
template <typename T> WG_FUNCTION T triple(const vec<T, 3> a, const vec<T, 3> b, const vec<T, 3> c) {
    return dot_of(a, cross(b, c));
}

template <typename T, u32 N> WG_FUNCTION T determinant(const mat<T, N, N>& m) {
    const auto a = wide(m.c[0].v);
    const auto b = wide(m.c[1].v);
    if constexpr (N == 2) {
        return like<T>(a.x * b.y - b.x * a.y);
    } else if constexpr (N == 3) {
        return like<T>(triple(a, b, wide(m.c[2].v)));
    } else {
        const auto c = wide(m.c[2].v);
        const auto d = wide(m.c[3].v);
        // Along the first row: each of its components, times what is left without its column.
        const auto p = swizzle<1, 2, 3>(a), q = swizzle<1, 2, 3>(b), r = swizzle<1, 2, 3>(c), s = swizzle<1, 2, 3>(d);
        return like<T>(a.x * triple(q, r, s) - b.x * triple(p, r, s) + c.x * triple(p, q, s) - d.x * triple(p, q, r));
    }
}
