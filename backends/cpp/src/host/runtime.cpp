// Runs kernels in host C++: workgroup after workgroup, and within one invocation after invocation. Where a kernel waits, each
// invocation is a fiber, which is kept for the next workgroup and the next kernel. A wait that cannot end is told on stderr and
// ends the program. One run at a time.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define FIBERS_ARE_TOLD 1
#else
#define FIBERS_ARE_TOLD 0
#endif

// Whether fibers change places by code of our own: the system's asks the kernel for the mask of signals at each change.
#if defined(__x86_64__) && !FIBERS_ARE_TOLD
#define FIBERS_ARE_OURS 1
#else
#define FIBERS_ARE_OURS 0
#endif

#ifndef WG_SUBGROUP_SIZE
#define WG_SUBGROUP_SIZE 32
#endif
static_assert(WG_SUBGROUP_SIZE >= 1 && WG_SUBGROUP_SIZE <= 128, "a ballot has 128 bits");

// These are declared alike in the prelude.
struct Invocation {
    uint32_t local[3], group[3], groups[3];
};
struct Gathered {
    uint32_t present[4];
    alignas(32) unsigned char values[128][32];
};
typedef void (*Body)(void* const* args);

namespace {

// Sanitizers make frames large. Pages that are not touched cost nothing.
const size_t STACK_BYTES = FIBERS_ARE_TOLD ? 1 << 20 : 256 << 10;

enum class State { Ready, AtBarrier, AtExchange, Ended };

// Where something goes on. It must not be moved: the system's kind points into itself.
struct Context {
#if FIBERS_ARE_OURS
    void* top;
#else
    ucontext_t system;
#endif
    char* stack;
    void* shadow;
};

struct Fiber {
    Invocation who;
    State state;
    int site;
    // What it brought to an exchange.
    const void* value;
    uint32_t bytes;
    Context* context;
};

struct Run {
    Body body;
    void* const* args;
    std::vector<Fiber> fibers;
    std::vector<Gathered> gathered;
    Fiber* running;
    Context scheduler;
    const void* scheduler_stack;
    size_t scheduler_bytes;
};

// The run whose invocations wait; none while they do not.
Run* run = nullptr;

// Of every fiber that there ever was. Between two workgroups each stands at the end of its body. Never destroyed, as a kernel
// may still run when the program ends.
std::vector<Context*>& contexts = *new std::vector<Context*>;

[[noreturn]] void fail(const char* what) {
    std::fflush(stdout);
    std::fprintf(stderr, "host runtime: %s\n", what);
    std::fflush(stderr);
    std::abort();
}

char* new_stack() {
    const size_t page = size_t(sysconf(_SC_PAGESIZE));
    void* const memory =
        mmap(nullptr, STACK_BYTES + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) fail("no memory for the stack of an invocation; use a smaller workgroup");
    // An overflow faults instead of reaching the stack below.
    if (mprotect(memory, page, PROT_NONE) != 0) fail("the guard of a stack cannot be set");
    return static_cast<char*>(memory) + page;
}

// Around each switch AddressSanitizer is told which stack is left and which one is entered.
void leaving(void** shadow, const void* bottom, size_t bytes) {
#if FIBERS_ARE_TOLD
    __sanitizer_start_switch_fiber(shadow, bottom, bytes);
#else
    (void)shadow, (void)bottom, (void)bytes;
#endif
}

void arrived(void* shadow, const void** bottom, size_t* bytes) {
#if FIBERS_ARE_TOLD
    __sanitizer_finish_switch_fiber(shadow, bottom, bytes);
#else
    (void)shadow, (void)bottom, (void)bytes;
#endif
}

#if FIBERS_ARE_OURS
// Keeps what the System V ABI wants kept on the stack, puts its top behind the first pointer, and goes on at the top that the
// second one is. How floats are rounded is the same for all.
asm(R"(
    .pushsection .text
    .p2align 4
    .type wg_host_change, @function
wg_host_change:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size wg_host_change, . - wg_host_change
    .popsection
)");
extern "C" __attribute__((visibility("hidden"))) void wg_host_change(void** from, void* to);
#endif

// Go on at `to`, until something goes on here.
void change(Context& from, Context& to) {
#if FIBERS_ARE_OURS
    wg_host_change(&from.top, to.top);
#else
    swapcontext(&from.system, &to.system);
#endif
}

// Back to the scheduler, until the invocation may go on.
void wait(State state, int site) {
    Fiber* const fiber = run->running;
    Context& context = *fiber->context;
    fiber->state = state;
    fiber->site = site;
    leaving(&context.shadow, run->scheduler_stack, run->scheduler_bytes);
    change(context, run->scheduler);
    arrived(context.shadow, &run->scheduler_stack, &run->scheduler_bytes);
}

[[noreturn]] void start() {
    arrived(nullptr, &run->scheduler_stack, &run->scheduler_bytes);
    for (;;) {
        run->body(run->args);
        wait(State::Ended, 0);
    }
}

}  // namespace

extern "C" {
const Invocation* wg_host_invocation = nullptr;
}

