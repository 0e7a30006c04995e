// What clang has for HIP and NVRTC has not: builtins of the compiler, half precision, atomics, and exchange among the lanes of a wave
// without a mask. A wave is a warp, so all of its lanes that exist are meant.

#define __HIP_PLATFORM_NVIDIA__ 1

#define __builtin_memcpy memcpy
#define __builtin_memset memset
#define __builtin_popcount(a) __popc(a)
#define __builtin_popcountll(a) __popcll(a)
#define __builtin_clz(a) __clz(int(a))
#define __builtin_clzll(a) __clzll((long long)(a))
#define __builtin_ctz(a) (__ffs(int(a)) - 1)
#define __builtin_ctzll(a) (__ffsll((long long)(a)) - 1)
#define __builtin_bitreverse32(a) __brev(a)
#define __builtin_bitreverse64(a) __brevll(a)
#undef __builtin_offsetof
#define __builtin_offsetof(type, member) __INTADDR__(&((type*)0)->member)

// Scopes within a workgroup begin with a w; any wider one gets the widest fence.
#define __builtin_amdgcn_fence(order, scope) hip_on_cuda::fence<(scope)[0] == 'w'>()
#define __builtin_amdgcn_wave_barrier() __syncwarp()

#ifndef __ATOMIC_RELAXED
#define __ATOMIC_RELAXED 0
#define __ATOMIC_ACQUIRE 2
#define __ATOMIC_RELEASE 3
#define __ATOMIC_ACQ_REL 4
#define __ATOMIC_SEQ_CST 5
#endif
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5

namespace hip_on_cuda {

template <bool in_workgroup> __device__ __forceinline__ void fence() {
    if (in_workgroup) {
        __threadfence_block();
    } else {
        __threadfence_system();
    }
}

// Atomics here are relaxed and seen by the whole device. What asks for more is refused, as it would get less.
template <int order, int scope> __device__ __forceinline__ void relaxed_on_device() {
    static_assert(order == __ATOMIC_RELAXED, "HIP on CUDA has relaxed atomics alone");
    static_assert(scope <= __HIP_MEMORY_SCOPE_AGENT, "HIP on CUDA has no atomics for the whole system");
}

template <int bytes> struct Word;
template <> struct Word<4> {
    typedef unsigned int unsigned_type;
    typedef int signed_type;
};
template <> struct Word<8> {
    typedef unsigned long long unsigned_type;
    typedef long long signed_type;
};

template <typename T> using UnsignedWord = typename Word<sizeof(T)>::unsigned_type;
template <typename T> using SignedWord = typename Word<sizeof(T)>::signed_type;

template <typename T> __device__ __forceinline__ UnsignedWord<T> bits(const T value) {
    UnsignedWord<T> word;
    memcpy(&word, &value, sizeof word);
    return word;
}

template <typename T> __device__ __forceinline__ T value_of(const UnsignedWord<T> word) {
    T value;
    memcpy(&value, &word, sizeof word);
    return value;
}

template <typename T> __device__ __forceinline__ UnsignedWord<T>* word_at(T* place) {
    return reinterpret_cast<UnsignedWord<T>*>(place);
}

// Whole numbers by their bits; floats as they are.
template <typename T> __device__ __forceinline__ T fetch_add(T* place, const T value) {
    return value_of<T>(atomicAdd(word_at(place), bits(value)));
}
__device__ __forceinline__ float fetch_add(float* place, const float value) { return atomicAdd(place, value); }
__device__ __forceinline__ double fetch_add(double* place, const double value) { return atomicAdd(place, value); }

template <typename T> __device__ __forceinline__ T fetch_and(T* place, const T value) {
    return value_of<T>(atomicAnd(word_at(place), bits(value)));
}
template <typename T> __device__ __forceinline__ T fetch_or(T* place, const T value) {
    return value_of<T>(atomicOr(word_at(place), bits(value)));
}
template <typename T> __device__ __forceinline__ T fetch_xor(T* place, const T value) {
    return value_of<T>(atomicXor(word_at(place), bits(value)));
}
template <typename T> __device__ __forceinline__ T fetch_min(T* place, const T value) {
    static_assert(T(0.5) == T(0), "HIP on CUDA has the minimum of whole numbers alone");
    if (T(-1) < T(0)) return T(atomicMin(reinterpret_cast<SignedWord<T>*>(place), SignedWord<T>(value)));
    return T(atomicMin(word_at(place), UnsignedWord<T>(value)));
}
template <typename T> __device__ __forceinline__ T fetch_max(T* place, const T value) {
    static_assert(T(0.5) == T(0), "HIP on CUDA has the maximum of whole numbers alone");
    if (T(-1) < T(0)) return T(atomicMax(reinterpret_cast<SignedWord<T>*>(place), SignedWord<T>(value)));
    return T(atomicMax(word_at(place), UnsignedWord<T>(value)));
}
template <typename T> __device__ __forceinline__ T exchange(T* place, const T value) {
    return value_of<T>(atomicExch(word_at(place), bits(value)));
}
template <typename T> __device__ __forceinline__ bool compare_exchange(T* place, T* expected, const T value) {
    const UnsignedWord<T> wanted = bits(*expected);
    const UnsignedWord<T> found = atomicCAS(word_at(place), wanted, bits(value));
    *expected = value_of<T>(found);
    return found == wanted;
}
template <typename T> __device__ __forceinline__ T load(const T* place) { return *const_cast<const volatile T*>(place); }
template <typename T> __device__ __forceinline__ void store(T* place, const T value) {
    *const_cast<volatile T*>(place) = value;
}

// A number of half precision, by its bits.
struct Half {
    unsigned short bits;
    Half() = default;
    __device__ __forceinline__ explicit Half(const float a) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(a)); }
    __device__ __forceinline__ explicit Half(const double a) { asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(a)); }
    __device__ __forceinline__ operator float() const {
        float a;
        asm("cvt.f32.f16 %0, %1;" : "=f"(a) : "h"(bits));
        return a;
    }
};

