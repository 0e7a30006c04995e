//! What goes wrong in written code is found where it is run, and said with its kernel and line: the other tests of the host
//! rest on that. And what is bounded ends.

use graphreel::kernel::{KernelSource, Variant};
use graphreel_compilers::host::{Cause, Failure, Host, Job};
use graphreel_compilers::present;
use graphreel_cpp::{Loops, translate};

use crate::rig::{Form, Subject, options, unit};

/// Run the one kernel of `body`, over four words.
fn outcome(host: &Host, name: &str, body: &str, loops: Loops, is_checked: bool) -> Result<Vec<Vec<u8>>, Failure> {
    let wgsl = format!(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(4)
        fn main(@builtin(local_invocation_index) lane: u32) {{
            {body}
        }}"
    );
    let subject = Subject { name: name.into(), source: KernelSource::from(wgsl.as_str()) };
    let mut options = options(0, &subject, Form { loops, ..Form::host(Variant::Direct) });
    if !is_checked {
        #[expect(unsafe_code, reason = "the access that nobody checks is to be found")]
        // SAFETY: it runs under the address sanitizer, in a process of its own.
        let unchecked = unsafe { options.unchecked() };
        options = unchecked;
    }
    let text = translate(&subject.source, &options).unwrap();
    let mut program = host.compile(&unit(&[&subject], &[text])).unwrap();
    let job = Job { groups: [1, 1, 1], buffers: vec![vec![0; 16]], ..Job::default() };
    let result = program.run(&[job], 3).unwrap().pop().unwrap();
    if let Err(failure) = &result {
        std::fs::remove_dir_all(&failure.kept).unwrap();
    }
    result
}

#[test]
fn an_access_that_nobody_checks_is_found_with_its_line() {
    let Some(host) = present("an_access_that_nobody_checks_is_found_with_its_line", Host::find()) else { return };
    let body = "out[lane + 1u] = 7u;";
    let checked = outcome(&host, "checked", body, Loops::Trusted, true).unwrap();
    assert_eq!(checked[0], [0, 0, 0, 0, 7, 0, 0, 0, 7, 0, 0, 0, 7, 0, 0, 0]);
    let failure = outcome(&host, "unchecked", body, Loops::Trusted, false).unwrap_err();
    assert_eq!((failure.cause, failure.kernel.as_str()), (Cause::Sanitizer, "unchecked"), "{failure}");
    assert_eq!(failure.place.as_deref(), Some("unchecked.wgsl:4"), "{failure}");
}

#[test]
fn a_barrier_that_some_do_not_reach_is_said() {
    let Some(host) = present("a_barrier_that_some_do_not_reach_is_said", Host::find()) else { return };
    let body = "out[lane] = 1u; if lane < 3u { workgroupBarrier(); }";
    let failure = outcome(&host, "divided", body, Loops::Trusted, true).unwrap_err();
    assert_eq!((failure.cause, failure.kernel.as_str()), (Cause::Crash, "divided"), "{failure}");
    assert!(failure.report.contains("only 3 of the 4 invocations"), "{failure}");
}

#[test]
fn an_endless_loop_ends_where_it_is_bounded() {
    let Some(host) = present("an_endless_loop_ends_where_it_is_bounded", Host::find()) else { return };
    let body = "loop { out[lane] += 1u; loop { if out[lane] > 5000u { break; } out[lane] += 100u; } }";
    let bounded = outcome(&host, "bounded", body, Loops::Bounded { rounds: 1000 }, true).unwrap();
    assert!(bounded[0].chunks(4).all(|word| u32::from_le_bytes(word.try_into().unwrap()) > 5000), "{bounded:?}");
    // Behind it nothing is known of what its condition would have said.
    let body =
        "var tile: array<u32, 4>; var i = out[lane] + 100u; while i >= 4u { i--; } tile[i] = 7u; out[lane] = tile[3];";
    let left = outcome(&host, "left", body, Loops::Bounded { rounds: 10 }, true).unwrap();
    assert_eq!(left[0][..4], [7, 0, 0, 0]);
    let body = "loop { out[lane] += 1u; loop { if out[lane] > 5000u { break; } out[lane] += 100u; } }";
    let trusted = outcome(&host, "endless", body, Loops::Trusted, true).unwrap_err();
    assert_eq!((trusted.cause, trusted.kernel.as_str()), (Cause::Deadline, "endless"), "{trusted}");
}