namespace {

void go_on(Fiber& fiber) {
    run->running = &fiber;
    wg_host_invocation = &fiber.who;
    leaving(&run->scheduler.shadow, fiber.context->stack, STACK_BYTES);
    change(run->scheduler, *fiber.context);
    arrived(run->scheduler.shadow, nullptr, nullptr);
    run->running = nullptr;
}

// Let each subgroup that waits do the first exchange that some of its invocations are at. Whether any did.
bool exchange() {
    bool any = false;
    const size_t all = run->fibers.size();
    for (size_t first = 0; first < all; first += WG_SUBGROUP_SIZE) {
        const size_t count = all - first < WG_SUBGROUP_SIZE ? all - first : WG_SUBGROUP_SIZE;
        Fiber* const members = &run->fibers[first];
        const Fiber* earliest = nullptr;
        for (size_t k = 0; k < count; ++k) {
            if (members[k].state != State::AtExchange) continue;
            if (earliest == nullptr || members[k].site < earliest->site) earliest = &members[k];
        }
        if (earliest == nullptr) continue;
        any = true;
        const int site = earliest->site;
        const uint32_t bytes = earliest->bytes;
        Gathered& to = run->gathered[first / WG_SUBGROUP_SIZE];
        std::memset(to.present, 0, sizeof to.present);
        for (size_t k = 0; k < count; ++k) {
            Fiber& member = members[k];
            if (member.state != State::AtExchange || member.site != site || member.bytes != bytes) continue;
            to.present[k / 32] |= 1u << k % 32;
            if (bytes != 0) std::memcpy(to.values[k], member.value, bytes);
            member.state = State::Ready;
        }
    }
    return any;
}

// Let all pass the barrier that they are at. Whether there is one; that some do not come to it is a failure.
bool pass_barrier() {
    size_t waiting = 0, here = 0;
    int site = 0;
    for (const Fiber& fiber : run->fibers) {
        if (fiber.state != State::AtBarrier) continue;
        if (waiting++ == 0 || fiber.site < site) site = fiber.site;
    }
    if (waiting == 0) return false;
    for (const Fiber& fiber : run->fibers) here += fiber.state == State::AtBarrier && fiber.site == site;
    const size_t all = run->fibers.size();
    if (here != all) {
        const uint32_t* const group = run->fibers[0].who.group;
        char text[256];
        std::snprintf(text, sizeof text,
                      "only %zu of the %zu invocations of workgroup (%u, %u, %u) come to the barrier at line %d, %zu wait "
                      "at another one, %zu have ended; let all of them come to it",
                      here, all, group[0], group[1], group[2], site, waiting - here, all - waiting);
        fail(text);
    }
    for (Fiber& fiber : run->fibers) fiber.state = State::Ready;
    return true;
}

// Let a context that has a stack begin with `start`.
void set_out(Context& context) {
#if FIBERS_ARE_OURS
    // Six registers, where `start` is, and where it would return to, as after a call from a stack that is aligned.
    void** const top = reinterpret_cast<void**>(context.stack + STACK_BYTES) - 8;
    top[6] = reinterpret_cast<void*>(&start);
    context.top = top;
#else
    if (getcontext(&context.system) != 0) fail("no context for an invocation");
    context.system.uc_stack.ss_sp = context.stack;
    context.system.uc_stack.ss_size = STACK_BYTES;
    context.system.uc_link = nullptr;
    makecontext(&context.system, start, 0);
    // AddressSanitizer would clear what it knows of the whole stack at every switch: slowly, and it would then miss overruns.
    context.system.uc_stack.ss_size = 0;
#endif
}

// The context of the fiber with that index.
Context* context(size_t index) {
    while (contexts.size() <= index) {
        Context* const made = new Context{};
        made->stack = new_stack();
        set_out(*made);
        contexts.push_back(made);
    }
    return contexts[index];
}

void run_together() {
    for (Fiber& fiber : run->fibers) fiber.state = State::Ready;
    do {
        for (Fiber& fiber : run->fibers) {
            if (fiber.state == State::Ready) go_on(fiber);
        }
    } while (exchange() || pass_barrier());
}

// Give each invocation its place in a workgroup.
template <typename Each> void for_places(const uint32_t size[3], Each each) {
    for (uint32_t z = 0; z < size[2]; ++z)
        for (uint32_t y = 0; y < size[1]; ++y)
            for (uint32_t x = 0; x < size[0]; ++x) each(x, y, z);
}

}  // namespace

extern "C" {

[[noreturn]] void wg_host_fail(const char* what) { fail(what); }

void wg_host_barrier(int site) {
    if (run == nullptr) fail("a kernel that was started as one that never waits came to a barrier");
    wait(State::AtBarrier, site);
}

const Gathered* wg_host_exchange(const void* value, uint32_t bytes, int site) {
    if (run == nullptr) fail("a kernel that was started as one that never waits came to a subgroup operation");
    if (bytes > sizeof(Gathered::values[0])) fail("a value of a subgroup operation is too large");
    Fiber* const fiber = run->running;
    fiber->value = value;
    fiber->bytes = bytes;
    wait(State::AtExchange, site);
    return &run->gathered[size_t(fiber - run->fibers.data()) / WG_SUBGROUP_SIZE];
}

void wg_host_run(const uint32_t groups[3], const uint32_t size[3], bool waits, Body body, void* const* args) {
    if (run != nullptr) fail("a kernel starts another one");
    const size_t invocations = size_t(size[0]) * size[1] * size[2];
    Run together{};
    if (waits) {
        together.body = body;
        together.args = args;
        together.fibers.resize(invocations);
        for (size_t k = 0; k < invocations; ++k) together.fibers[k].context = context(k);
        together.gathered.resize((invocations + WG_SUBGROUP_SIZE - 1) / WG_SUBGROUP_SIZE);
        run = &together;
    }
    for_places(groups, [&](uint32_t gx, uint32_t gy, uint32_t gz) {
        size_t k = 0;
        for_places(size, [&](uint32_t x, uint32_t y, uint32_t z) {
            const Invocation who = {{x, y, z}, {gx, gy, gz}, {groups[0], groups[1], groups[2]}};
            if (waits) {
                together.fibers[k++].who = who;
            } else {
                wg_host_invocation = &who;
                body(args);
            }
        });
        if (waits) run_together();
    });
    wg_host_invocation = nullptr;
    run = nullptr;
}
}
