// Vectors in memory.

template <typename T> constexpr bool fills<vec<T, 2>> = true;
template <typename T> constexpr bool fills<vec<T, 4>> = true;

template <typename T, u32 N> WG_FUNCTION vec<T, N> volatile_load(const vec<T, N>& place) {
    vec<T, N> v{};
    v.x = volatile_load(place.x);
    v.y = volatile_load(place.y);
    if constexpr (N > 2) v.z = volatile_load(place.z);
    if constexpr (N > 3) v.w = volatile_load(place.w);
    return v;
}

template <typename T, u32 N> WG_FUNCTION void volatile_store(vec<T, N>& place, const itself<vec<T, N>> value) {
    volatile_store(place.x, value.x);
    volatile_store(place.y, value.y);
    if constexpr (N > 2) volatile_store(place.z, value.z);
    if constexpr (N > 3) volatile_store(place.w, value.w);
}
