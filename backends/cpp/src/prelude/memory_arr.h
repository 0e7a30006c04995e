// Arrays in memory.

template <typename T, u32 N> constexpr bool fills<arr<T, N>> = fills<T>;

template <typename T, u32 N> WG_FUNCTION void put(arr<T, N>& place, const itself<arr<T, N>>& value) {
    if constexpr (fills<T>) place = value;
    else for (u32 k = 0; k < N; ++k) put(place.e[k].v, value.e[k].v);
}
