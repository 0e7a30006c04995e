// Elements in memory: a vector of three takes the room of four.

template <typename T> struct slot { T v; };
template <typename T> struct alignas(4 * sizeof(T)) slot<vec<T, 3>> { vec<T, 3> v; };

template <typename T, u32 N> struct arr {
    slot<T> e[N];
    WG_MEMBER T& operator[](const u32 k) { return e[k].v; }
    WG_MEMBER const T& operator[](const u32 k) const { return e[k].v; }
};

template <typename T, u32 N, typename... Elements> WG_FUNCTION arr<T, N> arr_of(const Elements... elements) {
    static_assert(sizeof...(Elements) == N, "one value for each element");
    return {{slot<T>{elements}...}};
}

// Elements of type E at the end of a struct.
template <typename E, typename B> WG_FUNCTION slot<E>* tail(B* start, const u32 offset) {
    return reinterpret_cast<slot<E>*>(reinterpret_cast<unsigned char*>(start) + offset);
}
template <typename E, typename B> WG_FUNCTION const slot<E>* tail(const B* start, const u32 offset) {
    return reinterpret_cast<const slot<E>*>(reinterpret_cast<const unsigned char*>(start) + offset);
}
