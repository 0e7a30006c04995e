//! The vendors' compilers on sources by hand: what is right becomes code for the device, what is wrong a message with its
//! place, and what would end hipRTC's process does not end the test.

use graphreel_compilers::hiprtc::{Hiprtc, Source};
use graphreel_compilers::nvrtc::Nvrtc;
use graphreel_compilers::present;

/// A kernel that both vendors compile.
const GOOD: &str = "
extern \"C\" __global__ void __launch_bounds__(64) wgk_main(const float* __restrict__ x, float* __restrict__ y, unsigned n) {
    const unsigned i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) y[i] = fmaf(x[i], 2.0f, y[i]);
}";

/// One that none does, with a line directive.
const BAD: &str = "#line 12 \"saxpy.wgsl\"\nextern \"C\" __global__ void bad() { unknown_name = 1; }";

#[test]
fn nvrtc_gives_a_cubin_or_a_message() {
    let Some(nvrtc) = present("nvrtc", Nvrtc::find()) else { return };
    assert!(nvrtc.version() >= (12, 0), "{:?}", nvrtc.version());
    let cubin = nvrtc.compile(GOOD, "good", "sm_90", &["--std=c++17", "--fmad=false"]).unwrap();
    assert!(cubin.windows(8).any(|window| window == b"wgk_main"));
    let log = nvrtc.compile(BAD, "bad", "sm_90", &["--std=c++17"]).unwrap_err();
    assert!(log.log.contains("saxpy.wgsl(12)") && log.log.contains("unknown_name"), "{log}");
    let log = nvrtc.compile(GOOD, "good", "sm_1", &[]).unwrap_err();
    assert!(log.to_string().contains("sm_1"), "{log}");
    assert!(nvrtc.compile("a\0b", "zero", "sm_90", &[]).is_err());
}

#[test]
fn hiprtc_gives_a_code_object_or_a_message() {
    let Some(hiprtc) = present("hiprtc", Hiprtc::find()) else { return };
    let code = hiprtc.compile(GOOD, "good", "gfx1100", 32, &["-std=c++17", "-ffp-contract=off"]).unwrap();
    assert!(code.windows(11).any(|window| window == b"wgk_main.kd"));
    let source = |text: &str, arch: &str, options: &[&str]| Source {
        text: text.into(),
        name: "kernel".into(),
        arch: arch.into(),
        wave: 64,
        options: options.iter().map(|option| (*option).to_owned()).collect(),
    };
    let wave = format!("static_assert(WG_SUBGROUP_SIZE == 64, \"wave\");{GOOD}");
    // The compiler itself dies on this.
    let dies = format!("#pragma clang __debug crash\n{GOOD}");
    let sources = [
        source(BAD, "gfx90a", &[]),
        source(&dies, "gfx90a", &[]),
        source(GOOD, "gfx1", &[]),
        source(GOOD, "gfx90a", &["--offload-arch=gfx942"]),
        source(GOOD, "gfx90a", &["--no-such-option"]),
        source(&wave, "gfx90a", &[]),
    ];
    let [bad, dead, unknown, two, option, good] = <[_; 6]>::try_from(hiprtc.compile_all(&sources)).unwrap();
    let bad = bad.unwrap_err();
    assert!(bad.log.contains("saxpy.wgsl:12") && bad.log.contains("unknown_name"), "{bad}");
    for (log, text) in [(dead, ""), (unknown, "gfx1100"), (two, "gfx942"), (option, "no-such-option")] {
        let log = log.unwrap_err();
        assert!(log.log.contains(text) && !log.log.is_empty(), "{log}");
    }
    assert!(good.unwrap().starts_with(b"\x7fELF"), "what comes behind them is compiled");
}
