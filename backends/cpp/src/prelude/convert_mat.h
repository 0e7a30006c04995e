// Conversions of matrices, column by column.

template <typename To, typename T, u32 C, u32 R> WG_FUNCTION mat<To, C, R> convert(const mat<T, C, R>& a) {
    mat<To, C, R> m{};
    m.c[0].v = convert<To>(a.c[0].v);
    m.c[1].v = convert<To>(a.c[1].v);
    if constexpr (C > 2) m.c[2].v = convert<To>(a.c[2].v);
    if constexpr (C > 3) m.c[3].v = convert<To>(a.c[3].v);
    return m;
}
