//! Small kernels as they are written, to be read.

use expect_test::{Expect, expect};
use graphreel::kernel::Variant;
use graphreel_cpp::{Dialect, Options};

use crate::rig::own;

fn check(wgsl: &str, options: &Options, expected: &Expect) {
    expected.assert_eq(&own(wgsl, options));
}

#[test]
fn saxpy() {
    let wgsl = "
        var<immediate> a: f32;
        @group(0) @binding(0) var<storage, read> x: array<f32>;
        @group(0) @binding(1) var<storage, read_write> y: array<f32>;
        @compute @workgroup_size(256) fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
            let i = id.x;
            if i < arrayLength(&y) { y[i] = a * x[i] + y[i]; }
        }";
    check(
        wgsl,
        &Options::new(Dialect::Cuda),
        &expect![[r#"
            namespace wg { namespace wgk_saxpy {
            extern "C" WG_KERNEL(256) void wgk_saxpy(const f32 a, const f32* WG_RESTRICT x, const u32 x_len, f32* WG_RESTRICT y, const u32 y_len) {
                const vec<u32, 3> id = wg::global_id<256, 1, 1>();
                const u32 i = id.x;
                if (i < y_len) {
                    y[i] = a * x[wg::index(i, x_len)] + y[i];
                }
            }
            } }
        "#]],
    );
}

#[test]
fn a_reduction_on_hip() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read> input: array<i32>;
        @group(0) @binding(1) var<storage, read_write> sums: array<i32>;
        var<workgroup> scratch: array<i32, 128>;
        @compute @workgroup_size(128) fn reduce(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
            let i = group.x * 128u + lane;
            scratch[lane] = select(0, input[i], i < arrayLength(&input));
            for (var step = 64u; step > 0u; step >>= 1u) {
                workgroupBarrier();
                if lane < step { scratch[lane] += scratch[lane + step]; }
            }
            if lane == 0u { sums[group.x] = scratch[0]; }
        }";
    check(
        wgsl,
        &Options::new(Dialect::Hip),
        &expect![[r#"
            namespace wg { namespace wgk_reduce {
            struct alignas(16) wg_Shared {
                alignas(16) arr<i32, 128> scratch;
            };
            static_assert(sizeof(wg_Shared) == 512, "layout");
            extern "C" WG_KERNEL(128) void wgk_reduce(const i32* WG_RESTRICT input, const u32 input_len, i32* WG_RESTRICT sums, const u32 sums_len) {
                WG_SHARED wg_Shared wg_shared;
                wg::zero_shared<128, 1, 1>(wg_shared);
                const vec<u32, 3> group = wg::workgroup_id();
                const u32 lane = wg::local_index<128, 1, 1>();
                u32 step_ = 64u;
                const u32 i = group.x * 128u + lane;
                wg_shared.scratch[lane] = i < input_len ? input[wg::index(i, input_len)] : 0;
                for (;;) {
                    if (!(step_ > 0u)) {
                        break;
                    }
                    wg::barrier();
                    if (lane < step_) {
                        wg_shared.scratch[lane] = wg::add(wg_shared.scratch[lane], wg_shared.scratch[lane + step_]);
                    }
                    step_ = step_ >> 1u;
                }
                if (lane == 0u) {
                    sums[wg::index(group.x, sums_len)] = wg_shared.scratch[0u];
                }
            }
            } }
        "#]],
    );
}

#[test]
fn structs_keep_their_layout_and_their_padding() {
    let wgsl = "
        struct Particle { place: vec3<f32>, speed: vec3<f32>, mass: f32 }
        struct Scene { count: u32, particles: array<Particle> }
        @group(0) @binding(0) var<storage, read_write> scene: Scene;
        fn moved(p: Particle, by: f32) -> Particle { return Particle(p.place + p.speed * by, p.speed, p.mass); }
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x >= min(scene.count, arrayLength(&scene.particles)) { return; }
            scene.particles[id.x] = moved(scene.particles[id.x], 0.5);
        }";
    check(
        wgsl,
        &Options::new(Dialect::Cuda),
        &expect![[r#"
            namespace wg { namespace wgk_main {
            struct alignas(16) Particle {
                vec<f32, 3> place;
                unsigned char wg_pad0[4];
                vec<f32, 3> speed;
                f32 mass;
            };
            static_assert(sizeof(Particle) == 32, "layout");
            static_assert(WG_OFFSET(Particle, place) == 0, "layout");
            static_assert(WG_OFFSET(Particle, speed) == 16, "layout");
            static_assert(WG_OFFSET(Particle, mass) == 28, "layout");
            WG_FUNCTION void put(Particle& wg_to, const Particle& wg_from) {
                wg::put(wg_to.place, wg_from.place);
                wg::put(wg_to.speed, wg_from.speed);
                wg::put(wg_to.mass, wg_from.mass);
            }
            struct alignas(16) Scene {
                u32 count;
                unsigned char wg_pad0[12];
            };
            static_assert(WG_OFFSET(Scene, count) == 0, "layout");
            WG_FUNCTION Particle moved(const Particle p, const f32 by) {
                return Particle{wg::add(p.place, wg::mul(p.speed, by)), {}, p.speed, p.mass};
            }
            extern "C" WG_KERNEL(64) void wgk_main(Scene* WG_RESTRICT scene, const u32 scene_len) {
                const vec<u32, 3> id = wg::global_id<64, 1, 1>();
                if (id.x >= wg::min(scene->count, scene_len)) {
                    return;
                }
                const Particle _e20 = moved(wg::tail<Particle>(scene, 16u)[id.x].v, 0.5f);
                put(wg::tail<Particle>(scene, 16u)[id.x].v, _e20);
            }
            } }
        "#]],
    );
}

#[test]
fn a_loop_with_a_continuing_block() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn main() {
            var i = 0u;
            loop {
                let next = i * 2u + 1u;
                switch next % 3u { case 0u: { continue; } case 1u, 2u: { out[i] = next; } default: {} }
                continuing { i = next; break if next > 100u; }
            }
        }";
    check(
        wgsl,
        &Options::new(Dialect::Cuda),
        &expect![[r#"
            namespace wg { namespace wgk_main {
            extern "C" WG_KERNEL(1) void wgk_main(u32* WG_RESTRICT out, const u32 out_len) {
                u32 i = 0u;
                u32 next = 0u;
                for (;;) {
                    {
                        next = i * 2u + 1u;
                        switch (next % 3u) {
                            case 0u: {
                                goto next_1;
                            }
                            case 1u:
                            case 2u: {
                                out[wg::index(i, out_len)] = next;
                                break;
                            }
                            default: {
                                break;
                            }
                        }
                    }
                    next_1:;
                    i = next;
                    if (next > 100u) {
                        break;
                    }
                }
            }
            } }
        "#]],
    );
}

#[test]
fn the_indirect_variant_in_host_cpp() {
    let wgsl = "
        const STEPS = array<i32, 6>(1, -2, 3, -4, 5, -6);
        @group(0) @binding(0) var<storage, read_write> out: array<i32>;
        @group(0) @binding(1) var<uniform> n: u32;
        @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
            out[id.x] = STEPS[id.x % n] / (i32(groups.x) - 7) << n;
        }";
    let options = Options { variant: Variant::Indirect, ..Options::new(Dialect::Host) };
    check(
        wgsl,
        &options,
        &expect![[r#"
        namespace wg { namespace wgk_main {
        WG_TABLE const arr<i32, 6> STEPS = arr<i32, 6>{{{1}, {-2}, {3}, {-4}, {5}, {-6}}};
        static void wg_body(i32* WG_RESTRICT out, const u32 out_len, const u32* WG_RESTRICT n, const u32* WG_RESTRICT wg_counts) {
            const vec<u32, 3> wg_groups{wg_counts[0u], wg_counts[1u], wg_counts[2u]};
            if (wg::any(wg::gt(wg_groups, wg::num_workgroups())) || wg::any(wg::ge(wg::workgroup_id(), wg_groups))) {
                return;
            }
            const vec<u32, 3> id = wg::global_id<8, 1, 1>();
            const vec<u32, 3> groups = wg_groups;
            out[wg::index(id.x, out_len)] = wg::shl(wg::div(STEPS[wg::index(wg::rem(id.x, *n), 6u)], wg::sub(wg::convert<i32>(groups.x), 7)), *n);
        }
        static void wg_call(void* const* wg_args) {
            wg_body(*static_cast<i32* const*>(wg_args[0]), *static_cast<const u32*>(wg_args[1]), *static_cast<const u32* const*>(wg_args[2]), *static_cast<const u32* const*>(wg_args[3]));
        }
        extern "C" void wgk_main(const unsigned* wg_groups, void* const* wg_args) {
            static const unsigned wg_size[3] = {8u, 1u, 1u};
            wg_host_run(wg_groups, wg_size, 0, wg_call, wg_args);
        }
        } }
    "#]],
    );
}
