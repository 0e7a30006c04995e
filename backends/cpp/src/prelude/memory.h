// Access to memory: indices that stay inside, and stores that leave padding as it is.

// The index of an element that exists: the last one where there is none of that index. An index of 64 bits, or a negative
// one, is beyond every length.
template <typename I> WG_FUNCTION u32 index(const I k, const u32 len) {
    if constexpr (sizeof(I) == 8) return u64(k) < len ? u32(k) : len - 1;
    else return u32(k) < len ? u32(k) : len - 1;
}

// An index that was proven to be inside.
template <typename I> WG_FUNCTION u32 proven(const I k, const u32 len) {
    WG_CHECK(u64(word<I>(k)) < len, "an index that was proven to be inside is not")
    (void)len;
    return u32(k);
}

// Whether T fills the slot that it is in.
template <typename T> constexpr bool fills = !__is_class(T);

// A store to memory that somebody may look at byte by byte: padding stays as it is. Structs with padding have a `put` of their
// own beside them, which is found by their type.
template <typename T> WG_FUNCTION void put(T& place, const itself<T>& value) { place = value; }

template <typename T> WG_FUNCTION T volatile_load(const T& place) { return *const_cast<const volatile T*>(&place); }

template <typename T> WG_FUNCTION void volatile_store(T& place, const itself<T> value) {
    *const_cast<volatile T*>(&place) = value;
}
