//! Every text is accepted by the compilers of both vendors, in each variant and float mode. One architecture of each, and
//! more when thorough.

use graphreel::kernel::Variant;
use graphreel_compilers::hiprtc::{Hiprtc, Source};
use graphreel_compilers::nvrtc::Nvrtc;
use graphreel_compilers::{announce, present};
use graphreel_cpp::{Dialect, FloatMode, Loops, Translation, join};

use crate::corpus;
use crate::rig::{Form, Subject, thorough, units};

/// The forms of `dialect` and the kernels that each is tried on: those of `shaders/` in all forms, all kernels in two, in which
/// every variant, every mode, and loops that are trusted and that are not occur.
fn forms(dialect: Dialect) -> Vec<(Form, Vec<Subject>)> {
    let (few, all) = (corpus::shaders(), corpus::all());
    let form = |variant, floats, loops| Form { dialect, variant, floats, loops };
    let bounded = Loops::Bounded { rounds: 1 << 32 };
    vec![
        (form(Variant::Direct, FloatMode::Strict, Loops::Trusted), all.clone()),
        (form(Variant::Indirect, FloatMode::Fast, bounded), all.clone()),
        (form(Variant::Direct, FloatMode::Fast, Loops::Trusted), if thorough() { all.clone() } else { few.clone() }),
        (form(Variant::Indirect, FloatMode::Strict, bounded), if thorough() { all } else { few }),
    ]
}

/// Texts of all units of `dialect`, with a name for messages and the options that they ask for.
fn texts(dialect: Dialect) -> Vec<(String, String, Vec<&'static str>)> {
    let mut texts = Vec::new();
    for (form, subjects) in forms(dialect) {
        for (number, (_, unit)) in units(&subjects, form).iter().enumerate() {
            let name = format!("{:?} {:?} unit {number}", form.variant, form.floats);
            texts.push((name, join(unit), asked(unit)));
        }
    }
    texts
}

/// The options of a unit, all of whose kernels ask for the same.
fn asked(unit: &[Translation]) -> Vec<&'static str> {
    let first = unit[0].compiler_options.clone();
    assert!(unit.iter().all(|text| text.compiler_options == first), "one mode has one list of options");
    first
}

#[test]
fn every_cuda_text_is_accepted() {
    let Some(nvrtc) = present("every_cuda_text_is_accepted", Nvrtc::find()) else { return };
    let architectures: &[&str] = if thorough() { &["sm_90", "sm_75"] } else { &["sm_90"] };
    let mut refused = Vec::new();
    for (name, text, options) in texts(Dialect::Cuda) {
        for arch in architectures {
            match nvrtc.compile(&text, &name, arch, &options) {
                Ok(_) => {}
                Err(log) => refused.push(log.to_string()),
            }
        }
    }
    announce(&format!("NVRTC {:?}", nvrtc.version()));
    assert!(refused.is_empty(), "{} texts are refused:\n{}", refused.len(), refused.join("\n"));
}

#[test]
fn every_hip_text_is_accepted() {
    let Some(hiprtc) = present("every_hip_text_is_accepted", Hiprtc::find()) else { return };
    let architectures: &[(&str, u32)] =
        if thorough() { &[("gfx1100", 32), ("gfx90a", 64)] } else { &[("gfx1100", 32)] };
    let mut sources = Vec::new();
    for (name, text, options) in texts(Dialect::Hip) {
        for (arch, wave) in architectures {
            sources.push(Source {
                text: text.clone(),
                name: name.clone(),
                arch: (*arch).into(),
                wave: *wave,
                options: options.iter().map(|option| (*option).to_owned()).collect(),
            });
        }
    }
    let results = hiprtc.compile_all(&sources);
    announce(&format!("hipRTC {}", hiprtc.version()));
    let refused: Vec<String> = results.iter().filter_map(|result| Some(result.as_ref().err()?.to_string())).collect();
    assert!(refused.is_empty(), "{} texts are refused:\n{}", refused.len(), refused.join("\n"));
}
