// What the host alone has: its runtime, and half precision by bits.

#ifndef WG_SUBGROUP_SIZE
#define WG_SUBGROUP_SIZE 32
#endif

// Who runs: the runtime sets it before an invocation goes on.
struct wg_host_place { unsigned x, y, z; };
struct wg_host_ids { wg_host_place local, group, groups; };
extern "C" const wg_host_ids* wg_host_invocation;

// What the invocations of a subgroup brought to an exchange, and which of them came.
struct wg_host_gathered { unsigned present[4]; alignas(32) unsigned char values[128][32]; };
extern "C" const wg_host_gathered* wg_host_exchange(const void* value, unsigned bytes, int site);

extern "C" void wg_host_barrier(int site);

extern "C" [[noreturn]] void wg_host_fail(const char* what);

// `args` points to the value of each parameter; `waits` tells whether there are barriers or subgroup operations.
extern "C" void wg_host_run(const unsigned groups[3], const unsigned size[3], bool waits,
                            void (*body)(void* const* args), void* const* args);

// To the nearest, halves to even.
WG_FUNCTION u16 half_bits(const f64 a) {
    const u64 bits = reread<u64>(a);
    const u64 size = bits & ~(1ull << 63);
    const u32 minus = u32(bits >> 48) & 0x8000u;
    if (size > 0x7ffull << 52) return u16(minus | 0x7e00u);
    if (size >= 0x40effe0000000000ull) return u16(minus | 0x7c00u);
    // Below 2^-14 the values are 2^-24 apart, as those of f64 are from 2^28 on: the sum is rounded to them.
    if (size < 0x3f10000000000000ull) return u16(minus | (reread<u64>(reread<f64>(size) + 268435456.0) & 0xffffu));
    const u64 rounded = size + 0x1ffffffffffull + (size >> 42 & 1u);
    return u16(minus | u32((rounded - (1008ull << 52)) >> 42));
}
WG_FUNCTION u16 half_bits(const f32 a) { return half_bits(f64(a)); }

WG_FUNCTION f32 half_value(const u16 bits) {
    const u32 minus = (bits & 0x8000u) << 16;
    const u32 size = bits & 0x7fffu;
    if (size >= 0x7c00u) return reread<f32>(minus | 0x7f800000u | size << 13 | (size > 0x7c00u ? 1u << 22 : 0u));
    if (size < 0x400u) return reread<f32>(minus | reread<u32>(f32(size) * 5.9604644775390625e-8f));
    return reread<f32>(minus | ((size << 13) + (112u << 23)));
}

// The product is exact in f64, and the sum has too few digits to be rounded there.
WG_FUNCTION u16 half_fma(const u16 a, const u16 b, const u16 c) {
    return half_bits(f64(half_value(a)) * f64(half_value(b)) + f64(half_value(c)));
}

// An atomic operation of invocations that run one after the other.
template <typename T> WG_FUNCTION T replaced(T& place, const itself<T> value) {
    const T old = place;
    place = value;
    return old;
}

// By bytes, then within each.
WG_FUNCTION u32 reversed(const u32 a) {
    u32 x = __builtin_bswap32(a);
    x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
    x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
    return (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
}

// Of a number and a NaN the number, whatever NaN it is: those of libm tell signalling ones apart.
template <typename T> WG_FUNCTION T lesser(const T a, const T b) { return a < b || b != b ? a : b; }

template <typename T> WG_FUNCTION T greater(const T a, const T b) { return a > b || b != b ? a : b; }
