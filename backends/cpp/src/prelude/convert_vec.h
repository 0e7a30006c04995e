// Conversions of vectors, component by component.

#define WG_EACH_TO(name) \
    template <typename To, typename T> WG_FUNCTION vec<To, 2> name(const vec<T, 2> a) { \
        return {name<To>(a.x), name<To>(a.y)}; \
    } \
    template <typename To, typename T> WG_FUNCTION vec<To, 3> name(const vec<T, 3> a) { \
        return {name<To>(a.x), name<To>(a.y), name<To>(a.z)}; \
    } \
    template <typename To, typename T> WG_FUNCTION vec<To, 4> name(const vec<T, 4> a) { \
        return {name<To>(a.x), name<To>(a.y), name<To>(a.z), name<To>(a.w)}; \
    }

WG_EACH_TO(convert)
WG_EACH_TO(bitcast)
