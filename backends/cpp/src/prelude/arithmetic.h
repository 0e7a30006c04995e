// Operators on scalars: integers wrap, and division is defined for every operand.

template <typename T> WG_FUNCTION T add(const T a, const T b) { return T(word<T>(a) + word<T>(b)); }

template <typename T> WG_FUNCTION T sub(const T a, const T b) { return T(word<T>(a) - word<T>(b)); }

template <typename T> WG_FUNCTION T mul(const T a, const T b) { return T(word<T>(a) * word<T>(b)); }

// The divisor, or one where the quotient would not exist: x / 0 is x, and the least value by -1 is itself.
template <typename T> WG_FUNCTION T divisor(const T a, const T b) {
    bool missing = b == T(0);
    if constexpr (is_signed<T>) missing = missing | ((b == T(-1)) & (a == lowest<T>));
    return missing ? T(1) : b;
}

template <typename T> WG_FUNCTION T div(const T a, const T b) {
    if constexpr (is_float<T>) return a / b;
    else return T(a / divisor(a, b));
}

template <typename T> WG_FUNCTION T rem(const T a, const T b) {
    if constexpr (is_same<T, f32>) return WG_F32(fmod)(a, b);
    else if constexpr (is_same<T, f64>) return WG_F64(fmod)(a, b);
    else return T(a % divisor(a, b));
}

template <typename T> WG_FUNCTION T neg(const T a) {
    if constexpr (is_float<T>) return -a;
    else return T(word<T>(0) - word<T>(a));
}

template <typename T> WG_FUNCTION T bit_and(const T a, const T b) { return T(a & b); }

template <typename T> WG_FUNCTION T bit_or(const T a, const T b) { return T(a | b); }

template <typename T> WG_FUNCTION T bit_xor(const T a, const T b) { return T(a ^ b); }

template <typename T> WG_FUNCTION T bit_not(const T a) {
    if constexpr (is_same<T, bool>) return !a;
    else return T(~a);
}

// Only the bits of the amount that name a place count.
template <typename T> WG_FUNCTION T shl(const T a, const u32 amount) {
    return T(word<T>(a) << (amount & (width<T> - 1)));
}

template <typename T> WG_FUNCTION T shr(const T a, const u32 amount) { return T(a >> (amount & (width<T> - 1))); }

template <typename T> WG_FUNCTION bool eq(const T a, const T b) { return a == b; }

template <typename T> WG_FUNCTION bool ne(const T a, const T b) { return a != b; }

template <typename T> WG_FUNCTION bool lt(const T a, const T b) { return a < b; }

template <typename T> WG_FUNCTION bool le(const T a, const T b) { return a <= b; }

template <typename T> WG_FUNCTION bool gt(const T a, const T b) { return a > b; }

template <typename T> WG_FUNCTION bool ge(const T a, const T b) { return a >= b; }

WG_FUNCTION bool logical_not(const bool a) { return !a; }

WG_FUNCTION bool logical_and(const bool a, const bool b) { return a && b; }

WG_FUNCTION bool logical_or(const bool a, const bool b) { return a || b; }

template <typename T> WG_FUNCTION T select(const T reject, const T accept, const bool condition) {
    return condition ? accept : reject;
}

WG_FUNCTION bool all(const bool a) { return a; }

WG_FUNCTION bool any(const bool a) { return a; }

template <typename T> WG_FUNCTION T abs(const T a) {
    if constexpr (is_same<T, f32>) return WG_F32(fabs)(a);
    else if constexpr (is_same<T, f64>) return WG_F64(fabs)(a);
    else if constexpr (is_signed<T>) return a < T(0) ? neg(a) : a;
    else return a;
}

// Of a number and a NaN it is the number.
template <typename T> WG_FUNCTION T min(const T a, const T b) {
    if constexpr (is_same<T, f32>) return WG_MIN32(a, b);
    else if constexpr (is_same<T, f64>) return WG_MIN64(a, b);
    else return b < a ? b : a;
}

template <typename T> WG_FUNCTION T max(const T a, const T b) {
    if constexpr (is_same<T, f32>) return WG_MAX32(a, b);
    else if constexpr (is_same<T, f64>) return WG_MAX64(a, b);
    else return a < b ? b : a;
}

template <typename T> WG_FUNCTION T clamp(const T a, const T low, const T high) { return min(max(a, low), high); }

template <typename T> WG_FUNCTION T sign(const T a) {
    if constexpr (is_signed<T> || is_float<T>) return a > T(0) ? T(1) : a < T(0) ? T(-1) : T(0);
    else return a != T(0) ? T(1) : T(0);
}
