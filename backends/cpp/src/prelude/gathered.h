// How subgroups exchange values on the host: the runtime shows each what all that are there have.

template <typename T> WG_FUNCTION T held(const wg_host_gathered* from, const u32 lane) {
    T value{};
    WG_COPY(&value, from->values[lane], sizeof(T));
    return value;
}

WG_FUNCTION bool is_there(const wg_host_gathered* from, const u32 lane) {
    return lane < WG_SUBGROUP_SIZE && (from->present[lane / 32] >> lane % 32 & 1u) != 0;
}

template <u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T from_lane(const T value, const u32 lane WG_AND_SITE) {
    const wg_host_gathered* const from = wg_host_exchange(&value, sizeof(T), site);
    return is_there(from, lane) ? held<T>(from, lane) : value;
}

template <u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T from_first(const T value WG_AND_SITE) {
    const wg_host_gathered* const from = wg_host_exchange(&value, sizeof(T), site);
    u32 lane = 0;
    while (!is_there(from, lane)) ++lane;
    return held<T>(from, lane);
}

// The values of the lanes below `end` that are there, joined in order onto what comes first.
template <typename Op, typename T> WG_FUNCTION T joined(const wg_host_gathered* from, const u32 end, const T neutral) {
    T value = neutral;
    bool any_yet = false;
    for (u32 lane = 0; lane < end; ++lane) {
        if (!is_there(from, lane)) continue;
        value = any_yet ? Op::join(value, held<T>(from, lane)) : held<T>(from, lane);
        any_yet = true;
    }
    return value;
}

template <typename Op, u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T reduce(const T value WG_AND_SITE) {
    return joined<Op>(wg_host_exchange(&value, sizeof(T), site), WG_SUBGROUP_SIZE, value);
}

template <typename Op, u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION T scan(const T value WG_AND_SITE) {
    const u32 lane = subgroup_invocation_id<X, Y, Z>();
    return joined<Op>(wg_host_exchange(&value, sizeof(T), site), lane + 1, value);
}

template <typename Op, u32 X, u32 Y, u32 Z, typename T>
WG_FUNCTION T scan_before(const T value, const T neutral WG_AND_SITE) {
    const u32 lane = subgroup_invocation_id<X, Y, Z>();
    return joined<Op>(wg_host_exchange(&value, sizeof(T), site), lane, neutral);
}

template <u32 X, u32 Y, u32 Z> WG_FUNCTION bool subgroup_all(const bool a WG_AND_SITE) {
    return reduce<joining_and, X, Y, Z>(a, site);
}

template <u32 X, u32 Y, u32 Z> WG_FUNCTION bool subgroup_any(const bool a WG_AND_SITE) {
    return reduce<joining_or, X, Y, Z>(a, site);
}

template <u32 X, u32 Y, u32 Z> WG_FUNCTION vec<u32, 4> subgroup_ballot(const bool a WG_AND_SITE) {
    const wg_host_gathered* const from = wg_host_exchange(&a, sizeof(a), site);
    u32 bits[4] = {};
    for (u32 lane = 0; lane < WG_SUBGROUP_SIZE; ++lane) {
        if (is_there(from, lane) && held<bool>(from, lane)) bits[lane / 32] |= 1u << lane % 32;
    }
    return {bits[0], bits[1], bits[2], bits[3]};
}
