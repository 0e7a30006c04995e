//! How each dialect spells what the prelude and the kernels are written with: one table of macros. What takes more than a line
//! to say is in the dialect's own part of the prelude.

use crate::{Dialect, FloatMode};

/// One macro.
pub(crate) struct Spelling {
    /// Its name, with parameters if it has any.
    pub(crate) head: &'static str,
    cuda: &'static str,
    hip: &'static str,
    host: &'static str,
    /// What it is on CUDA and on HIP where floats are fast; the host has strict ones alone.
    fast: Option<[&'static str; 2]>,
}

impl Spelling {
    const fn new(head: &'static str, cuda: &'static str, hip: &'static str, host: &'static str) -> Self {
        Self { head, cuda, hip, host, fast: None }
    }

    /// One that all dialects spell alike.
    const fn alike(head: &'static str, body: &'static str) -> Self {
        Self::new(head, body, body, body)
    }

    const fn fast(mut self, cuda: &'static str, hip: &'static str) -> Self {
        self.fast = Some([cuda, hip]);
        self
    }

    /// The name alone.
    pub(crate) fn name(&self) -> &'static str {
        self.head.split('(').next().unwrap_or(self.head)
    }

    /// What it stands for.
    pub(crate) fn body(&self, dialect: Dialect, floats: FloatMode) -> &'static str {
        match (dialect, floats, self.fast) {
            (Dialect::Cuda, FloatMode::Fast, Some([cuda, _])) => cuda,
            (Dialect::Hip, FloatMode::Fast, Some([_, hip])) => hip,
            (Dialect::Cuda, ..) => self.cuda,
            (Dialect::Hip, ..) => self.hip,
            (Dialect::Host, ..) => self.host,
        }
    }
}

const fn row(head: &'static str, cuda: &'static str, hip: &'static str, host: &'static str) -> Spelling {
    Spelling::new(head, cuda, hip, host)
}

