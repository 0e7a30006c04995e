//! The kernels of `tests/constructs` on the processor against the interpreter: one for every construct of WGSL.
//!
//! What a buffer holds at first follows from its name: `edges` the integers at which operators change what they do, `ints` any
//! words, `floats` and whatever begins with it floats of every size, and all others a pattern, so that bytes which nobody may
//! write are seen to be left. A file says `// close: X` where floats may be that far from the interpreter's.

use graphreel::kernel::{BindingInfo, Reflection, Variant, reflect};
use graphreel_compilers::host::{Host, Job};
use graphreel_compilers::present;
use graphreel_cpp::Loops;

use crate::corpus;
use crate::interpreter::{Close, Launch};
use crate::rig::{Form, Subject, programs, run};

/// Integers beside which operators change what they do.
const EDGES: [u32; 32] = [
    0,
    1,
    2,
    3,
    5,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    127,
    128,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_fffe,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
    0x5555_5555,
    0xaaaa_aaaa,
    0x1234_5678,
    0xdead_beef,
];

/// Floats beside which conversions and builtins change what they do.
const FLOATS: [f32; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.1,
    255.0,
    65504.0,
    -32768.0,
    2147483500.0,
    2147483600.0,
    -2147483600.0,
    4294967000.0,
    4294967300.0,
    1e20,
    -1e20,
];

/// How much there is of everything.
#[derive(Clone, Copy, Debug)]
struct Size {
    groups: [u32; 3],
    /// Elements of runtime-sized arrays that are written. Eight are enough for every index that has to stay in range.
    written: u64,
}

const SIZES: [Size; 3] = [
    Size { groups: [16, 1, 1], written: 1 << 14 },
    Size { groups: [1, 1, 1], written: 8 },
    Size { groups: [3, 1, 1], written: 100 },
];

fn content(binding: &BindingInfo, size: Size, random: &mut fastrand::Rng) -> Vec<u32> {
    let elements = if binding.declared_write { size.written } else { 300 };
    let runtime = binding.runtime_stride.map(|stride| u64::from(binding.runtime_offset) + u64::from(stride) * elements);
    let words = runtime.unwrap_or(0).max(binding.min_bytes).div_ceil(4) as usize;
    match binding.name.as_str() {
        "edges" => EDGES.to_vec(),
        "ints" => (0..words).map(|_| random.u32(..)).collect(),
        name if name.starts_with("floats") => {
            let mut float = |index: usize| {
                let edge = FLOATS.get(index / 2).filter(|_| index.is_multiple_of(2));
                edge.copied().unwrap_or_else(|| random.f32() * 20.0 - 10.0).to_bits()
            };
            (0..words).map(&mut float).collect()
        }
        _ => (0..words as u32).map(|index| 0x2545_f491 ^ index.wrapping_mul(0x9e37_79b9)).collect(),
    }
}

fn launch(reflection: &Reflection, size: Size) -> Launch {
    let mut random = fastrand::Rng::with_seed(7);
    let scalars = (0..reflection.immediate_bytes.div_ceil(4)).map(|index| index + 3).collect();
    let buffers = reflection.bindings.iter().map(|binding| content(binding, size, &mut random)).collect();
    Launch { groups: size.groups, scalars, buffers }
}

/// What the file says of its floats.
fn close(subject: &Subject) -> Close {
    let said = subject.source.wgsl.lines().find_map(|line| line.strip_prefix("// close: "));
    said.map_or(Close::Bits, |far| {
        let far = far.trim().parse().unwrap();
        Close::Within { relative: far, absolute: far }
    })
}

fn compare(test: &str, subgroup_size: u32, form: Form, subjects: &[Subject]) {
    let Some(host) = present(test, Host::find()) else { return };
    let host = host.with_subgroups(subgroup_size);
    let reflections: Vec<Reflection> = subjects.iter().map(|subject| reflect(&subject.source).unwrap()).collect();
    let launches: Vec<(usize, Size, Launch)> = (0..subjects.len())
        .flat_map(|number| SIZES.map(|size| (number, size, launch(&reflections[number], size))))
        .collect();
    let jobs: Vec<Job> = launches.iter().map(|(number, _, launch)| launch.job(*number)).collect();
    let results = run(&mut programs(&host, subjects, form), &jobs);
    let mut failed = Vec::new();
    for ((number, size, launch), result) in launches.iter().zip(results) {
        let subject = &subjects[*number];
        let what = format!("{} `{}` with {:?}", subject.name, reflections[*number].entry, size);
        failed.extend(launch.wrong(&what, close(subject), (&subject.source, subgroup_size), result));
    }
    assert!(failed.is_empty(), "{} findings in {} launches:\n{}", failed.len(), launches.len(), failed.join("\n"));
}

#[test]
fn every_construct_does_what_the_interpreter_does() {
    let form = Form::host(Variant::Direct);
    compare("every_construct_does_what_the_interpreter_does", 32, form, &corpus::constructs());
}

#[test]
fn what_bounds_a_loop_changes_none_that_ends() {
    let mut subjects = corpus::constructs();
    subjects.retain(|subject| subject.name == "control");
    assert!(!subjects.is_empty(), "there is a file of control flow");
    let form = Form { loops: Loops::Bounded { rounds: 1 << 20 }, ..Form::host(Variant::Direct) };
    compare("what_bounds_a_loop_changes_none_that_ends", 32, form, &subjects);
}

/// Wide waves are those of some of AMD's devices; narrow ones have many subgroups in a workgroup.
#[test]
fn subgroups_of_every_size_do_what_the_interpreter_does() {
    let mut subjects = corpus::constructs();
    subjects.retain(|subject| subject.name == "subgroups");
    assert!(!subjects.is_empty(), "there is a file of subgroup operations");
    for size in [16, 64] {
        let form = Form::host(Variant::Direct);
        compare("subgroups_of_every_size_do_what_the_interpreter_does", size, form, &subjects);
    }
}
