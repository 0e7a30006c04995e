// Half precision in memory.

template <> constexpr bool fills<f16> = true;

WG_FUNCTION f16 volatile_load(const f16& place) { return {volatile_load(place.bits)}; }

WG_FUNCTION void volatile_store(f16& place, const f16 value) { volatile_store(place.bits, value.bits); }
