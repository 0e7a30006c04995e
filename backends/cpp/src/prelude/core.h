// What everything else is made of: the scalars, and what is asked of a type.

// The compiler's own types: no header is needed, and none of a header's names is taken.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

// A parameter of this type takes no part in deduction.
template <typename T> struct same_as { typedef T type; };
template <typename T> using itself = typename same_as<T>::type;

template <typename A, typename B> constexpr bool is_same = false;
template <typename A> constexpr bool is_same<A, A> = true;

template <typename T> constexpr bool is_signed = is_same<T, i32> || is_same<T, i64> || is_same<T, i16>;

template <typename T> constexpr bool is_float = is_same<T, f32> || is_same<T, f64>;

template <typename T> constexpr u32 width = 8 * sizeof(T);

// Arithmetic on T is done in its word: unsigned, so that it wraps, and too wide to be promoted to int.
template <typename T> struct word_of { typedef T type; };
template <> struct word_of<i16> { typedef u32 type; };
template <> struct word_of<u16> { typedef u32 type; };
template <> struct word_of<i32> { typedef u32 type; };
template <> struct word_of<i64> { typedef u64 type; };
template <typename T> using word = typename word_of<T>::type;

template <typename T> constexpr T lowest = is_signed<T> ? T(word<T>(1) << (width<T> - 1)) : T(0);

// The bits of a value as they lie in memory. The types have one size.
template <typename To, typename From> WG_FUNCTION To reread(const From value) {
    static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
    To bits{};
    WG_COPY(&bits, &value, sizeof(To));
    return bits;
}
