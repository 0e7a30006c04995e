//! Memory that ends in an attempt: at its own grant, and at the device, of which somebody else has taken the rest. Neither is a
//! fault: the attempt goes on, and so does the backend.

use graphreel::error::{MemoryLimit, OutOfMemory};
use graphreel::lifecycle::{AttemptOutcome, QueryContext, one_claiming_test};
use graphreel::{Buffer, Config, Device, Result, ServerError};
use graphreel_cuda::{CudaOptions, open};

use crate::child::present;
use crate::facade::{LONG, admitted, built, close};

#[track_caller]
fn exhausted(result: Result<Buffer>) -> OutOfMemory {
    match result.map(drop) {
        Err(ServerError::OutOfMemory(out)) => out,
        other => panic!("{other:?}"),
    }
}

fn works(context: &QueryContext) {
    let buffer = context.upload(&[5u32; 1024]).unwrap();
    assert_eq!(context.stream().read::<u32>(&buffer).unwrap(), [5; 1024]);
}

/// B-105, B-110: what is refused has no effect, and what others give back can be had.
#[test]
fn memory_ends_in_an_attempt_without_a_fault() {
    if !present("memory_ends_in_an_attempt_without_a_fault") {
        return;
    }
    let _one = one_claiming_test();
    // Opened as by another program: it holds no claim, and the backend knows nothing of it.
    let other = Device::new(Box::new(open(&CudaOptions::default(), Config::default()).unwrap()), Config::default());
    let part = other.info().memory_bytes.unwrap() / 8 / 256 * 256;
    let grant = part * 3;
    let core = built(grant, grant).unwrap();
    let session = core.session_capability();
    let (begin, handle) = admitted(&session).unwrap();
    let context = handle.acquire_context().unwrap();
    works(&context);
    let out = exhausted(context.alloc(grant + 256));
    assert!(matches!(&out.refused_by, MemoryLimit::Account(_)), "{out:?}");
    assert!(out.need >= grant + 256 && out.limit == Some(grant) && out.have <= Some(grant), "{out:?}");

    let mut taken = Vec::new();
    let out = loop {
        assert!(taken.len() < 9, "more memory than there is was given");
        match other.alloc(part) {
            Ok(buffer) => taken.push(buffer),
            refused => break exhausted(refused),
        }
    };
    assert_eq!(out.refused_by, MemoryLimit::Device, "{out:?}");
    assert_eq!(exhausted(context.alloc(part)).refused_by, MemoryLimit::Device);
    assert!(other.lost().is_none() && core.health().ready && !core.health().degraded, "{:?}", core.health());
    works(&context);
    drop(taken);
    other.stream().sync().unwrap();
    other.trim();
    drop(context.alloc(part).unwrap());
    works(&context);
    begin.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    let report = begin.completion.wait_timeout(LONG).expect("it reports");
    assert!(report.outcome == AttemptOutcome::Succeeded && report.error.is_none(), "{report:?}");
    drop((context, handle));
    close(&core);
}
