//! What the options change in the text.

use graphreel::kernel::{AbiParam, KernelSource, Variant};
use graphreel_cpp::{Dialect, FloatMode, Loops, Options, Removed, join, translate};

use crate::rig::{DIALECTS, kernel, own, translated};

#[test]
fn rounds_are_bounded_where_loops_are_not_trusted() {
    let wgsl = kernel("", "loop { if out[0] == 1u { break; } } out[1] = 1u;");
    let trusted = own(&wgsl, &Options::new(Dialect::Cuda));
    assert!(!trusted.contains("rounds_left"), "{trusted}");
    let options = Options { loops: Loops::Bounded { rounds: 1000 }, ..Options::new(Dialect::Cuda) };
    let bounded = own(&wgsl, &options);
    assert!(
        bounded.contains("u64 rounds_left = 1000ull;") && bounded.contains("if (rounds_left == 0ull)"),
        "{bounded}"
    );
}

#[test]
#[expect(unsafe_code, reason = "the text is read, and never run")]
fn checks_go_where_somebody_vouches() {
    let wgsl = kernel("", "out[id.x * 3u] = out[id.y];");
    assert_eq!(own(&wgsl, &Options::new(Dialect::Cuda)).matches("wg::index").count(), 2);
    // SAFETY: nothing runs it.
    let unchecked = unsafe { Options::new(Dialect::Cuda).unchecked() };
    assert_eq!(own(&wgsl, &unchecked).matches("wg::index").count(), 0);
}

#[test]
fn proven_checks_are_dropped_kept_or_asserted() {
    let wgsl = kernel(
        "var<workgroup> tile: array<u32, 64>;",
        "tile[id.x % 64u] = id.x; out[0] = tile[id.y & 31u]; out[1] = 2u;",
    );
    let count = |removed: Removed, what: &str| {
        own(&wgsl, &Options { removed, ..Options::new(Dialect::Host) }).matches(what).count()
    };
    // One element of `out` is always bound; whether there is another depends on what is bound.
    assert_eq!([count(Removed::Kept, "wg::index"), count(Removed::Kept, "wg::proven")], [4, 0]);
    assert_eq!([count(Removed::Dropped, "wg::index"), count(Removed::Dropped, "wg::proven")], [1, 0]);
    assert_eq!([count(Removed::Asserted, "wg::index"), count(Removed::Asserted, "wg::proven")], [1, 3]);
}

#[test]
fn parameters_are_those_of_the_convention() {
    let wgsl = "
        struct Tail { head: vec4<f32>, rest: array<vec2<u32>> }
        struct P { a: f32, n: u32 }
        var<immediate> p: P;
        @group(1) @binding(0) var<storage, read_write> last: Tail;
        @group(0) @binding(2) var<uniform> one: vec4<f32>;
        @group(0) @binding(1) var<storage, read_write> unread: array<u32>;
        @compute @workgroup_size(1) fn main() { last.rest[p.n].x = u32(p.a + one.x) + arrayLength(&unread); }";
    let options = Options { variant: Variant::Indirect, ..Options::new(Dialect::Cuda) };
    let written = translate(&KernelSource::from(wgsl), &options).expect("valid");
    let [scalars, counts] = [AbiParam::Scalars(8), AbiParam::Counts];
    let params = [
        scalars,
        AbiParam::Address(0),
        AbiParam::Elements(0),
        AbiParam::Address(1),
        AbiParam::Address(2),
        AbiParam::Elements(2),
        counts,
    ];
    assert_eq!(written.params, params);
    let head = "wgk_main(const P p, const u32* WG_RESTRICT unread, const u32 unread_len, const vec<f32, 4>* WG_RESTRICT one, \
                Tail* WG_RESTRICT last, const u32 last_len, const u32* WG_RESTRICT wg_counts)";
    assert!(written.source().contains(head), "{}", written.source());
}

#[test]
fn workgroup_memory_beyond_what_code_declares_is_asked_for() {
    let wgsl = |len: u32| kernel(&format!("var<workgroup> tile: array<u32, {len}>;"), "tile[0] = 1u;");
    let small = translated(&wgsl(12 << 10), Dialect::Cuda).expect("valid");
    assert_eq!((small.static_shared_bytes, small.dynamic_shared_bytes), (48 << 10, 0));
    let large = translated(&wgsl((12 << 10) + 1), Dialect::Cuda).expect("valid");
    assert_eq!((large.static_shared_bytes, large.dynamic_shared_bytes), (0, (48 << 10) + 16));
    assert!(large.source().contains("wg::dynamic_shared<wg_Shared>()"));
}

#[test]
fn compilers_are_told_the_float_mode() {
    let of = |dialect, floats| {
        let options = Options { floats, ..Options::new(dialect) };
        translate(&KernelSource::from(kernel("", "out[0] = u32(sin(f32(id.x)));").as_str()), &options).expect("valid")
    };
    assert!(of(Dialect::Cuda, FloatMode::Strict).compiler_options.contains(&"--fmad=false"));
    assert!(of(Dialect::Hip, FloatMode::Strict).compiler_options.contains(&"-ffp-contract=off"));
    assert!(of(Dialect::Cuda, FloatMode::Fast).compiler_options.contains(&"--fmad=true"));
    assert_ne!(of(Dialect::Cuda, FloatMode::Strict).source(), of(Dialect::Cuda, FloatMode::Fast).source());
}

#[test]
fn several_kernels_share_a_prelude() {
    for dialect in DIALECTS {
        let one = |symbol: &str, body: &str| {
            let options = Options { symbol: Some(symbol.to_owned()), ..Options::new(dialect) };
            translate(&KernelSource::from(kernel("", body).as_str()), &options).expect("valid")
        };
        let both = [one("first", "out[0] = countOneBits(id.x);"), one("second", "out[0] = reverseBits(id.x);")];
        let text = join(&both);
        for symbol in ["first", "second"] {
            assert_eq!(text.matches(&format!("namespace wg {{ namespace {symbol} {{")).count(), 1);
        }
        assert_eq!(text.matches("typedef unsigned int u32;").count(), 1, "{text}");
        assert!(!both[1].source().contains("count_one_bits"), "a part that is not used is left out");
    }
    assert_eq!(join(&[]), "");
}

#[test]
fn the_same_source_gives_the_same_text() {
    let wgsl = kernel(
        "const T = array<u32, 6>(1u, 2u, 3u, 4u, 5u, 6u);",
        "out[id.x] = T[id.x % 6u] + array<u32, 5>(1u, 2u, 3u, 4u, 5u)[id.x % 5u];",
    );
    let first = translated(&wgsl, Dialect::Cuda).expect("valid").source();
    for _ in 0..20 {
        assert_eq!(translated(&wgsl, Dialect::Cuda).expect("valid").source(), first);
    }
}
