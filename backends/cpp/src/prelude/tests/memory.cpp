// Layout, access and stores, checked in place.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(...) \
    do { \
        if (!(__VA_ARGS__)) std::printf("line %d: %s\n", __LINE__, #__VA_ARGS__), std::exit(1); \
    } while (0)

namespace wg { namespace own {
struct alignas(16) Inner { vec<f32, 3> a; unsigned char _pad0[4]; };
struct alignas(16) Outer { u32 n; unsigned char _pad0[12]; Inner inner; arr<Inner, 2> more; mat<f32, 2, 3> m; };
static void put(Inner& to, const Inner& from) { wg::put(to.a, from.a); }
static void put(Outer& to, const Outer& from) {
    wg::put(to.n, from.n), put(to.inner, from.inner), wg::put(to.more, from.more), wg::put(to.m, from.m);
}
struct alignas(16) Tail { u32 n; vec<f32, 3> rest[1]; };
template <typename T> struct Exchanged { T old_value; bool exchanged; };
} }

namespace wg { namespace proof {

// As WGSL lays them out.
static_assert(sizeof(vec<f32, 2>) == 8 && alignof(vec<f32, 2>) == 8, "vec2");
static_assert(sizeof(vec<f32, 3>) == 12 && alignof(vec<f32, 3>) == 4, "vec3, which a scalar may follow");
static_assert(sizeof(vec<f32, 4>) == 16 && alignof(vec<f32, 4>) == 16, "vec4");
static_assert(sizeof(vec<f16, 3>) == 6 && sizeof(vec<f16, 4>) == 8 && alignof(vec<f16, 4>) == 8, "of f16");
static_assert(sizeof(vec<f64, 3>) == 24 && sizeof(vec<u64, 4>) == 32 && alignof(vec<i64, 2>) == 16, "of 64 bits");
static_assert(sizeof(slot<vec<f32, 3>>) == 16 && alignof(slot<vec<f32, 3>>) == 16, "an element of three");
static_assert(sizeof(slot<vec<u16, 3>>) == 8 && sizeof(slot<f32>) == 4, "elements");
static_assert(sizeof(arr<vec<f32, 3>, 3>) == 48 && sizeof(arr<f32, 3>) == 12 && sizeof(arr<f16, 3>) == 6, "arrays");
static_assert(sizeof(mat<f32, 3, 3>) == 48 && sizeof(mat<f32, 2, 2>) == 16 && sizeof(mat<f32, 4, 2>) == 32, "matrices");
static_assert(sizeof(mat<f16, 2, 3>) == 16 && sizeof(mat<f32, 2, 4>) == 32 && alignof(mat<f32, 3, 3>) == 16, "matrices");
static_assert(sizeof(arr<mat<f32, 2, 3>, 2>) == 64, "arrays of matrices");

// Constants are laid down at compile time, nested as they are.
static constexpr arr<vec<f32, 3>, 2> TABLE = {{{{1, 2, 3}}, {{4, 5, 6}}}};
static constexpr mat<f32, 2, 3> MATRIX = {{{{1, 2, 3}}, {{4, 5, 6}}}};
static_assert(TABLE.e[1].v.y == 5 && MATRIX.c[1].v.z == 6, "constant");

// A store keeps every byte that no member has, and writes all others.
template <typename T> static void check_put(const T& value, const u32 holes) {
    alignas(T) unsigned char bytes[sizeof(T)], twice[sizeof(T)];
    std::memset(bytes, 0xee, sizeof bytes), std::memset(twice, 0x11, sizeof twice);
    put(*reinterpret_cast<T*>(bytes), value), put(*reinterpret_cast<T*>(twice), value);
    u32 kept = 0;
    for (u32 k = 0; k < sizeof(T); ++k) {
        if (bytes[k] == 0xee && twice[k] == 0x11) ++kept;
        else CHECK(bytes[k] == twice[k]);
    }
    CHECK(kept == holes);
}

static void check_stores() {
    check_put(7u, 0), check_put(vec<f32, 3>{1, 2, 3}, 0), check_put(vec<f32, 4>{1, 2, 3, 4}, 0);
    check_put(slot<vec<f32, 3>>{{1, 2, 3}}.v, 0);
    check_put(TABLE, 8), check_put(MATRIX, 8), check_put(mat<f16, 3, 3>{}, 6), check_put(mat<f32, 2, 2>{}, 0);
    check_put(arr<mat<f32, 2, 3>, 3>{}, 24), check_put(arr<u32, 5>{}, 0), check_put(arr<arr<vec<u32, 3>, 2>, 2>{}, 16);
    own::Outer outer{};
    outer.inner.a = {1, 2, 3};
    check_put(outer, 12 + 4 + 8 + 8), check_put(arr<own::Outer, 2>{}, 64);
    u32 word = 0;
    put(word, 5);
    CHECK(word == 5);
}

static void check_access() {
    CHECK(index(3u, 4) == 3 && index(4u, 4) == 3 && index(~0u, 4) == 3 && index(0u, 1) == 0);
    CHECK(index(3, 4) == 3 && index(-1, 4) == 3 && index(-2147483647 - 1, 4) == 3 && index(-1, ~0u) == ~0u - 1);
    CHECK(index(i64(3), 4) == 3 && index(i64(-1), 4) == 3 && index(i64(1) << 32, 4) == 3 && index(~u64(0), 4) == 3);
    CHECK(index(i16(-1), 70000) == 69999 && index(u16(65535), 70000) == 65535 && index(i16(3), 4) == 3);
    CHECK(proven(i64(3), 4) == 3 && proven(0u, 1) == 0 && proven(u16(65535), 65536) == 65535);
    vec<f32, 4> v{1, 2, 3, 4};
    const vec<f32, 4> c = v;
    for (u32 k = 0; k < 4; ++k) {
        CHECK(c[k] == f32(k + 1));
        v[k] += 1;
    }
    CHECK(v.x == 2 && v.w == 5);
    arr<vec<f32, 3>, 2> a = TABLE;
    a[1][2] = 9;
    CHECK(a.e[1].v.z == 9 && TABLE[0].y == 2);
    mat<f32, 2, 3> m = MATRIX;
    m[0][1] = 8;
    CHECK(m.c[0].v.y == 8 && MATRIX[1].x == 4);
    CHECK((arr_of<u32, 2>(4u, 5u)[1] == 5 && mat_of<f32, 2, 2>(vec<f32, 2>{1, 2}, vec<f32, 2>{3, 4})[1].y == 4));
    alignas(16) unsigned char memory[16 + 3 * 16] = {};
    slot<vec<f32, 3>>* const rest = tail<vec<f32, 3>>(reinterpret_cast<own::Tail*>(memory), 16);
    rest[2].v.y = 3;
    f32 found = 0;
    std::memcpy(&found, memory + 16 + 32 + 4, 4);
    CHECK(found == 3 && tail<vec<f32, 3>>(reinterpret_cast<const own::Tail*>(memory), 16)[2].v.y == 3);
    f16 half{};
    volatile_store(half, f16{0x3c00}), volatile_store(v, vec<f32, 4>{5, 6, 7, 8});
    CHECK(volatile_load(half).bits == 0x3c00 && volatile_load(v).z == 7 && v.w == 8);
}

template <typename T> static void check_atomics(const T low, const T high) {
    T place = high;
    CHECK(atomic_add(place, T(1)) == high && atomic_load(place) == low);
    CHECK(atomic_sub(place, T(1)) == low && place == high);
    CHECK(atomic_min(place, low) == high && place == low && atomic_max(place, high) == low && place == high);
    CHECK(atomic_exchange(place, T(6)) == high && atomic_and(place, T(3)) == 6 && atomic_or(place, T(5)) == 2);
    CHECK(atomic_xor(place, T(1)) == 7 && place == 6);
    const auto no = atomic_compare_exchange<own::Exchanged<T>>(place, T(5), T(9));
    CHECK(!no.exchanged && no.old_value == 6 && place == 6);
    const auto yes = atomic_compare_exchange<own::Exchanged<T>>(place, T(6), T(9));
    CHECK(yes.exchanged && yes.old_value == 6 && place == 9);
    atomic_store(place, T(2));
    CHECK(place == 2);
}

static void check_vectors() {
    const vec<u32, 4> v{1, 2, 3, 4};
    const vec<u32, 2> xy = swizzle<0, 1>(v), zw = swizzle<2, 3>(v);
    const vec<u32, 3> yzw = swizzle<1, 2, 3>(v);
    CHECK(all(eq(vec_of<u32, 4>(xy, zw), v)) && all(eq(vec_of<u32, 4>(1u, yzw), v)) && all(eq(vec_of<u32, 4>(v), v)));
    CHECK(all(eq(vec_of<u32, 4>(xy, 3u, 4u), v)) && all(eq(vec_of<u32, 4>(1u, swizzle<1, 2>(v), 4u), v)));
    CHECK(all(eq(vec_of<u32, 4>(1u, 2u, zw), v)) && all(eq(vec_of<u32, 4>(swizzle<0, 1, 2>(v), 4u), v)));
    CHECK(all(eq(vec_of<u32, 3>(2u, zw), yzw)) && all(eq(vec_of<u32, 3>(swizzle<1, 2>(v), 4u), yzw)));
    CHECK(all(eq(swizzle<3, 3, 0, 1>(v), vec<u32, 4>{4, 4, 1, 2})) && all(eq(splat<u32, 3>(7), vec<u32, 3>{7, 7, 7})));
    const vec<bool, 3> mask{true, false, true};
    CHECK(any(mask) && !all(mask) && all(eq(logical_not(mask), vec<bool, 3>{false, true, false})));
    CHECK(all(eq(select(vec<u32, 3>{1, 2, 3}, vec<u32, 3>{4, 5, 6}, mask), vec<u32, 3>{4, 2, 6})));
    CHECK(all(eq(select(yzw, vec<u32, 3>{4, 5, 6}, false), yzw)) && select(1, 2, true) == 2);
    CHECK(all(bit_xor(mask, vec<bool, 3>{false, true, false})) && bit_not(false) && bit_and(true, true));
}

static void check_all() {
    check_stores(), check_access(), check_vectors();
    check_atomics<i32>(lowest<i32>, 2147483647), check_atomics<u32>(0, ~0u);
    check_atomics<i64>(lowest<i64>, ~lowest<i64>), check_atomics<u64>(0, ~0ull);
    f32 sum = 1;
    CHECK(atomic_add(sum, 2) == 1 && atomic_sub(sum, 0.5f) == 3 && atomic_exchange(sum, 9) == 2.5f && atomic_load(sum) == 9);
}

} }

int main() { wg::proof::check_all(); }
