//! Windows that are closed by another stream than their owner (C-23 to C-29, C-85 to C-87).

use std::thread;

use graphreel::device::Stream;
use graphreel::error::GraphRule;
use graphreel::{Buffer, Grid, Kernel, Result, ServerError};

use crate::env::{failure, rule, says, taint_of};
use crate::{Env, kernels};

fn record(stream: &Stream, inc: &Kernel, buffer: &Buffer) -> Result<()> {
    stream.graph_prepare()?;
    stream.begin_capture()?;
    stream.launch(inc, Grid::stride(buffer.len_of::<u32>()), (buffer,))
}

/// The errors of an abandonment report.
#[track_caller]
fn report(error: &ServerError) -> Vec<ServerError> {
    match error {
        ServerError::Several { errors, .. } => errors.to_vec(),
        other => panic!("the report of an abandoned window has its own variant: {other:?}"),
    }
}

/// TC-3, TC-4, XC-6, XC-21: a foreign end from another thread closes the window, and gives the report and no graph.
pub fn an_end_by_another_stream_closes_and_reports(env: &Env) -> Result<()> {
    let (owner, neighbour) = env.folded();
    let inc = env.kernel(kernels::INC);
    let buffer = env.buffer(&[1; 8]);
    record(&owner, &inc, &buffer)?;
    let error = thread::scope(|scope| {
        let ended = scope.spawn(|| failure(neighbour.end_capture()));
        ended.join().expect("no panic")
    });
    let errors = report(&error);
    assert_eq!(errors.len(), 1, "nothing else had gone wrong: {error}");
    assert_eq!(errors[0].graph_rule(), Some(&GraphRule::Abandoned));
    let (owner_text, caller_text) = (format!("{:?}", owner.id()), format!("{:?}", neighbour.id()));
    says(&error, &["end_capture:", "discarded", &owner_text, &caller_text]);
    // C-76: none of it ran, so what it would have written is not readable, and says why.
    says(&taint_of(&buffer), &["discarded"]);
    env.assert_usable(&owner);
    // C-27: the owner's late end finds nothing.
    assert_eq!(rule(owner.end_capture(), "end_capture"), GraphRule::NothingRecording);
    Ok(())
}

/// XC-5, C-85, C-86: what had doomed the window is the second element of the report, unchanged.
pub fn a_doomed_and_abandoned_window_reports_both(env: &Env) -> Result<()> {
    let (owner, neighbour) = env.folded();
    let inc = env.kernel(kernels::INC);
    let buffer = env.buffer(&[1; 8]);
    record(&owner, &inc, &buffer)?;
    let doom = failure(owner.launch(&inc, Grid::stride(8), ()));
    let error = failure(neighbour.end_capture());
    let errors = report(&error);
    assert_eq!(errors.len(), 2, "{error}");
    assert_eq!(errors[0].graph_rule(), Some(&GraphRule::Abandoned));
    assert_eq!(errors[1].to_string(), doom.to_string());
    assert!(matches!(errors[1], ServerError::InvalidArguments(_)), "the second reason keeps its variant");
    says(&error, &[&errors[0].to_string(), &errors[1].to_string()]);
    env.assert_usable(&owner);
    Ok(())
}

/// C-27, TC-4, QC-13: a former owner's late end closes whatever window is open on the slot by then, and seals nothing.
pub fn a_late_end_seals_no_other_window(env: &Env) -> Result<()> {
    let (owner, neighbour) = env.folded();
    let inc = env.kernel(kernels::INC);
    let (first, second) = (env.buffer(&[1; 8]), env.buffer(&[1; 8]));
    record(&owner, &inc, &first)?;
    failure(neighbour.end_capture());
    record(&neighbour, &inc, &second)?;
    let errors = report(&failure(owner.end_capture()));
    says(&errors[0], &[&format!("owner {:?}", neighbour.id()), &format!("caller {:?}", owner.id())]);
    taint_of(&second);
    assert_eq!(rule(neighbour.end_capture(), "end_capture"), GraphRule::NothingRecording);
    env.assert_usable(&owner);
    Ok(())
}

/// C-25, C-29: an owner that never comes back locks nobody out, and who closes its window can capture at once.
pub fn an_owner_that_never_returns_locks_nobody_out(env: &Env) -> Result<()> {
    let (owner, neighbour) = env.folded();
    let inc = env.kernel(kernels::INC);
    let (lost, kept) = (env.buffer(&[1; 8]), env.buffer(&[1; 8]));
    thread::scope(|scope| {
        let gone = scope.spawn(|| {
            // Forgotten, as by a future that is never polled again: no drop aborts the window.
            std::mem::forget(owner.clone());
            record(&owner, &inc, &lost)
        });
        gone.join().expect("no panic")
    })?;
    failure(neighbour.end_capture());
    record(&neighbour, &inc, &kept)?;
    let graph = neighbour.end_capture()?;
    graph.replay()?.wait()?;
    assert_eq!(kept.read::<u32>()?, [2; 8]);
    assert_eq!(graph.recording().buffers.len(), 1, "nothing of the lost window is in it");
    env.assert_usable(&neighbour);
    Ok(())
}

/// C-24, C-92: many threads end one window: each is answered, nobody gets a graph, and the slot is free.
pub fn many_foreign_ends_at_once(env: &Env) -> Result<()> {
    let (owner, neighbour) = env.folded();
    let inc = env.kernel(kernels::INC);
    let buffer = env.buffer(&[1; 8]);
    for _ in 0..20 {
        record(&owner, &inc, &buffer)?;
        let answers: Vec<ServerError> = thread::scope(|scope| {
            let ends: Vec<_> = (0..4).map(|_| scope.spawn(|| failure(neighbour.end_capture()))).collect();
            ends.into_iter().map(|end| end.join().expect("no panic")).collect()
        });
        let reports = answers.iter().filter(|error| matches!(error, ServerError::Several { .. })).count();
        let late = answers.iter().filter(|error| error.graph_rule() == Some(&GraphRule::NothingRecording)).count();
        assert_eq!((reports, late), (1, 3), "one closes it, the others find nothing: {answers:?}");
        buffer.write(&[1u32; 8])?;
    }
    env.assert_usable(&owner);
    Ok(())
}
