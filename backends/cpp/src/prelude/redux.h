// What CUDA does for all lanes at once, from sm_80 on: joins of 32-bit integers. By PTX, as not every NVRTC has the functions.

template <typename Op, typename T> constexpr bool joins_at_once =
#if __CUDA_ARCH__ >= 800
    (is_same<T, i32> || is_same<T, u32>) && !is_same<Op, joining_mul>;
#else
    false;
#endif

#define WG_REDUX(operation) asm volatile("redux.sync." operation " %0, %1, %2;" : "=r"(joined) : "r"(value), "r"(mask))

template <typename Op, typename T> WG_FUNCTION T at_once(const u32 mask, const T value) {
    T joined = value;
#if __CUDA_ARCH__ >= 800
    if constexpr (is_same<Op, joining_add>) WG_REDUX("add.u32");
    else if constexpr (is_same<Op, joining_and>) WG_REDUX("and.b32");
    else if constexpr (is_same<Op, joining_or>) WG_REDUX("or.b32");
    else if constexpr (is_same<Op, joining_xor>) WG_REDUX("xor.b32");
    else if constexpr (is_same<Op, joining_min>) {
        if constexpr (is_signed<T>) WG_REDUX("min.s32");
        else WG_REDUX("min.u32");
    } else {
        if constexpr (is_signed<T>) WG_REDUX("max.s32");
        else WG_REDUX("max.u32");
    }
#else
    (void)mask;
#endif
    return joined;
}
