// Atomic operations, relaxed, among all invocations of the device.

template <typename T> WG_FUNCTION T atomic_load(const T& place) { return WG_ATOMIC_LOAD(place); }

template <typename T> WG_FUNCTION void atomic_store(T& place, const itself<T> value) { WG_ATOMIC_STORE(place, value); }

template <typename T> WG_FUNCTION T atomic_add(T& place, const itself<T> value) { return WG_ATOMIC_ADD(place, value); }

template <typename T> WG_FUNCTION T atomic_sub(T& place, const itself<T> value) {
    const T less = neg(value);
    return WG_ATOMIC_ADD(place, less);
}

template <typename T> WG_FUNCTION T atomic_and(T& place, const itself<T> value) { return WG_ATOMIC_AND(place, value); }

template <typename T> WG_FUNCTION T atomic_or(T& place, const itself<T> value) { return WG_ATOMIC_OR(place, value); }

template <typename T> WG_FUNCTION T atomic_xor(T& place, const itself<T> value) { return WG_ATOMIC_XOR(place, value); }

template <typename T> WG_FUNCTION T atomic_min(T& place, const itself<T> value) { return WG_ATOMIC_MIN(place, value); }

template <typename T> WG_FUNCTION T atomic_max(T& place, const itself<T> value) { return WG_ATOMIC_MAX(place, value); }

template <typename T> WG_FUNCTION T atomic_exchange(T& place, const itself<T> value) {
    return WG_ATOMIC_EXCHANGE(place, value);
}

// R is a struct of the old value and of whether it was exchanged.
template <typename R, typename T>
WG_FUNCTION R atomic_compare_exchange(T& place, const itself<T> compare, const itself<T> value) {
    const T old = WG_ATOMIC_COMPARE(place, compare, value);
    return R{old, old == compare};
}
