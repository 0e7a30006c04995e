// Conversions of value. Floats become integers by truncation, brought into the values that both types have; a NaN becomes the
// least of them.

// The greatest whole number that a float type and an integer type both have.
template <typename From, typename To> struct reach {
    static constexpr u32 digits = width<To> - (is_signed<To> ? 1 : 0);
    static constexpr u32 mantissa = is_same<From, f32> ? 24 : 53;
    static constexpr u64 beyond = digits > mantissa ? (u64(1) << (digits - mantissa)) - 1 : 0;
    static constexpr From high = From(u64(To(~lowest<To>)) - beyond);
};

template <typename To> struct into {
    template <typename From> static WG_MEMBER To of(const From a) {
        if constexpr (is_same<To, bool>) return a != From(0);
        else if constexpr (is_float<From> && !is_float<To>) {
            return To(clamp(a, From(lowest<To>), reach<From, To>::high));
        } else return To(a);
    }
};

template <typename To, typename From> WG_FUNCTION To convert(const From a) { return into<To>::of(a); }

// The bits of each component, as another type of the same size.
template <typename To, typename From> WG_FUNCTION To bitcast(const From a) { return reread<To>(a); }
