// Subgroup operations, over the exchange that the dialect has.

#define WG_REDUCE(name, op) \
    template <u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T name(const T value WG_AND_SITE) { \
        return reduce<op, X, Y, Z>(value WG_AT_SITE); \
    }

WG_REDUCE(subgroup_add, joining_add)
WG_REDUCE(subgroup_mul, joining_mul)
WG_REDUCE(subgroup_min, joining_min)
WG_REDUCE(subgroup_max, joining_max)
WG_REDUCE(subgroup_and, joining_and)
WG_REDUCE(subgroup_or, joining_or)
WG_REDUCE(subgroup_xor, joining_xor)

template <u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T subgroup_inclusive_add(const T value WG_AND_SITE) {
    return scan<joining_add, X, Y, Z>(value WG_AT_SITE);
}

template <u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T subgroup_inclusive_mul(const T value WG_AND_SITE) {
    return scan<joining_mul, X, Y, Z>(value WG_AT_SITE);
}

template <u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T subgroup_exclusive_add(const T value WG_AND_SITE) {
    return scan_before<joining_add, X, Y, Z>(value, T{} WG_AT_SITE);
}

template <u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T subgroup_exclusive_mul(const T value WG_AND_SITE) {
    T neutral{};
    make_one(neutral);
    return scan_before<joining_mul, X, Y, Z>(value, neutral WG_AT_SITE);
}

template <u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T subgroup_broadcast_first(const T value WG_AND_SITE) {
    return from_first<X, Y, Z>(value WG_AT_SITE);
}

#define WG_GATHER(name, lane) \
    template <u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T name(const T value, const u32 n WG_AND_SITE) { \
        const u32 own = subgroup_invocation_id<X, Y, Z>(); \
        (void)own; \
        return from_lane<X, Y, Z>(value, lane WG_AT_SITE); \
    }

WG_GATHER(subgroup_broadcast, n)
WG_GATHER(subgroup_shuffle, n)
WG_GATHER(subgroup_shuffle_down, n > ~own ? ~0u : own + n)
WG_GATHER(subgroup_shuffle_up, n > own ? ~0u : own - n)
WG_GATHER(subgroup_shuffle_xor, own ^ n)
WG_GATHER(quad_broadcast, (own & ~3u) | (n & 3u))

#define WG_QUAD_SWAP(name, bits) \
    template <u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T name(const T value WG_AND_SITE) { \
        return from_lane<X, Y, Z>(value, subgroup_invocation_id<X, Y, Z>() ^ bits WG_AT_SITE); \
    }

WG_QUAD_SWAP(quad_swap_x, 1u)
WG_QUAD_SWAP(quad_swap_y, 2u)
WG_QUAD_SWAP(quad_swap_diagonal, 3u)
