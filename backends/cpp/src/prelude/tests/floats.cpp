// Functions of floats, of which the results are known or nearly so.

#include <cmath>
#include <cstdio>
#include <cstdlib>

#define CHECK(...) \
    do { \
        if (!(__VA_ARGS__)) std::printf("line %d: %s\n", __LINE__, #__VA_ARGS__), std::exit(1); \
    } while (0)

namespace wg { namespace proof {

static const f32 NOTHING = __builtin_nanf(""), ENDLESS = __builtin_inff();

template <typename T> struct Split { T fract; i32 exp; };
template <typename T> struct Parts { T fract, whole; };
struct Parts3 { vec<f32, 3> fract, whole; };
struct Split3 { vec<f32, 3> fract; vec<i32, 3> exp; };

template <typename T> static bool near(const T a, const f64 b) {
    const f64 bound = sizeof(T) == 4 ? 4e-6 : 1e-13;
    return std::fabs(f64(a) - b) <= bound * (1 + std::fabs(b));
}

template <typename T> static void check_scalars() {
    CHECK(round(T(0.5)) == 0 && round(T(1.5)) == 2 && round(T(-2.5)) == -2 && round(T(2.4999)) == 2);
    CHECK(floor(T(-1.5)) == -2 && ceil(T(-1.5)) == -1 && trunc(T(-1.5)) == -1 && fract(T(-1.25)) == T(0.75));
    CHECK(sign(T(-3)) == -1 && sign(T(0)) == 0 && sign(T(NOTHING)) == 0 && abs(T(-3)) == 3 && neg(T(3)) == -3);
    CHECK(!std::signbit(f64(sign(T(-0.0)))) && std::signbit(f64(neg(T(0)))));
    CHECK(min(T(NOTHING), T(2)) == 2 && min(T(2), T(NOTHING)) == 2 && max(T(NOTHING), T(2)) == 2 && max(T(2), T(NOTHING)) == 2);
    CHECK(clamp(T(5), T(1), T(3)) == 3 && clamp(T(5), T(3), T(1)) == 1 && clamp(T(NOTHING), T(1), T(3)) == 1);
    CHECK(saturate(T(-2)) == 0 && saturate(T(7)) == 1 && saturate(T(NOTHING)) == 0);
    CHECK(step(T(2), T(2)) == 1 && step(T(2), T(1)) == 0 && smoothstep(T(0), T(2), T(1)) == T(0.5));
    CHECK(smoothstep(T(0), T(2), T(3)) == 1 && mix(T(2), T(4), T(0.25)) == T(2.5));
    CHECK(rem(T(7.5), T(2)) == T(1.5) && rem(T(-7.5), T(2)) == T(-1.5) && div(T(1), T(0)) == T(ENDLESS));
    CHECK(ldexp(T(3), -1) == T(1.5) && ldexp(T(1), 5000) == T(ENDLESS) && ldexp(T(1), -5000) == 0 && ldexp(T(3), lowest<i32>) == 0);
    const auto half = frexp<Split<T>>(T(-12));
    CHECK(half.fract == T(-0.75) && half.exp == 4);
    const auto endless = frexp<Split<T>>(T(ENDLESS)), none = frexp<Split<T>>(T(0)), nothing = frexp<Split<T>>(T(NOTHING));
    CHECK(endless.fract == T(ENDLESS) && endless.exp == 0 && none.fract == 0 && none.exp == 0 && nothing.exp == 0);
    const auto parts = modf<Parts<T>>(T(-3.25));
    CHECK(parts.fract == T(-0.25) && parts.whole == -3);
    for (f64 x = 0.05; x < 1; x += 0.11) {
        const T a = T(x);
        const f64 b = f64(a);
        CHECK(near(cos(a), std::cos(b)) && near(sin(a), std::sin(b)) && near(tan(a), std::tan(b)) && near(cosh(a), std::cosh(b)));
        CHECK(near(sinh(a), std::sinh(b)) && near(tanh(a), std::tanh(b)) && near(acos(a), std::acos(b)) && near(asin(a), std::asin(b)));
        CHECK(near(atan(a), std::atan(b)) && near(asinh(a), std::asinh(b)) && near(acosh(a + 1), std::acosh(b + 1)));
        CHECK(near(atanh(a), std::atanh(b)) && near(atan2(a, T(-2)), std::atan2(b, -2.0)) && near(exp(a), std::exp(b)));
        CHECK(near(exp2(a), std::exp2(b)) && near(log(a), std::log(b)) && near(log2(a), std::log2(b)) && near(pow(a, T(3.5)), std::pow(b, 3.5)));
        CHECK(near(sqrt(a), std::sqrt(b)) && near(inverse_sqrt(a), 1 / std::sqrt(b)) && near(degrees(a), b * 57.29577951308232));
        CHECK(near(radians(a), b / 57.29577951308232) && near(fma(a, T(3), T(-1)), std::fma(b, 3.0, -1.0)));
    }
}

template <typename T> static void check_geometry() {
    const vec<T, 3> a{1, 2, 2}, b{3, -1, 2}, x{1, 0, 0}, y{0, 1, 0};
    CHECK(dot(a, b) == 5 && length(a) == 3 && distance(a, b) == length(sub(b, a)) && length(T(-2)) == 2 && distance(T(1), T(4)) == 3);
    CHECK(all(eq(cross(x, y), vec<T, 3>{0, 0, 1})) && all(eq(cross(a, b), vec<T, 3>{6, 4, -7})));
    CHECK(near(normalize(a).y, 2.0 / 3.0) && all(eq(reflect(a, y), vec<T, 3>{1, -2, 2})));
    CHECK(all(eq(face_forward(a, x, b), neg(a))) && all(eq(face_forward(a, neg(x), b), a)));
    CHECK(all(eq(refract(neg(y), y, T(2)), neg(y))) && all(eq(refract(x, y, T(2)), vec<T, 3>{})));
    CHECK(near(refract(vec<T, 2>{T(0.6), T(-0.8)}, vec<T, 2>{0, 1}, T(0.5)).y, -std::sqrt(0.91)));
    const auto m = mat_of<T, 2, 3>(a, b);
    CHECK(all(eq(mul(m, vec<T, 2>{2, 3}), vec<T, 3>{11, 1, 10})) && all(eq(mul(a, m), vec<T, 2>{9, 5})));
    const auto t = transpose(m);
    CHECK(t[0].x == 1 && t[0].y == 3 && t[2].y == 2 && mul(t, m)[0].y == 5 && mul(m, t)[2].z == 8);
    CHECK(mul(m, T(2))[1].x == 6 && mul(T(2), m)[0].z == 4 && add(m, m)[1].z == 4 && sub(m, m)[1].z == 0);
    CHECK(determinant(mat_of<T, 2, 2>(vec<T, 2>{1, 2}, vec<T, 2>{3, 5})) == -1);
    CHECK(determinant(mat_of<T, 3, 3>(a, b, vec<T, 3>{1, 1, 4})) == -18);
    const vec<T, 4> p{1, 2, 0, 1}, q{0, 3, 1, 2}, r{2, 0, 1, 0}, s{1, 1, 1, 4};
    const auto four = mat_of<T, 4, 4>(p, q, r, s);
    CHECK(determinant(four) == 23 && determinant(transpose(four)) == 23);
    CHECK(all(eq(mul(four, vec<T, 4>{1, 0, 0, 0}), p)) && all(eq(mul(four, four)[0], vec<T, 4>{2, 9, 3, 9})));
}

static void check_narrow() {
    CHECK(quantize_to_f16(1.0f / 3.0f) == 0.333251953125f && quantize_to_f16(vec<f32, 2>{1e-9f, 65503.0f}).y == 65504.0f);
    const auto parts = modf<Parts3>(vec<f32, 3>{1.5f, -2.25f, ENDLESS});
    CHECK(parts.whole.y == -2 && parts.fract.y == -0.25f && parts.whole.z == ENDLESS && parts.fract.z != parts.fract.z);
    const auto split = frexp<Split3>(vec<f32, 3>{1.5f, 1e-45f, -8});
    CHECK(split.fract.y == 0.5f && split.exp.y == -148 && split.exp.z == 4 && split.fract.x == 0.75f);
    const auto half = [](const f32 a) { return convert<f16>(a); };
    const vec<f16, 3> a{half(3), half(4), half(0)};
    CHECK(length(a).bits == half(5).bits && convert<f32>(normalize(a)).y == quantize_to_f16(0.8f));
    // The sum is past f16's range, its root is not.
    CHECK(length(vec<f16, 2>{half(30000), half(40000)}).bits == half(50000).bits);
    CHECK(frexp<Split<f16>>(half(12)).exp == 4 && modf<Parts<f16>>(half(-2.5f)).fract.bits == half(-0.5f).bits);
    CHECK(convert<f32>(mul(mat_of<f16, 2, 3>(a, a), vec<f16, 2>{half(1), half(2)})).y == 12);
    CHECK(round(half(2.5f)).bits == half(2).bits && ldexp(half(1), -24).bits == 1 && mix(a, a, half(0.5f)).y.bits == half(4).bits);
    CHECK(all(le(a, a)) && clamp(half(7), half(1), half(3)).bits == half(3).bits && step(half(1), half(1)).bits == half(1).bits);
}

} }

int main() {
    using namespace wg::proof;
    using wg::f32, wg::f64;
    check_scalars<f32>(), check_scalars<f64>(), check_geometry<f32>(), check_geometry<f64>(), check_narrow();
}
