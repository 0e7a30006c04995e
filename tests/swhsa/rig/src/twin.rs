//! Kernels in HIP's own languages as functions of the host. Their text is compiled by g++ as it is, with the words of HIP C++ that it
//! uses before it and what starts it behind it.

/// The words, over the runtime of host C++. A workgroup's memory is that of whichever workgroup runs: they run one after the other.
const WORDS: &str = r#"
#include <cstddef>
#include <type_traits>
#include <utility>
struct wg_host_place { unsigned x, y, z; };
struct wg_host_ids { wg_host_place local, group, groups; };
extern "C" const wg_host_ids* wg_host_invocation;
extern "C" void wg_host_barrier(int site);
extern "C" void wg_host_run(const unsigned*, const unsigned*, bool, void (*)(void* const*), void* const*);
#define threadIdx (wg_host_invocation->local)
#define blockIdx (wg_host_invocation->group)
#define gridDim (wg_host_invocation->groups)
#define __global__ __attribute__((visibility("hidden")))
#define __device__
#define __shared__ static
#define __syncthreads() wg_host_barrier(__LINE__)
"#;

/// Gives a kernel its arguments, each from its address, whatever their types are.
const START: &str = r"
template <typename... P, std::size_t... I>
static void wg_apply(void (*kernel)(P...), void* const* args, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_cv_t<P>*>(args[I])...);
}
template <typename... P> static void wg_apply(void (*kernel)(P...), void* const* args) {
    wg_apply(kernel, args, std::index_sequence_for<P...>());
}
";

/// The text of a kernel of the host, and the name of the function in it.
pub(crate) fn text(kernel: &str, symbol: &str, workgroup: [u32; 3]) -> (String, String) {
    let [x, y, z] = workgroup;
    let start = format!("wg_twin_{symbol}");
    let text = format!(
        "{WORDS}static const wg_host_place blockDim = {{{x}, {y}, {z}}};
#line 1 \"{symbol}\"
{kernel}{START}
static void wg_body(void* const* args) {{ wg_apply({symbol}, args); }}
extern \"C\" void {start}(const unsigned* groups, void* const* args) {{
    wg_host_run(groups, &blockDim.x, true, wg_body, args);
}}
"
    );
    (text, start)
}
