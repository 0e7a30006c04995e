// What HIP alone has. Neither warpSize nor a macro of the compiler tells the wave size at compile time in all its versions.

#ifndef WG_SUBGROUP_SIZE
#error "define WG_SUBGROUP_SIZE as the wave size of the device"
#endif

WG_FUNCTION u16 half_bits(const f32 a) { return reread<u16>(_Float16(a)); }
WG_FUNCTION u16 half_bits(const f64 a) { return reread<u16>(_Float16(a)); }

WG_FUNCTION f32 half_value(const u16 bits) { return f32(reread<_Float16>(bits)); }

WG_FUNCTION u16 half_fma(const u16 a, const u16 b, const u16 c) {
    return reread<u16>(__builtin_fmaf16(reread<_Float16>(a), reread<_Float16>(b), reread<_Float16>(c)));
}

template <typename T> WG_FUNCTION T compared(T& place, T compare, const T value) {
    __hip_atomic_compare_exchange_strong(&place, &compare, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                         __HIP_MEMORY_SCOPE_AGENT);
    return compare;
}
