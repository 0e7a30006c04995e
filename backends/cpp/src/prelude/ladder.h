// How a device's subgroups exchange values: by shuffles. Those of the last subgroup may be fewer; a lane that is not there is
// never read.

template <u32 X, u32 Y, u32 Z> WG_FUNCTION u32 members() {
    constexpr u32 invocations = X * Y * Z;
    if constexpr (invocations % WG_SUBGROUP_SIZE == 0) return WG_SUBGROUP_SIZE;
    else return min(u32(WG_SUBGROUP_SIZE), invocations - subgroup_id<X, Y, Z>() * WG_SUBGROUP_SIZE);
}

template <u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T from_lane(const T value, const u32 lane) {
    const u32 n = members<X, Y, Z>();
    const int source = int(lane < n ? lane : subgroup_invocation_id<X, Y, Z>());
    if constexpr (sizeof(T) == 8) return reread<T>(u64(WG_SHUFFLE(n, reread<u64>(value), source)));
    else if constexpr (sizeof(T) == 4) return reread<T>(u32(WG_SHUFFLE(n, reread<u32>(value), source)));
    else if constexpr (sizeof(T) == 2) return reread<T>(u16(WG_SHUFFLE(n, u32(reread<u16>(value)), source)));
    else return WG_SHUFFLE(n, u32(value), source) != 0;
}
template <u32 X, u32 Y, u32 Z, typename T, u32 N> WG_FUNCTION vec<T, N> from_lane(const vec<T, N> value, const u32 lane) {
    vec<T, N> v{};
    v.x = from_lane<X, Y, Z>(value.x, lane);
    v.y = from_lane<X, Y, Z>(value.y, lane);
    if constexpr (N > 2) v.z = from_lane<X, Y, Z>(value.z, lane);
    if constexpr (N > 3) v.w = from_lane<X, Y, Z>(value.w, lane);
    return v;
}

template <u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T from_first(const T value) {
    return from_lane<X, Y, Z>(value, 0);
}

template <typename Op, u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T reduce(T value) {
    const u32 lane = subgroup_invocation_id<X, Y, Z>();
    if constexpr (WG_JOINS_AT_ONCE(Op, T)) {
        return WG_AT_ONCE(Op, (members<X, Y, Z>()), value);
    } else if constexpr (X * Y * Z % WG_SUBGROUP_SIZE == 0) {
        for (u32 far = WG_SUBGROUP_SIZE / 2; far > 0; far /= 2) {
            value = Op::join(value, from_lane<X, Y, Z>(value, lane ^ far));
        }
        return value;
    } else {
        // Downwards, since a lane's partner may be missing; then all take what the first has.
        const u32 n = members<X, Y, Z>();
        for (u32 far = WG_SUBGROUP_SIZE / 2; far > 0; far /= 2) {
            const T other = from_lane<X, Y, Z>(value, lane + far);
            if (lane + far < n) value = Op::join(value, other);
        }
        return from_lane<X, Y, Z>(value, 0);
    }
}

template <typename Op, u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T scan(T value) {
    const u32 lane = subgroup_invocation_id<X, Y, Z>();
    for (u32 far = 1; far < WG_SUBGROUP_SIZE; far *= 2) {
        const T other = from_lane<X, Y, Z>(value, lane - far);
        if (lane >= far) value = Op::join(other, value);
    }
    return value;
}

// Of the lanes before; the first has the neutral value.
template <typename Op, u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T scan_before(const T value, const T neutral) {
    const u32 lane = subgroup_invocation_id<X, Y, Z>();
    const T before = from_lane<X, Y, Z>(scan<Op, X, Y, Z>(value), lane - 1);
    return lane == 0 ? neutral : before;
}

template <u32 X, u32 Y, u32 Z> WG_FUNCTION bool subgroup_all(const bool a) {
    const u32 n = members<X, Y, Z>();
    (void)n;
    return WG_ALL(n, a);
}

template <u32 X, u32 Y, u32 Z> WG_FUNCTION bool subgroup_any(const bool a) {
    const u32 n = members<X, Y, Z>();
    (void)n;
    return WG_ANY(n, a);
}

template <u32 X, u32 Y, u32 Z> WG_FUNCTION vec<u32, 4> subgroup_ballot(const bool a) {
    const u32 n = members<X, Y, Z>();
    (void)n;
    const u64 bits = WG_BALLOT(n, a);
    return {u32(bits), u32(bits >> 32), 0u, 0u};
}
