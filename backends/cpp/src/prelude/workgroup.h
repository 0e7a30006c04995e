// What an invocation is, and what those of a workgroup do together. X, Y and Z are the workgroup's size.

WG_FUNCTION vec<u32, 3> local_id() { return {WG_LOCAL(x), WG_LOCAL(y), WG_LOCAL(z)}; }

WG_FUNCTION vec<u32, 3> workgroup_id() { return {WG_GROUP(x), WG_GROUP(y), WG_GROUP(z)}; }

WG_FUNCTION vec<u32, 3> num_workgroups() { return {WG_GROUPS(x), WG_GROUPS(y), WG_GROUPS(z)}; }

template <u32 X, u32 Y, u32 Z> WG_FUNCTION vec<u32, 3> global_id() {
    return {WG_GROUP(x) * X + WG_LOCAL(x), WG_GROUP(y) * Y + WG_LOCAL(y), WG_GROUP(z) * Z + WG_LOCAL(z)};
}

template <u32 X, u32 Y, u32 Z> WG_FUNCTION u32 local_index() {
    if constexpr (Y * Z == 1) return WG_LOCAL(x);
    else if constexpr (Z == 1) return WG_LOCAL(x) + X * WG_LOCAL(y);
    else return WG_LOCAL(x) + X * (WG_LOCAL(y) + Y * WG_LOCAL(z));
}

WG_FUNCTION void barrier(WG_SITE) { WG_BARRIER; }

// A word at a time, each invocation its share, then a barrier.
template <u32 X, u32 Y, u32 Z, typename T> WG_FUNCTION void zero_shared(T& memory WG_AND_SITE) {
    constexpr u32 words = sizeof(T) / 4;
    const u32 first = local_index<X, Y, Z>();
    unsigned char* const bytes = reinterpret_cast<unsigned char*>(&memory);
    for (u32 k = first; k < words; k += X * Y * Z) {
        if constexpr (alignof(T) >= 4) WG_FILL(__builtin_assume_aligned(bytes + 4 * k, 4), 0, 4);
        else WG_FILL(bytes + 4 * k, 0, 4);
    }
    if constexpr (sizeof(T) % 4 != 0) {
        if (first == 0) WG_FILL(bytes + 4 * words, 0, sizeof(T) % 4);
    }
    WG_BARRIER;
}

template <typename T> WG_FUNCTION T& dynamic_shared() {
    WG_DYNAMIC_SHARED(T)
}
