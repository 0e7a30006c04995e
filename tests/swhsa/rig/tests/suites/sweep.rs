//! The fault sweep: the same work again and again, while the n-th operation of the device fails. Where AMD's runtime tells it, the work
//! ends with its result or an error, gives everything back, and the next device works. Where it does not, or ends the process, each
//! n has a process of its own, and what comes of it is held against what is known of the release. Host memory is left out: AMD's
//! runtime uses its own without asking whether it got any, and ends the process.

mod children;

use graphreel::recording::Tier;
use graphreel::{Device, Grid, Result};
use graphreel_swhsa_rig::{Control, FaultKind};
use graphreel_testkit::watched::Live;
use graphreel_testkit::{announce, kernels};

use super::ground::{self, settled};
use children::{End, apart};

/// `HSA_STATUS_ERROR_OUT_OF_RESOURCES`.
const OUT_OF_RESOURCES: u32 = 0x1008;

/// `HSA_STATUS_ERROR_MEMORY_FAULT`, of AMD's extension.
const MEMORY_FAULT: u32 = 43;

/// More operations of a kind than the work makes.
const OPERATIONS_MAX: u32 = 1000;

/// Words of the buffer that the work changes.
const WORDS: usize = 5000;

/// What each of them is at its end.
const WORD: u32 = 6;

/// Eager work, a capture, replays and a read: the least and the largest of the words that come out.
fn work(device: &Device) -> Result<[u32; 2]> {
    let inc = device.kernel(kernels::INC)?;
    let buffer = device.upload(&[1u32; WORDS])?;
    device.launch(&inc, Grid::stride(WORDS as u64), (&buffer,))?;
    let large = device.alloc(40 << 20)?;
    large.fill(7)?;
    let (graph, ()) = device.capture(|c| {
        c.launch(&inc, Grid::stride(WORDS as u64), (&buffer,))?;
        c.launch(&inc, Grid::stride(WORDS as u64), (&buffer,))
    })?;
    graph.replay()?;
    graph.replay()?.wait()?;
    let words = buffer.read::<u32>()?;
    Ok([words.iter().copied().min().unwrap_or(0), words.iter().copied().max().unwrap_or(0)])
}

/// Let the n-th operation of the kind fail, for each n that there is, all in this process.
fn sweep(test: &str, kind: FaultKind) {
    if !ground::there(test) {
        return;
    }
    let device = || ground::device(&Tier::ALL, Vec::new());
    let control = Control::open().expect("the device is below the runtime");
    let mut failed = 0;
    for after in 0..OPERATIONS_MAX {
        control.fault(kind, after, 1, OUT_OF_RESOURCES);
        let mut watched = None;
        let outcome = device().and_then(|(device, watch)| {
            watched = Some(watch);
            work(&device)
        });
        let pending = control.fault_clear();
        match outcome {
            Ok(words) => assert_eq!(words, [WORD; 2], "{kind:?} {after}: a result is right or an error"),
            Err(error) => {
                assert_eq!(pending, 0, "{kind:?} {after}: without a fault there is no error, but: {error}");
                failed += 1;
            }
        }
        if let Some(watch) = watched {
            assert_eq!(settled(&watch), Live::default(), "{kind:?} {after}: all is given back");
        }
        let (device, _watch) = device().expect("a device opens once the fault is over");
        assert_eq!(work(&device).expect("it works"), [WORD; 2], "after {kind:?} {after}");
        if pending > 0 {
            assert!(after > 0 && failed > 0, "{kind:?}: {after} operations, {failed} faults reached the program");
            announce(&format!("{test}: {after} operations, {failed} faults reached the program"));
            return;
        }
    }
    panic!("the work makes more than {OPERATIONS_MAX} operations");
}

#[test]
fn memory_of_the_device_runs_out_anywhere() {
    sweep("sweep::memory_of_the_device_runs_out_anywhere", FaultKind::DeviceMemory);
}

#[test]
fn a_code_object_is_refused_anywhere() {
    sweep("sweep::a_code_object_is_refused_anywhere", FaultKind::Code);
}

/// The runtime makes at the most four, shares them among streams, and goes on with those that it has.
#[test]
fn a_queue_cannot_be_made_anywhere() {
    apart("sweep::a_queue_cannot_be_made_anywhere", FaultKind::Queue, OUT_OF_RESOURCES, 3, |_, end| {
        matches!(end, End::Right)
    });
}

/// The runtime uses most of its signals without asking whether it got any.
#[test]
fn a_signal_cannot_be_made_anywhere() {
    apart("sweep::a_signal_cannot_be_made_anywhere", FaultKind::Signal, OUT_OF_RESOURCES, 80, |_, end| {
        matches!(end, End::Right | End::Refused | End::Killed(6 | 11))
    });
}

/// Releases from 7.0 on answer it to every later call; those before end the process with a line of the runtime's.
#[test]
fn a_launch_faults_anywhere() {
    apart("sweep::a_launch_faults_anywhere", FaultKind::Dispatch, MEMORY_FAULT, 3, |release, end| match end {
        End::Lost => release >= (7, 0),
        End::Killed(6) => release < (7, 0),
        _ => false,
    });
}

/// The runtime takes a copy of an engine that failed for one that was made, or waits for it without an end. Nothing above can tell.
#[test]
fn a_copy_fails_anywhere() {
    apart("sweep::a_copy_fails_anywhere", FaultKind::Copy, 0, 1, |_, end| matches!(end, End::Stale | End::Stopped));
}