/// All macros that differ between dialects or float modes. Columns: CUDA, HIP, host.
pub(crate) const SPELLINGS: &[Spelling] = &[
    // Functions and variables.
    row(
        "WG_FUNCTION",
        "[[maybe_unused]] static __device__ __forceinline__",
        "static __device__ inline __attribute__((always_inline))",
        "static inline",
    ),
    row(
        "WG_FUNCTION_LARGE",
        "[[maybe_unused]] static __device__ __noinline__",
        "static __device__ __attribute__((noinline))",
        "static __attribute__((noinline, unused))",
    ),
    row("WG_MEMBER", "__device__ __forceinline__", "__device__ inline __attribute__((always_inline))", "inline"),
    row("WG_KERNEL(threads)", "__global__ __launch_bounds__(threads)", "__global__ __launch_bounds__(threads)", ""),
    Spelling::alike("WG_RESTRICT", "__restrict__"),
    // NVRTC has the builtin from 13.1 on, and its front end's own word in every version.
    row(
        "WG_OFFSET(type, member)",
        "__INTADDR__(&((type*)0)->member)",
        "__builtin_offsetof(type, member)",
        "__builtin_offsetof(type, member)",
    ),
    // On the host it keeps what the last workgroup left, so that a kernel which does not fill it shows.
    row("WG_SHARED", "__shared__", "__shared__", "static"),
    row(
        "WG_DYNAMIC_SHARED(T)",
        "extern __shared__ uint4 wg_shared_memory[]; return *reinterpret_cast<T*>(wg_shared_memory);",
        "extern __shared__ __attribute__((aligned(16))) unsigned char wg_shared_memory[]; \
         return *reinterpret_cast<T*>(wg_shared_memory);",
        "static T memory; return memory;",
    ),
    row("WG_TABLE", "static __device__", "static __device__", "static"),
    // A place in the code, so that the host can tell one wait from another.
    row("WG_SITE", "", "", "const int site = __builtin_LINE()"),
    row("WG_AND_SITE", "", "", ", const int site = __builtin_LINE()"),
    row("WG_AT_SITE", "", "", ", site"),
    row("WG_CHECK(condition, what)", "", "", "if (!(condition)) wg_host_fail(what);"),
    row(
        "WG_COPY(to, from, bytes)",
        "memcpy(to, from, bytes)",
        "__builtin_memcpy(to, from, bytes)",
        "__builtin_memcpy(to, from, bytes)",
    ),
    row(
        "WG_FILL(to, byte, bytes)",
        "memset(to, byte, bytes)",
        "__builtin_memset(to, byte, bytes)",
        "__builtin_memset(to, byte, bytes)",
    ),
    // Functions of floats. Fast ones only where the lists of the conformance suite say that they are within WGSL's bounds, which
    // they did for all values of `exp`, `log` and `sin` on an H200; there are no lists for the others.
    row("WG_F32(name)", "::name##f", "::name##f", "__builtin_##name##f"),
    row("WG_F64(name)", "::name", "::name", "__builtin_##name"),
    row("WG_MIN32(a, b)", "::fminf(a, b)", "::fminf(a, b)", "lesser(a, b)"),
    row("WG_MIN64(a, b)", "::fmin(a, b)", "::fmin(a, b)", "lesser(a, b)"),
    row("WG_MAX32(a, b)", "::fmaxf(a, b)", "::fmaxf(a, b)", "greater(a, b)"),
    row("WG_MAX64(a, b)", "::fmax(a, b)", "::fmax(a, b)", "greater(a, b)"),
    Spelling::alike("WG_COS(a)", "WG_F32(cos)(a)"),
    Spelling::alike("WG_SIN(a)", "WG_F32(sin)(a)").fast("__sinf(a)", "__sinf(a)"),
    Spelling::alike("WG_TAN(a)", "WG_F32(tan)(a)"),
    Spelling::alike("WG_EXP(a)", "WG_F32(exp)(a)").fast("__expf(a)", "__expf(a)"),
    Spelling::alike("WG_EXP2(a)", "WG_F32(exp2)(a)"),
    Spelling::alike("WG_LOG(a)", "WG_F32(log)(a)").fast("__logf(a)", "__logf(a)"),
    Spelling::alike("WG_LOG2(a)", "WG_F32(log2)(a)"),
    Spelling::alike("WG_POW(a, b)", "WG_F32(pow)(a, b)"),
    row("WG_RSQRT32(a)", "::rsqrtf(a)", "::rsqrtf(a)", "(1.0f / __builtin_sqrtf(a))"),
    row("WG_RSQRT64(a)", "::rsqrt(a)", "::rsqrt(a)", "(1.0 / __builtin_sqrt(a))"),
    // Bits. The builtins of clang and gcc do not take zero.
    row("WG_ONES32(a)", "__popc(a)", "__builtin_popcount(a)", "__builtin_popcount(a)"),
    row("WG_ONES64(a)", "__popcll(a)", "__builtin_popcountll(a)", "__builtin_popcountll(a)"),
    row("WG_LEADING32(a)", "__clz(int(a))", "((a) == 0 ? 32 : __builtin_clz(a))", "((a) == 0 ? 32 : __builtin_clz(a))"),
    row(
        "WG_LEADING64(a)",
        "__clzll(i64(a))",
        "((a) == 0 ? 64 : __builtin_clzll(a))",
        "((a) == 0 ? 64 : __builtin_clzll(a))",
    ),
    row(
        "WG_TRAILING32(a)",
        "__clz(int(__brev(a)))",
        "((a) == 0 ? 32 : __builtin_ctz(a))",
        "((a) == 0 ? 32 : __builtin_ctz(a))",
    ),
    row(
        "WG_TRAILING64(a)",
        "__clzll(i64(__brevll(a)))",
        "((a) == 0 ? 64 : __builtin_ctzll(a))",
        "((a) == 0 ? 64 : __builtin_ctzll(a))",
    ),
    row("WG_REVERSE32(a)", "__brev(a)", "__builtin_bitreverse32(a)", "reversed(a)"),
    row("WG_DOT4I8(a, b)", "signed_byte_dot(a, b)", "byte_products(a, b)", "byte_products(a, b)"),
    row("WG_DOT4U8(a, b)", "unsigned_byte_dot(a, b)", "unsigned_byte_products(a, b)", "unsigned_byte_products(a, b)"),
    // Atomic operations on a place, relaxed. The words are unsigned, for sums that wrap and for the types that CUDA has.
    row(
        "WG_ATOMIC_LOAD(place)",
        "*const_cast<const volatile T*>(&place)",
        "__hip_atomic_load(&place, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
        "place",
    ),
    row(
        "WG_ATOMIC_STORE(place, value)",
        "*const_cast<volatile T*>(&place) = value",
        "__hip_atomic_store(&place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
        "place = value",
    ),
    row(
        "WG_ATOMIC_ADD(place, value)",
        "T(atomicAdd(reinterpret_cast<word<T>*>(&place), word<T>(value)))",
        "__hip_atomic_fetch_add(&place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
        "replaced(place, add(place, value))",
    ),
    row(
        "WG_ATOMIC_AND(place, value)",
        "T(atomicAnd(reinterpret_cast<word<T>*>(&place), word<T>(value)))",
        "__hip_atomic_fetch_and(&place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
        "replaced(place, bit_and(place, value))",
    ),
    row(
        "WG_ATOMIC_OR(place, value)",
        "T(atomicOr(reinterpret_cast<word<T>*>(&place), word<T>(value)))",
        "__hip_atomic_fetch_or(&place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
        "replaced(place, bit_or(place, value))",
    ),
    row(
        "WG_ATOMIC_XOR(place, value)",
        "T(atomicXor(reinterpret_cast<word<T>*>(&place), word<T>(value)))",
        "__hip_atomic_fetch_xor(&place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
        "replaced(place, bit_xor(place, value))",
    ),
    row(
        "WG_ATOMIC_MIN(place, value)",
        "atomicMin(&place, value)",
        "__hip_atomic_fetch_min(&place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
        "replaced(place, min(place, value))",
    ),
    row(
        "WG_ATOMIC_MAX(place, value)",
        "atomicMax(&place, value)",
        "__hip_atomic_fetch_max(&place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
        "replaced(place, max(place, value))",
    ),
    row(
        "WG_ATOMIC_EXCHANGE(place, value)",
        "T(atomicExch(reinterpret_cast<word<T>*>(&place), word<T>(value)))",
        "__hip_atomic_exchange(&place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
        "replaced(place, value)",
    ),
    row(
        "WG_ATOMIC_COMPARE(place, compare, value)",
        "T(atomicCAS(reinterpret_cast<word<T>*>(&place), word<T>(compare), word<T>(value)))",
        "compared(place, compare, value)",
        "replaced(place, place == compare ? value : place)",
    ),
    // Who an invocation is.
    row("WG_LOCAL(k)", "threadIdx.k", "threadIdx.k", "wg_host_invocation->local.k"),
    row("WG_GROUP(k)", "blockIdx.k", "blockIdx.k", "wg_host_invocation->group.k"),
    row("WG_GROUPS(k)", "gridDim.k", "gridDim.k", "wg_host_invocation->groups.k"),
    // What invocations wait for.
    row("WG_BARRIER", "__syncthreads()", "__syncthreads()", "wg_host_barrier(site)"),
    row(
        "WG_SUBGROUP_BARRIER",
        "__syncwarp()",
        "__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, \"wavefront\"); __builtin_amdgcn_wave_barrier()",
        "wg_host_exchange(nullptr, 0, site)",
    ),
    // Exchange among the `n` lanes of a subgroup. HIP's forms with a mask are not in all its versions; the host has its own.
    row(
        "WG_SHUFFLE(n, value, lane)",
        "__shfl_sync(WG_MASK(n), value, lane)",
        "__shfl(value, lane, WG_SUBGROUP_SIZE)",
        "",
    ),
    row("WG_JOINS_AT_ONCE(Op, T)", "joins_at_once<Op, T>", "false", ""),
    row("WG_AT_ONCE(Op, n, value)", "at_once<Op>(WG_MASK(n), value)", "value", ""),
    row("WG_ALL(n, a)", "__all_sync(WG_MASK(n), a) != 0", "__all(a) != 0", ""),
    row("WG_ANY(n, a)", "__any_sync(WG_MASK(n), a) != 0", "__any(a) != 0", ""),
    row("WG_BALLOT(n, a)", "__ballot_sync(WG_MASK(n), a)", "__ballot(a)", ""),
];
