//! The host driver on sources by hand: results, each kind of failure told from the others, and the kernel named in it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::sync::LazyLock;

use graphreel::kernel::{KernelSource, Variant, abi, reflect};
use graphreel_compilers::host::{Cause, CompileError, Host, Job, Kernel, Unit};
use graphreel_compilers::present;

/// What the kernels below take: a scalar, an array that is read and one that is written.
static WGSL: LazyLock<KernelSource> = LazyLock::new(|| {
    KernelSource::from(
        "struct P { factor: u32, }
         var<immediate> p: P;
         @group(0) @binding(0) var<storage, read> x: array<u32>;
         @group(0) @binding(1) var<storage, read_write> y: array<u32>;
         @compute @workgroup_size(1) fn main() { y[0] = x[0] * p.factor; }",
    )
});

/// A kernel by this name, whose loop body is C++ with `i`, `x`, `x_len`, `y`, `y_len` and `factor`.
fn kernel(name: &str, variant: Variant, body: &str) -> (Kernel, String) {
    let reflection = reflect(&WGSL).unwrap();
    let params = abi(&reflection, variant);
    let counts = if variant == Variant::Indirect { "const unsigned* counts = *(const unsigned**)args[5];" } else { "" };
    let text = format!(
        "#line 1 \"kernels.cpp\"
extern \"C\" void wgk_{name}(const unsigned groups[3], void* const* args) {{
    const unsigned factor = *(const unsigned*)args[0];
    const unsigned* x = *(const unsigned**)args[1];
    const unsigned x_len = *(const unsigned*)args[2];
    unsigned* y = *(unsigned**)args[3];
    const unsigned y_len = *(const unsigned*)args[4];
    {counts}
    for (unsigned i = 0; i < groups[0]; ++i) {{
#line 7 \"{name}.wgsl\"
        {body}
    }}
}}
"
    );
    (Kernel { name: name.into(), symbol: format!("wgk_{name}"), reflection, params }, text)
}

fn unit(kernels: Vec<(Kernel, String)>) -> Unit<'static> {
    let source = kernels.iter().map(|(_, text)| text.as_str()).collect();
    Unit { source, kernels: kernels.into_iter().map(|(kernel, _)| kernel).collect(), runtime: "" }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn job(kernel: usize, groups: u32) -> Job {
    Job {
        kernel,
        groups: [groups, 1, 1],
        scalars: words(&[3]),
        buffers: vec![words(&[1, 2, 3]), words(&[0, 0])],
        counts: [0; 3],
    }
}

#[test]
fn every_parameter_arrives_and_every_buffer_comes_back() {
    let Some(host) = present("host", Host::find()) else { return };
    let body = "if (i < y_len) y[i] = x[i] * factor + x_len * 100;";
    let direct = kernel("direct", Variant::Direct, body);
    let indirect = kernel("indirect", Variant::Indirect, "y[i] = counts[0] + counts[1] * 10 + counts[2] * 100;");
    let mut program = host.compile(&unit(vec![direct, indirect])).unwrap();
    let counted = Job { counts: [1, 2, 3], ..job(1, 1) };
    let results = program.run(&[job(0, 3), counted], 20).unwrap();
    let [direct, indirect] = <[_; 2]>::try_from(results).unwrap().map(Result::unwrap);
    assert_eq!(direct, [words(&[1, 2, 3]), words(&[303, 306])]);
    assert_eq!(indirect[1], words(&[321, 0]));
}

#[test]
fn a_failure_names_its_kernel_and_line_and_spares_the_other_jobs() {
    let Some(host) = present("host", Host::find()) else { return };
    let kernels = [
        ("fine", "y[i] = x[i];"),
        ("overrun", "y[i] = x[i + 3];"),
        ("overflow", "y[i] = (unsigned)(2147483647 + (int)factor);"),
        ("cast", "y[i] = (unsigned)((float)factor * -1.0f);"),
        ("endless", "for (volatile unsigned turn = 0;; turn = turn + 1) { y[i] = turn; }"),
        ("trap", "if (y[i] == 0) __builtin_trap();"),
    ];
    let expected = [
        None,
        Some((Cause::Sanitizer, "overrun.wgsl:7", "heap-buffer-overflow")),
        Some((Cause::Sanitizer, "overflow.wgsl:7", "signed integer overflow")),
        Some((Cause::Sanitizer, "cast.wgsl:7", "outside the range of representable values")),
        Some((Cause::Deadline, "", "")),
        None,
    ];
    let texts = kernels.map(|(name, body)| kernel(name, Variant::Direct, body));
    let mut program = host.compile(&unit(texts.to_vec())).unwrap();
    let results = program.run(&[0, 1, 2, 3, 4, 0].map(|kernel| job(kernel, 1)), 2).unwrap();
    for (index, (result, expected)) in results.iter().zip(expected).enumerate() {
        let Some((cause, place, text)) = expected else {
            assert_eq!(result.as_ref().unwrap()[1], words(&[1, 0]));
            continue;
        };
        let failure = result.as_ref().unwrap_err();
        assert_eq!(
            (failure.cause, failure.job, failure.kernel.as_str()),
            (cause, index, kernels[index].0),
            "{failure}"
        );
        assert_eq!(failure.place.as_deref().unwrap_or_default(), place, "{failure}");
        assert!(failure.report.contains(text), "{failure}");
        let kept = ["kernels.cpp", "kernels", "jobs"].map(|name| failure.kept.join(name).exists());
        assert_eq!(kept, [true; 3], "what it takes to run it again is kept");
    }
    let trapped = program.run(&[job(5, 1)], 20).unwrap().pop().unwrap().unwrap_err();
    assert!(matches!(trapped.cause, Cause::Crash | Cause::Sanitizer), "{trapped}");
    std::fs::remove_dir_all(trapped.kept).unwrap();
}

#[test]
fn what_does_not_compile_is_kept_and_named() {
    let Some(host) = present("host", Host::find()) else { return };
    let good = kernel("good", Variant::Direct, "y[i] = x[i];");
    let warned = kernel("warned", Variant::Direct, "if (y[i] = x[i]) y[i] = 2;");
    let units = [unit(vec![good.clone()]), unit(vec![good.clone(), warned]), unit(vec![good])];
    let mut programs = host.compile_all(&units);
    assert_eq!(programs.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    let Err(CompileError::Refused { kernels, kept, log }) = programs.remove(1) else { panic!("g++ refuses it") };
    assert_eq!(kernels, "warned", "{log}");
    assert!(log.contains("warned.wgsl:7") && log.contains("-Werror=parentheses"), "{log}");
    assert!(std::fs::read_to_string(kept.join("kernels.cpp")).unwrap().contains("y[i] = x[i]"));
    std::fs::remove_dir_all(kept).unwrap();
}
