// Subgroups: the invocations of a workgroup in the order of their local index, WG_SUBGROUP_SIZE at a time.

WG_FUNCTION u32 subgroup_size() { return WG_SUBGROUP_SIZE; }

template <u32 X, u32 Y, u32 Z> WG_FUNCTION u32 subgroup_invocation_id() {
    return local_index<X, Y, Z>() % WG_SUBGROUP_SIZE;
}

template <u32 X, u32 Y, u32 Z> WG_FUNCTION u32 subgroup_id() { return local_index<X, Y, Z>() / WG_SUBGROUP_SIZE; }

template <u32 X, u32 Y, u32 Z> WG_FUNCTION u32 num_subgroups() {
    return (X * Y * Z + WG_SUBGROUP_SIZE - 1) / WG_SUBGROUP_SIZE;
}

WG_FUNCTION void subgroup_barrier(WG_SITE) { WG_SUBGROUP_BARRIER; }

// What a collective operation does with two values.
struct joining_add { template <typename T> static WG_MEMBER T join(const T a, const T b) { return add(a, b); } };

struct joining_mul { template <typename T> static WG_MEMBER T join(const T a, const T b) { return mul(a, b); } };

struct joining_min { template <typename T> static WG_MEMBER T join(const T a, const T b) { return min(a, b); } };

struct joining_max { template <typename T> static WG_MEMBER T join(const T a, const T b) { return max(a, b); } };

struct joining_and { template <typename T> static WG_MEMBER T join(const T a, const T b) { return bit_and(a, b); } };

struct joining_or { template <typename T> static WG_MEMBER T join(const T a, const T b) { return bit_or(a, b); } };

struct joining_xor { template <typename T> static WG_MEMBER T join(const T a, const T b) { return bit_xor(a, b); } };

// One, in every component.
template <typename T> WG_FUNCTION void make_one(T& a) { a = convert<T>(1u); }
template <typename T, u32 N> WG_FUNCTION void make_one(vec<T, N>& a) { a = splat<T, N>(convert<T>(1u)); }
