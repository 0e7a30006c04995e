// Rounding through half precision.

WG_FUNCTION f32 quantize_to_f16(const f32 a) { return half_value(half_bits(a)); }
