//! What AMD's compiler makes of a kernel's parameters, for each generation of its hardware: they lie where a launch puts them,
//! waves are as wide as the text was told, and workgroup memory is there. A runtime copies arguments by this.

use graphreel::kernel::{AbiParam, Variant};
use graphreel_compilers::code_object::{CodeKernel, kernels};
use graphreel_compilers::hip::Suite;
use graphreel_compilers::hiprtc::{Hiprtc, Source};
use graphreel_compilers::{announce, present};
use graphreel_cpp::{Dialect, FloatMode, Loops, Translation, join};

use crate::corpus;
use crate::rig::{Form, thorough, units};

/// An architecture of each generation, and its waves: two of data centres, two of workstations.
const ARCHITECTURES: [(&str, u32); 4] = [("gfx90a", 64), ("gfx942", 64), ("gfx1100", 32), ("gfx1201", 32)];

/// Where C lays the parameters: each at a multiple of its alignment, with its size.
fn expected(text: &Translation) -> Vec<(u32, u32)> {
    let mut end: u32 = 0;
    let place = |param: &AbiParam| {
        let (bytes, align) = match param {
            // The struct is as large as WGSL says, and begins the list.
            AbiParam::Scalars(bytes) => (*bytes, 4),
            AbiParam::Address(_) | AbiParam::Counts => (8, 8),
            AbiParam::Elements(_) => (4, 4),
        };
        let offset = end.next_multiple_of(align);
        end = offset + bytes;
        (offset, bytes)
    };
    text.params.iter().map(place).collect()
}

/// What is wrong with a kernel.
fn fault(text: &Translation, found: &[CodeKernel], wave: u32, keeps_registers: bool) -> Option<String> {
    let Some(kernel) = found.iter().find(|kernel| kernel.name == text.symbol) else {
        return Some(format!("{} is not there", text.symbol));
    };
    let told: Vec<(u32, u32)> = kernel.arguments.iter().map(|argument| (argument.offset, argument.bytes)).collect();
    let kinds = kernel.arguments.iter().zip(&text.params).all(|(argument, param)| {
        let address = matches!(param, AbiParam::Address(_) | AbiParam::Counts);
        argument.kind == if address { "global_buffer" } else { "by_value" }
    });
    let lies = told == expected(text) && kinds;
    // The compiler puts private arrays there, too, where it sees fit.
    let whole = lies && kernel.wave == wave && kernel.shared_bytes >= text.static_shared_bytes;
    let fits = !keeps_registers || kernel.spills == 0;
    (!whole || !fits).then(|| {
        format!("{:?} and {} bytes of {:?}: {kernel:?}", expected(text), text.static_shared_bytes, text.params)
    })
}

/// All texts of one variant for all architectures.
fn check(hiprtc: &Hiprtc, variant: Variant) -> Vec<String> {
    let form = Form { dialect: Dialect::Hip, variant, floats: FloatMode::Strict, loops: Loops::Trusted };
    let shaders = corpus::shaders().len();
    let subjects = [corpus::shaders(), corpus::constructs()].concat();
    let units: Vec<Vec<Translation>> = units(&subjects, form).into_iter().map(|(_, texts)| texts).collect();
    let jobs: Vec<(&Vec<Translation>, &str, u32)> =
        ARCHITECTURES.iter().flat_map(|(arch, wave)| units.iter().map(move |unit| (unit, *arch, *wave))).collect();
    let source = |(unit, arch, wave): &(&Vec<Translation>, &str, u32)| Source {
        text: join(unit),
        name: format!("{variant:?}"),
        arch: (*arch).into(),
        wave: *wave,
        options: unit[0].compiler_options.iter().map(|option| (*option).to_owned()).collect(),
    };
    let results = hiprtc.compile_all(&jobs.iter().map(source).collect::<Vec<_>>());
    let mut faults = Vec::new();
    for ((unit, arch, wave), result) in jobs.iter().zip(results) {
        let found = match result.map_err(|log| log.to_string()).and_then(|code| kernels(&code)) {
            Ok(found) => found,
            Err(why) => {
                faults.push(why);
                continue;
            }
        };
        assert_eq!(found.len(), unit.len(), "{arch}: each text is one kernel");
        // The shipped shaders come first, and are written so that they need no more registers than there are.
        let is_shader =
            |text: &Translation| text.symbol["wgk_".len()..].parse::<usize>().is_ok_and(|own| own < shaders);
        let wrong = unit.iter().filter_map(|text| fault(text, &found, *wave, is_shader(text)));
        faults.extend(wrong.map(|fault| format!("{arch}: {fault}")));
    }
    faults
}

#[test]
fn parameters_lie_where_a_launch_puts_them() {
    let suites = if thorough() { &Suite::ALL[..] } else { &[Suite::Testing][..] };
    for suite in suites {
        let Some(hiprtc) = present("parameters_lie_where_a_launch_puts_them", Hiprtc::of(*suite)) else { continue };
        announce(&format!("hipRTC {}", hiprtc.version()));
        let variants = if thorough() { &[Variant::Direct, Variant::Indirect][..] } else { &[Variant::Indirect][..] };
        for variant in variants {
            let faults = check(&hiprtc, *variant);
            assert!(faults.is_empty(), "{} kernels:\n{}", faults.len(), faults.join("\n"));
        }
    }
}