__device__ __forceinline__ Half fma_half(const Half a, const Half b, const Half c) {
    Half sum;
    asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(sum.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits));
    return sum;
}

template <typename T> __device__ __forceinline__ T shuffle(const T value, const int lane, const int width = 32) {
    return __shfl_sync(0xffffffffu, value, lane, width);
}
template <typename T> __device__ __forceinline__ T shuffle_up(const T value, const unsigned by, const int width = 32) {
    return __shfl_up_sync(0xffffffffu, value, by, width);
}
template <typename T> __device__ __forceinline__ T shuffle_down(const T value, const unsigned by, const int width = 32) {
    return __shfl_down_sync(0xffffffffu, value, by, width);
}
template <typename T> __device__ __forceinline__ T shuffle_xor(const T value, const int mask, const int width = 32) {
    return __shfl_xor_sync(0xffffffffu, value, mask, width);
}
__device__ __forceinline__ unsigned long long ballot(const int holds) { return __ballot_sync(0xffffffffu, holds); }
__device__ __forceinline__ int all(const int holds) { return __all_sync(0xffffffffu, holds); }
__device__ __forceinline__ int any(const int holds) { return __any_sync(0xffffffffu, holds); }

}  // namespace hip_on_cuda

#define _Float16 hip_on_cuda::Half
#define __builtin_fmaf16(a, b, c) hip_on_cuda::fma_half(a, b, c)

#define __hip_atomic_load(place, order, scope) \
    (hip_on_cuda::relaxed_on_device<order, scope>(), hip_on_cuda::load(place))
#define __hip_atomic_store(place, value, order, scope) \
    (hip_on_cuda::relaxed_on_device<order, scope>(), hip_on_cuda::store(place, value))
#define __hip_atomic_fetch_add(place, value, order, scope) \
    (hip_on_cuda::relaxed_on_device<order, scope>(), hip_on_cuda::fetch_add(place, value))
#define __hip_atomic_fetch_and(place, value, order, scope) \
    (hip_on_cuda::relaxed_on_device<order, scope>(), hip_on_cuda::fetch_and(place, value))
#define __hip_atomic_fetch_or(place, value, order, scope) \
    (hip_on_cuda::relaxed_on_device<order, scope>(), hip_on_cuda::fetch_or(place, value))
#define __hip_atomic_fetch_xor(place, value, order, scope) \
    (hip_on_cuda::relaxed_on_device<order, scope>(), hip_on_cuda::fetch_xor(place, value))
#define __hip_atomic_fetch_min(place, value, order, scope) \
    (hip_on_cuda::relaxed_on_device<order, scope>(), hip_on_cuda::fetch_min(place, value))
#define __hip_atomic_fetch_max(place, value, order, scope) \
    (hip_on_cuda::relaxed_on_device<order, scope>(), hip_on_cuda::fetch_max(place, value))
#define __hip_atomic_exchange(place, value, order, scope) \
    (hip_on_cuda::relaxed_on_device<order, scope>(), hip_on_cuda::exchange(place, value))
#define __hip_atomic_compare_exchange_strong(place, expected, value, order, failed, scope)                  \
    (hip_on_cuda::relaxed_on_device<order, scope>(), hip_on_cuda::relaxed_on_device<failed, scope>(), \
     hip_on_cuda::compare_exchange(place, expected, value))

// NVRTC has forms without a mask of some of them, with other types and of no use.
#define __shfl(...) hip_on_cuda::shuffle(__VA_ARGS__)
#define __shfl_up(...) hip_on_cuda::shuffle_up(__VA_ARGS__)
#define __shfl_down(...) hip_on_cuda::shuffle_down(__VA_ARGS__)
#define __shfl_xor(...) hip_on_cuda::shuffle_xor(__VA_ARGS__)
#define __ballot(holds) hip_on_cuda::ballot(holds)
#define __all(holds) hip_on_cuda::all(holds)
#define __any(holds) hip_on_cuda::any(holds)
