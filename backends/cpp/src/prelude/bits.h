// Functions on the bits of integers, at every width.

// The bits of an integer without its sign, in 32 or 64.
template <typename T> WG_FUNCTION word<T> raw(const T a) {
    if constexpr (is_same<T, i16>) return u16(a);
    else return word<T>(a);
}

// How many bits of the word are above T's.
template <typename T> constexpr u32 spare = width<word<T>> - width<T>;

template <typename T> WG_FUNCTION T count_one_bits(const T a) {
    if constexpr (width<T> == 64) return T(WG_ONES64(raw(a)));
    else return T(WG_ONES32(raw(a)));
}

template <typename T> WG_FUNCTION T count_leading_zeros(const T a) {
    if constexpr (width<T> == 64) return T(WG_LEADING64(raw(a)));
    else return T(WG_LEADING32(raw(a)) - spare<T>);
}

template <typename T> WG_FUNCTION T count_trailing_zeros(const T a) {
    if constexpr (width<T> == 64) return T(WG_TRAILING64(raw(a)));
    else if constexpr (width<T> == 32) return T(WG_TRAILING32(raw(a)));
    else return T(WG_TRAILING32(raw(a) | 0x10000u));
}

template <typename T> WG_FUNCTION T reverse_bits(const T a) {
    if constexpr (width<T> == 64) {
        const u64 x = raw(a);
        return T(u64(WG_REVERSE32(u32(x))) << 32 | WG_REVERSE32(u32(x >> 32)));
    } else {
        return T(WG_REVERSE32(raw(a)) >> spare<T>);
    }
}

// The place of the lowest one; all ones where there is none.
template <typename T> WG_FUNCTION T first_trailing_bit(const T a) {
    return a == T(0) ? T(-1) : count_trailing_zeros(a);
}

// The place of the highest bit that differs from the sign; all ones where there is none.
template <typename T> WG_FUNCTION T first_leading_bit(const T a) {
    const T x = is_signed<T> && !(a >= T(0)) ? T(~a) : a;
    return T(word<T>(width<T> - 1) - word<T>(count_leading_zeros(x)));
}

template <typename T> WG_FUNCTION T extract_bits(const T a, const u32 offset, const u32 count) {
    const u32 from = min(offset, width<T>);
    const u32 n = min(count, width<T> - from);
    if (n == 0) return T(0);
    // The field goes to the top and comes down again, with its sign if T has one.
    const T top = T(word<T>(a) << (width<T> - from - n));
    return T(top >> (width<T> - n));
}

template <typename T> WG_FUNCTION T insert_bits(const T a, const T bits, const u32 offset, const u32 count) {
    const u32 from = min(offset, width<T>);
    const u32 n = min(count, width<T> - from);
    if (n == 0) return a;
    const word<T> ones = word<T>(~word<T>(0)) >> (width<word<T>> - n);
    const word<T> mask = word<T>(ones << from);
    return T((raw(a) & ~mask) | (word<T>(raw(bits) << from) & mask));
}
