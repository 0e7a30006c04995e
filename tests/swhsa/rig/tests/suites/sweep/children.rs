//! Faults of which AMD's runtime may make no error: each in a process of its own, which ends within a bound whatever comes of it.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use graphreel::recording::Tier;
use graphreel::{Config, ServerError};
use graphreel_hip::{HipOptions, driver};
use graphreel_hip_sys::library;
use graphreel_swhsa_rig::{Control, FaultKind, again};
use graphreel_testkit::announce;
use graphreel_testkit::watched::Live;

use super::{OPERATIONS_MAX, WORD, work};
use crate::ground::{self, settled};

/// In a child: how many operations go well, before one fails.
const AFTER: &str = "GRAPHREEL_SWHSA_FAULT_AFTER";

/// How long the work of a child waits for the device. It takes a few milliseconds.
const WAITS: Duration = Duration::from_secs(2);

/// How long a child takes at the most: a start, and compiling a kernel on a busy machine.
const CHILD_MAX: Duration = Duration::from_secs(60);

/// What came of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    /// The right result. The process lives, all was given back, and the next device works.
    Right,
    /// An error that leaves the device as it was. The process lives, all was given back, and the next device works.
    Refused,
    /// The device is lost. So is each device that the process would open, and it is told so.
    Lost,
    /// A result that lacks what was not copied, without an error. The next device works.
    Stale,
    /// The work never ended; the wait for it did.
    Stopped,
    /// A signal ended the process.
    Killed(i32),
}

impl End {
    const TOLD: [Self; 5] = [Self::Right, Self::Refused, Self::Lost, Self::Stale, Self::Stopped];
}

/// What a child says that lived: how it ended, and whether the fault is still to come.
fn line(end: End, pending: bool) -> String {
    format!("the work ended: {end:?}, {}", if pending { "without a fault" } else { "by the fault" })
}

/// The work with one fault in it, and what comes after it in this process.
fn child(kind: FaultKind, after: u32, status: u32) {
    let control = Control::open().expect("the device is below the runtime");
    control.fault(kind, after, 1, status);
    let config = Config { wait_max: WAITS, ..Config::default() };
    let (mut watched, mut lost) = (None, false);
    let outcome = ground::device_with(config, Vec::new()).and_then(|(device, watch)| {
        watched = Some(watch);
        let outcome = work(&device);
        lost = device.lost().is_some();
        outcome
    });
    let pending = control.fault_clear() > 0;
    let end = match &outcome {
        Ok(words) if *words == [WORD; 2] => End::Right,
        Ok(words) => {
            announce(&format!("each word lies in {words:?}, not at {WORD}"));
            End::Stale
        }
        Err(ServerError::DeviceLost { .. }) => End::Lost,
        Err(ServerError::Timeout { .. }) => End::Stopped,
        Err(_) => End::Refused,
    };
    announce(&format!("it answered {outcome:?}"));
    assert_eq!(lost, end == End::Lost, "a device is lost where it says so");
    match end {
        End::Lost => {
            let next = driver(&HipOptions::default()).map(drop);
            announce(&format!("the next device answered {next:?}"));
            assert!(next.is_err(), "nothing opens where the runtime is lost");
        }
        // Its work is in the way of all other.
        End::Stopped => {}
        _ => {
            if let Some(watch) = watched {
                assert_eq!(settled(&watch), Live::default(), "all is given back");
            }
            let (device, _watch) = ground::device(&Tier::ALL, Vec::new()).expect("a device opens after the fault");
            assert_eq!(work(&device).expect("it works"), [WORD; 2], "after the fault");
        }
    }
    announce(&line(end, pending));
}

/// Let a child end, or end it.
fn finished(mut child: Child, what: &str) -> (ExitStatus, String) {
    let mut pipes = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let read = std::thread::spawn(move || {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let errors = std::thread::spawn(move || pipes.1.read_to_end(&mut err).map(|_| err));
        let read = pipes.0.read_to_end(&mut out);
        read.and_then(|_| errors.join().expect("it reads")).map(|err| [out, err].concat())
    });
    let end = Instant::now() + CHILD_MAX;
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be asked") {
            break status;
        }
        if Instant::now() > end {
            child.kill().expect("a child can be ended");
            child.wait().expect("it ended");
            let text = read.join().expect("it reads").expect("pipes can be read");
            panic!("{what}: no end within {CHILD_MAX:?}\n{}", String::from_utf8_lossy(&text));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let text = read.join().expect("it reads").expect("pipes can be read");
    (status, String::from_utf8_lossy(&text).into_owned())
}

/// What came of a fault in a child, and whether there was any.
fn judged(status: ExitStatus, text: &str, what: &str) -> (End, bool) {
    if let Some(signal) = status.signal() {
        assert!(text.contains("a fault was asked for"), "{what}: {status} without a fault\n{text}");
        assert!(!text.contains("it answered"), "{what}: {status} after the work\n{text}");
        // The runtime tells of a queue's end before it ends the process, and says nothing of a signal that it did not get.
        let told = text.contains("aborting with error") || !text.contains("ends: a fault was asked for");
        assert!(told, "{what}: {status} without a word of the runtime's\n{text}");
        return (End::Killed(signal), true);
    }
    assert!(status.success(), "{what}: {status}\n{text}");
    let told = |pending| End::TOLD.into_iter().find(|end| text.contains(&line(*end, pending)));
    let (reached, unreached) = (told(false), told(true));
    if let Some(end) = unreached {
        assert_eq!(end, End::Right, "{what}: without a fault\n{text}");
        return (end, false);
    }
    let end = reached.unwrap_or_else(|| panic!("{what}: the child says nothing\n{text}"));
    assert!(text.contains("a fault was asked for"), "{what}: none was made\n{text}");
    (end, true)
}

/// Let an operation of the kind fail, each in a child, as far as there are any: each `step`th, and each where all is run. The release may
/// end the work in the ways that `known` takes. A device of this process works beside them all.
pub(super) fn apart(test: &str, kind: FaultKind, status: u32, step: u32, known: impl Fn((u32, u32), End) -> bool) {
    if !ground::there(test) {
        return;
    }
    if let Some(after) = std::env::var_os(AFTER) {
        let after = after.to_str().and_then(|after| after.parse().ok()).expect("the parent gives a number");
        return child(kind, after, status);
    }
    let release = library().expect("the runtime loads").version.release();
    let (device, _watch) = ground::device(&Tier::ALL, Vec::new()).expect("the parent has a device");
    let (mut ends, mut after) = (BTreeMap::<End, u32>::new(), 0);
    let step = if ground::thorough() { 1 } else { step };
    loop {
        let what = format!("{kind:?} {after}");
        let mut command = again(test).expect("a test knows how it was started");
        command.env(AFTER, after.to_string()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (status, text) = finished(command.spawn().expect("the child starts"), &what);
        let (end, reached) = judged(status, &text, &what);
        if !reached {
            break;
        }
        assert!(known(release, end), "{what}: {end:?} is not known of {release:?}\n{text}");
        *ends.entry(end).or_default() += 1;
        after += step;
        assert!(after < OPERATIONS_MAX, "the work makes more than {OPERATIONS_MAX} operations");
    }
    assert!(!ends.is_empty(), "{kind:?}: no operation failed");
    assert_eq!(work(&device).expect("the parent's device works"), [WORD; 2], "beside the children");
    announce(&format!("{test}: of {after} operations one in {step} failed, each in a child: {ends:?}"));
}
