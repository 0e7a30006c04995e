// Kernels that are wrong, each in a way that has to end the program.

#include <cstring>

using namespace wg;

static const char* wrong = "";

static bool is(const char* what) { return std::strcmp(wrong, what) == 0; }

static u32 __attribute__((noinline)) deep(const u32 n) {
    volatile unsigned char frame[4096];
    frame[n % 4096] = 1;
    return n == 0 ? 0 : deep(n - 1) + frame[n % 4096];
}

static void body(void* const*) {
    const u32 k = local_index<8, 1, 1>();
    barrier();
    if (is("missing") && workgroup_id().x == 1 && k >= 3) return;
    if (is("different") && k >= 3) {
        barrier();
    } else {
        barrier();
    }
    if (is("proof")) proven(k + 3, 10u);
    if (is("negative")) proven(i32(k) - 1, 10u);
    if (is("deep")) give(deep(1000));
}

int main(int count, char** args) {
    if (count > 1) wrong = args[1];
    const u32 groups[3] = {2, 1, 1}, size[3] = {8, 1, 1};
    ::wg_host_run(groups, size, !is("undeclared"), body, nullptr);
}
