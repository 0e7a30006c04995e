// What CUDA does for all lanes at once, from sm_80 on: joins of 32-bit integers.

template <typename Op, typename T> constexpr bool joins_at_once =
#if __CUDA_ARCH__ >= 800
    (is_same<T, i32> || is_same<T, u32>) && !is_same<Op, joining_mul>;
#else
    false;
#endif

template <typename Op, typename T> WG_FUNCTION T at_once(const u32 mask, const T value) {
#if __CUDA_ARCH__ >= 800
    if constexpr (is_same<Op, joining_add>) return T(__reduce_add_sync(mask, u32(value)));
    else if constexpr (is_same<Op, joining_min>) return __reduce_min_sync(mask, value);
    else if constexpr (is_same<Op, joining_max>) return __reduce_max_sync(mask, value);
    else if constexpr (is_same<Op, joining_and>) return T(__reduce_and_sync(mask, u32(value)));
    else if constexpr (is_same<Op, joining_or>) return T(__reduce_or_sync(mask, u32(value)));
    else return T(__reduce_xor_sync(mask, u32(value)));
#else
    (void)mask;
    return value;
#endif
}
