// Matrices in memory: those of three rows have padding.

template <typename T, u32 C, u32 R> constexpr bool fills<mat<T, C, R>> = R != 3;

template <typename T, u32 C, u32 R> WG_FUNCTION void put(mat<T, C, R>& place, const itself<mat<T, C, R>>& value) {
    if constexpr (R != 3) place = value;
    else for (u32 k = 0; k < C; ++k) place.c[k].v = value.c[k].v;
}
