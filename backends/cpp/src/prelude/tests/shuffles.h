// What CUDA and HIP have and the ladder of the prelude needs, over the host's runtime: so its steps are tried where they can be
// seen. HIP's exchanges name no lanes; a lane that is read has to be there all the same.

#include <math.h>

extern "C" {
struct wg_host_place { unsigned x, y, z; };
struct wg_host_ids { wg_host_place local, group, groups; };
extern const wg_host_ids* wg_host_invocation;
struct wg_host_gathered { unsigned present[4]; alignas(32) unsigned char values[128][32]; };
const wg_host_gathered* wg_host_exchange(const void* value, unsigned bytes, int site);
void wg_host_barrier(int site);
[[noreturn]] void wg_host_fail(const char* what);
void wg_host_run(const unsigned groups[3], const unsigned size[3], bool waits, void (*body)(void* const*), void* const*);
}

#define __device__
#define __forceinline__ inline
#define __shared__ static
#define threadIdx (wg_host_invocation->local)
#define blockIdx (wg_host_invocation->group)
#define gridDim (wg_host_invocation->groups)
#define __syncthreads() wg_host_barrier(0)
#define __syncwarp() wg_host_exchange(nullptr, 0, 0)
#define memcpy __builtin_memcpy
#define memset __builtin_memset
#define atomicAdd(place, value) __atomic_fetch_add(place, value, __ATOMIC_RELAXED)

// Every lane of the mask has to come, and no other: that is what CUDA asks for.
static const wg_host_gathered* shim_exchange(unsigned mask, const void* value, unsigned bytes) {
    const wg_host_gathered* const from = wg_host_exchange(value, bytes, 0);
    if (from->present[0] != mask) wg_host_fail("the mask is not that of the lanes that are here");
    return from;
}

template <typename T> static T __shfl_sync(unsigned mask, T value, int lane) {
    const wg_host_gathered* const from = shim_exchange(mask, &value, sizeof(T));
    if (lane < 0 || lane > 31 || (mask >> lane & 1) == 0) wg_host_fail("a lane is read that is not in the mask");
    __builtin_memcpy(&value, from->values[lane], sizeof(T));
    return value;
}

static unsigned __ballot_sync(unsigned mask, bool holds) {
    const wg_host_gathered* const from = shim_exchange(mask, &holds, 1);
    unsigned bits = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (mask >> lane & 1 && from->values[lane][0]) bits |= 1u << lane;
    }
    return bits;
}

static int __all_sync(unsigned mask, bool holds) { return __ballot_sync(mask, holds) == mask; }

static int __any_sync(unsigned mask, bool holds) { return __ballot_sync(mask, holds) != 0; }

#define __HIP_MEMORY_SCOPE_AGENT 0
#define __hip_atomic_fetch_add(place, value, order, scope) __atomic_fetch_add(place, value, order)
#define __builtin_amdgcn_fence(order, scope) (void)0
#define __builtin_amdgcn_wave_barrier() wg_host_exchange(nullptr, 0, 0)

template <typename T> static T __shfl(T value, int lane, int) {
    const wg_host_gathered* const from = wg_host_exchange(&value, sizeof(T), 0);
    if (lane < 0 || lane > 127 || (from->present[lane / 32] >> lane % 32 & 1) == 0) wg_host_fail("a lane is read that is not here");
    __builtin_memcpy(&value, from->values[lane], sizeof(T));
    return value;
}

static unsigned long long __ballot(bool holds) {
    const wg_host_gathered* const from = wg_host_exchange(&holds, 1, 0);
    unsigned long long bits = 0;
    for (unsigned lane = 0; lane < 64; ++lane) {
        if (from->present[lane / 32] >> lane % 32 & 1 && from->values[lane][0]) bits |= 1ull << lane;
    }
    return bits;
}

static int __all(bool holds) { return __ballot(!holds) == 0; }

static int __any(bool holds) { return __ballot(holds) != 0; }
