//! A process that ends with a live backend ends at once and with its own status, however it ends: each case in a child of its
//! own, on the simulator, and on wgpu and CUDA where there is a device (B-188 to B-192).

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[path = "exit/child.rs"]
mod child;

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use graphreel::lifecycle::BackendKind;
use graphreel::lifecycle::config::BackendChoice;

/// A child that takes longer to end hangs.
const PROMPT: Duration = Duration::from_secs(5);

/// How long a child may take to come to its end, before it ends: building a device is slow on a busy machine.
const START: Duration = Duration::from_secs(60);

/// Each case with the status that it has to end with; `None` for the signal that the parent sends.
const CASES: [(&str, Option<i32>); 17] = [
    ("return", Some(0)),
    ("exit-with-an-admitted-handle", Some(3)),
    ("exit-with-work-in-flight", Some(3)),
    ("panic", Some(101)),
    ("terminated", None),
    ("thread-local", Some(0)),
    ("exit-handler", Some(4)),
    ("exit-during-construction", Some(5)),
    ("exit-during-capture", Some(6)),
    ("exit-during-replay", Some(7)),
    ("exit-during-close", Some(8)),
    ("exit-with-an-endless-job", Some(9)),
    ("exit-on-another-thread", Some(10)),
    ("fork", Some(11)),
    ("fork-among-busy-threads", Some(14)),
    ("exit-after-many-attempts", Some(12)),
    ("exit-while-a-device-is-dropped", Some(13)),
];

/// The entry of a child, and nothing in any other run.
#[test]
fn child_entry() {
    if let Ok(case) = std::env::var(child::CASE) {
        child::run(&case);
    }
}

/// Run a case in a child, and see it end.
fn ends(backend: &str, case: &str, expected: Option<i32>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_entry", "--nocapture", "--test-threads=1"])
        .env(child::CASE, case)
        .env(child::BACKEND, backend)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let errors = collect(child.stderr.take().unwrap());
    let told = wait_ready(&mut child);
    if expected.is_none() {
        terminate(&child);
    }
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if started.elapsed() > PROMPT {
            child.kill().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let said = errors.recv_timeout(PROMPT).unwrap_or_default();
    assert!(told, "{backend}, {case}: it ended before its end came ({status:?}): {said}");
    let Some(status) = status else { panic!("{backend}, {case}: still there {PROMPT:?} after its end came: {said}") };
    assert!(is_as(status, expected), "{backend}, {case}: ended with {status}: {said}");
}

fn is_as(status: ExitStatus, expected: Option<i32>) -> bool {
    match expected {
        None => status.signal() == Some(libc::SIGTERM),
        expected => status.code() == expected,
    }
}

/// What a child says, once it is over; a grandchild may hold the pipe.
fn collect(mut from: impl std::io::Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, said) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    said
}

#[expect(unsafe_code, reason = "only the C library sends a signal of choice")]
fn terminate(child: &Child) {
    let id = i32::try_from(child.id()).unwrap();
    // SAFETY: the process is a child of this one that was not waited for yet.
    assert_eq!(unsafe { libc::kill(id, libc::SIGTERM) }, 0);
}

/// Whether the child said that its end comes now, within [`START`].
fn wait_ready(child: &mut Child) -> bool {
    let out = child.stdout.take().unwrap();
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if line.ends_with(child::READY) && sender.send(()).is_err() {
                return;
            }
        }
    });
    lines.recv_timeout(START).is_ok()
}

/// TB-4, XB-23, B-188, B-189: each way to end, on the simulator.
#[test]
fn a_process_ends_with_its_own_status() {
    for (case, expected) in CASES {
        ends("sim", case, expected);
    }
}

/// Every case on a backend that may have no device here.
#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn ends_where_present(name: &str) {
    let kind = BackendKind::from_name(name).unwrap();
    let found = graphreel_backends::factory(BackendChoice::Kind(kind));
    if !found.is_ok_and(|found| found.inventory().facts(0).is_ok()) {
        let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|required| required.trim() == name), "a {name} device is required");
        eprintln!("skipped: no {name} device");
        return;
    }
    for (case, expected) in CASES {
        ends(name, case, expected);
    }
}

/// L01, L02, L05, L07, L10, B-192: the same over a driver that has destructors of its own.
#[test]
fn a_process_with_a_wgpu_device_ends_with_its_own_status() {
    ends_where_present("wgpu");
}

/// As above, over a driver that is unloaded at the exit, and answers no call after that.
#[test]
fn a_process_with_a_cuda_device_ends_with_its_own_status() {
    ends_where_present("cuda");
}

/// As above, over AMD's runtime, which has destructors of its own and threads.
#[test]
fn a_process_with_a_hip_device_ends_with_its_own_status() {
    ends_where_present("hip");
}
