// What CUDA alone has. Half precision is converted by PTX, since cuda_fp16.h would have to be found on the machine.

#define WG_SUBGROUP_SIZE 32u

// The lanes that exist. Which ones are active is no answer: a warp may be split at any time.
#define WG_MASK(n) (~0u >> (32u - (n)))

WG_FUNCTION u16 half_bits(const f32 a) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(a));
    return bits;
}
WG_FUNCTION u16 half_bits(const f64 a) {
    u16 bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(a));
    return bits;
}

WG_FUNCTION f32 half_value(const u16 bits) {
    f32 a;
    asm("cvt.f32.f16 %0, %1;" : "=f"(a) : "h"(bits));
    return a;
}

WG_FUNCTION u16 half_fma(const u16 a, const u16 b, const u16 c) {
    u16 bits;
    asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(bits) : "h"(a), "h"(b), "h"(c));
    return bits;
}

// Four products of bytes and their sum. The function that the toolkit has for it is in a header, which NVRTC 12 does not know.
WG_FUNCTION i32 signed_byte_dot(const u32 a, const u32 b) {
    i32 sum;
    asm("dp4a.s32.s32 %0, %1, %2, 0;" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
}

WG_FUNCTION u32 unsigned_byte_dot(const u32 a, const u32 b) {
    u32 sum;
    asm("dp4a.u32.u32 %0, %1, %2, 0;" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
}
