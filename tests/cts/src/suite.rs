//! One test for each file, for a backend's own tests to take in one line.

use graphreel_testkit::{Expect, Fixture, announce, opened};

use crate::report::Report;
use crate::{folder, load, run_widths};

/// Makes `lists!`, which turns every file into a `#[test]` of the crate that uses it.
///
/// `$d` is a dollar sign: the macro that is made has a variable of its own.
macro_rules! registry {
    ($d:tt $($test:ident $file:literal)*) => {
        /// Every file that has a test, by its path in the folder without the ending.
        pub const FILES: &[&str] = &[$($file),*];

        /// One `#[test]` for each expectation file, run on the [`Fixture`] given.
        ///
        /// `Fixture::expect` is asked for each list by file and list, as `acos/f32_non_const`.
        #[macro_export]
        macro_rules! lists {
            ($d fixture:ident) => {
                $(
                    #[test]
                    fn $test() {
                        $d crate::suite::check::<$d fixture>($file);
                    }
                )*
            };
        }
    };
}

registry! { $
    abs "abs"
    acos "acos"
    acosh "acosh"
    asin "asin"
    atan "atan"
    binary_f16_addition "binary/f16_addition"
    binary_f32_addition "binary/f32_addition"
    binary_f32_logical "binary/f32_logical"
    binary_f32_matrix_matrix_multiplication "binary/f32_matrix_matrix_multiplication"
    binary_f32_matrix_vector_multiplication "binary/f32_matrix_vector_multiplication"
    binary_f32_multiplication "binary/f32_multiplication"
    binary_f32_subtraction "binary/f32_subtraction"
    binary_i32_arithmetic "binary/i32_arithmetic"
    binary_u32_comparison "binary/u32_comparison"
    bitcast "bitcast"
    ceil "ceil"
    degrees "degrees"
    determinant "determinant"
    dot "dot"
    exp "exp"
    fma "fma"
    fract "fract"
    inverse_sqrt "inverseSqrt"
    ldexp "ldexp"
    length "length"
    log "log"
    min "min"
    modf "modf"
    pack2x16float "pack2x16float"
    quantize_to_f16 "quantizeToF16"
    saturate "saturate"
    sin "sin"
    sinh "sinh"
    smoothstep "smoothstep"
    step "step"
    tanh "tanh"
    transpose "transpose"
    unary_bool_conversion "unary/bool_conversion"
    unary_f16_arithmetic "unary/f16_arithmetic"
    unary_f32_arithmetic "unary/f32_arithmetic"
    unary_i32_arithmetic "unary/i32_arithmetic"
    unary_i32_conversion "unary/i32_conversion"
    unary_u32_conversion "unary/u32_conversion"
    unpack2x16float "unpack2x16float"
    unpack2x16snorm "unpack2x16snorm"
    unpack4x8unorm "unpack4x8unorm"
}

/// Run every list of `file` on a device of `F`, as the fixture expects of each.
///
/// # Panics
///
/// When the file cannot be read, a list fails that is to pass, or one passes at every width that is listed as broken.
pub fn check<F: Fixture>(file: &str) {
    let Some(dir) = folder::named() else {
        announce(&format!("{file}: skipped, GRAPHREEL_CTS_DIR names no folder"));
        return;
    };
    let content = load(&folder::path(&dir, file)).unwrap_or_else(|error| panic!("{error}"));
    let Some(device) = opened::<F>(file) else { return };
    let mut unexpected = Report::default();
    let mut repaired = Vec::new();
    let mut ran = 0;
    for list in content.lists.iter().filter(|list| list.runs()) {
        let name = format!("{file}/{}", list.name);
        let expect = F::expect(&name);
        if let Expect::Unsupported(why) = expect {
            announce(&format!("{name}: not supported by {}: {why}", F::NAME));
            continue;
        }
        let reports = run_widths(&device, file, list);
        ran += 1;
        reports.iter().for_each(|report| announce(&report.to_string()));
        let failed = reports.iter().any(|report| report.failed());
        // What the device lacks says nothing about a line that says how it fails.
        let passed = reports.iter().all(|report| report.passed());
        match expect {
            Expect::Broken(why) if passed => repaired.push(format!("{name} ({why})")),
            Expect::Broken(why) => announce(&format!("{name}: broken on {} as listed: {why}", F::NAME)),
            _ if failed => unexpected.lists.extend(reports),
            _ => {}
        }
    }
    assert!(ran > 0, "{file} has no list for devices");
    assert!(repaired.is_empty(), "listed as broken on {} and passing, remove: {}", F::NAME, repaired.join(", "));
    assert!(unexpected.lists.is_empty(), "on {}:\n{unexpected}", device.info().name);
}
