//! The required tests of the state machine (TC-1 to TC-13, XC-1 to XC-10), and every sequence of calls up to length 6.

use super::*;
use crate::memory::{Handle, ManagedMemoryId, MemoryService};
use crate::sync::Arc;

const OWNER: StreamId = StreamId { value: 7 };
const NEIGHBOUR: StreamId = StreamId { value: 8 };

fn buffer(bytes: u64) -> Handle {
    Handle::new(&MemoryService::new(), OWNER, bytes)
}

fn read(handle: &Handle) -> (BufferBinding, Access) {
    (handle.binding(), Access::Read)
}

fn recording() -> StreamCapture {
    let mut capture = StreamCapture::default();
    capture.prepare(OWNER).unwrap();
    capture.begin().unwrap();
    capture
}

fn ids(recorded: &[(BufferBinding, Access)]) -> Vec<ManagedMemoryId> {
    recorded.iter().map(|(binding, _)| binding.memory.id()).collect()
}

fn host_bytes() -> Bytes {
    Arc::from([1_u8, 2, 3, 4])
}

#[test]
fn only_the_full_cycle_is_legal() {
    // TC-1; C-9, C-10, C-11, C-13, C-16, C-89.
    let mut state = StreamCaptureState::default();
    let text = state.begin().unwrap_err().to_string();
    assert!(text.starts_with("begin_capture:") && text.contains("graph_prepare has to come first"), "{text}");
    let text = state.end(OWNER).unwrap_err().to_string();
    assert!(text.starts_with("end_capture:") && text.contains("nothing is recording"), "{text}");
    assert_eq!(state, StreamCaptureState::NoCapture);

    state.prepare(OWNER).unwrap();
    assert_eq!(state, StreamCaptureState::Prepare { owner: OWNER });
    let text = state.prepare(OWNER).unwrap_err().to_string();
    assert!(text.starts_with("graph_prepare:") && text.contains("already prepared"), "{text}");
    assert!(state.end(OWNER).is_err());
    assert_eq!(state, StreamCaptureState::Prepare { owner: OWNER });

    state.begin().unwrap();
    assert_eq!(state, StreamCaptureState::Capture { owner: OWNER });
    let text = state.begin().unwrap_err().to_string();
    assert!(text.starts_with("begin_capture:") && text.contains("already recording"), "{text}");
    let text = state.prepare(OWNER).unwrap_err().to_string();
    assert!(text.starts_with("graph_prepare:") && text.contains("already recording"), "{text}");
    assert_eq!(state.end(OWNER).unwrap(), CaptureEnd::Owned { owner: OWNER });
    assert_eq!(state, StreamCaptureState::NoCapture);
}

#[test]
fn a_window_names_its_owner_from_prepare_to_end() {
    // TC-2; C-8, C-20.
    let mut capture = StreamCapture::default();
    assert_eq!(capture.owner(), None);
    capture.prepare(OWNER).unwrap();
    assert_eq!((capture.owner(), capture.is_active(), capture.is_recording()), (Some(OWNER), true, false));
    capture.begin().unwrap();
    assert_eq!((capture.owner(), capture.is_recording()), (Some(OWNER), true));
    assert_eq!(capture.end(OWNER).unwrap().owner(), OWNER);
    assert_eq!((capture.owner(), capture.is_active()), (None, false));
}

#[test]
fn a_foreign_end_abandons_the_window_and_frees_the_slot() {
    // TC-3, TC-4; C-23 to C-25, C-27.
    let mut capture = recording();
    assert_eq!(capture.end(NEIGHBOUR).unwrap(), CaptureEnd::Abandoned { owner: OWNER });
    assert!(!capture.is_active());
    capture.prepare(NEIGHBOUR).unwrap();
    capture.begin().unwrap();
    assert_eq!(capture.end(OWNER).unwrap(), CaptureEnd::Abandoned { owner: NEIGHBOUR });
}

#[test]
fn claims_come_once_and_in_order_of_allocation() {
    // TC-5; C-39, C-40, C-43, and the union of accesses.
    let (a, b, c) = (buffer(8), buffer(8), buffer(8));
    let mut capture = recording();
    capture.record([read(&a), (b.binding(), Access::Write)]);
    capture.record([read(&b), (c.binding(), Access::Write)]);
    capture.record([read(&a)]);
    assert_eq!(capture.end(OWNER).unwrap(), CaptureEnd::Owned { owner: OWNER });
    let recorded = capture.take_recorded();
    assert_eq!(ids(&recorded), [a.memory().id(), b.memory().id(), c.memory().id()]);
    let accesses: Vec<_> = recorded.iter().map(|(_, access)| *access).collect();
    assert_eq!(accesses, [Access::Read, Access::ReadWrite, Access::Write]);
    assert!(capture.take_recorded().is_empty());
}

#[test]
fn only_what_a_window_runs_is_recorded() {
    // TC-6; C-37: idle and warmup work ran, so it is not remembered.
    let (x, y, z) = (buffer(8), buffer(8), buffer(8));
    let mut capture = StreamCapture::default();
    capture.record([read(&x)]);
    capture.prepare(OWNER).unwrap();
    capture.record([read(&y)]);
    capture.begin().unwrap();
    capture.record([read(&z)]);
    capture.end(OWNER).unwrap();
    assert_eq!(ids(&capture.take_recorded()), [z.memory().id()]);
}

#[test]
fn siblings_and_overlaps_are_claims_of_their_own() {
    // TC-7, XC-9, XC-10; C-40, C-41, C-43, C-45, C-47.
    let whole = buffer(8);
    let front = whole.clone().offset_end(4);
    let back = whole.clone().offset_start(4);
    let mut capture = recording();
    capture.record([read(&back), read(&front)]);
    capture.record([read(&front)]);
    capture.end(OWNER).unwrap();
    let keys: Vec<_> = capture.take_recorded().iter().map(|(binding, _)| binding.claim_key()).collect();
    assert_eq!(keys, [front.binding().claim_key(), back.binding().claim_key()]);

    let overlapping = whole.clone().offset_start(2);
    let zero = whole.clone().offset_start(0).offset_end(0);
    let mut capture = recording();
    capture.record([read(&overlapping), read(&back), read(&whole), read(&zero)]);
    capture.end(OWNER).unwrap();
    let ranges: Vec<_> = capture.take_recorded().iter().map(|(binding, _)| binding.range()).collect();
    assert_eq!(ranges, [0..8, 2..8, 4..8]);
}

#[test]
fn recorded_bindings_keep_their_memory_alive() {
    // C-48.
    let service = MemoryService::new();
    let handle = Handle::new(&service, OWNER, 8);
    let id = handle.memory().id();
    let mut capture = recording();
    capture.record([read(&handle)]);
    drop(handle);
    let mut dropped = Vec::new();
    service.drain_dropped(&mut dropped);
    assert!(dropped.is_empty());
    capture.abort();
    service.drain_dropped(&mut dropped);
    assert_eq!(dropped, [id]);
}

#[test]
fn host_bytes_are_taken_once_and_dropped_by_abort() {
    // TC-8; C-53, C-54.
    let mut capture = recording();
    capture.retain_host(host_bytes());
    capture.end(OWNER).unwrap();
    assert_eq!(capture.take_retained_host().len(), 1);
    assert!(capture.take_retained_host().is_empty());

    capture.prepare(OWNER).unwrap();
    capture.begin().unwrap();
    let bytes = host_bytes();
    capture.retain_host(bytes.clone());
    capture.abort();
    assert_eq!(Arc::strong_count(&bytes), 1);
    capture.prepare(OWNER).unwrap();
    assert!(capture.take_retained_host().is_empty());
}

#[test]
fn every_window_starts_empty() {
    // TC-9; C-28, C-68.
    let (p, q) = (buffer(8), buffer(8));
    let mut capture = recording();
    capture.record([read(&p)]);
    capture.abort();
    capture.prepare(OWNER).unwrap();
    capture.begin().unwrap();
    capture.record([read(&q)]);
    assert!(capture.end(NEIGHBOUR).unwrap().is_abandoned());
    assert_eq!(ids(&capture.take_recorded()), [q.memory().id()]);

    capture.prepare(NEIGHBOUR).unwrap();
    capture.begin().unwrap();
    assert!(capture.take_recorded().is_empty());
    // Not collected after `end`: the next prepare drops it (C-18, C-54).
    capture.record([read(&p)]);
    let bytes = host_bytes();
    capture.retain_host(bytes.clone());
    capture.fail(ServerError::graph_state("first"));
    capture.end(NEIGHBOUR).unwrap();
    capture.prepare(OWNER).unwrap();
    assert!(capture.take_recorded().is_empty() && capture.take_failure().is_none());
    assert_eq!(Arc::strong_count(&bytes), 1);
}

#[test]
fn the_report_of_an_abandoned_window_has_both_reasons_in_order() {
    // TC-10, XC-5, XC-6; C-85 to C-88.
    let end = CaptureEnd::Abandoned { owner: OWNER };
    let report = end.abandoned_error(NEIGHBOUR, Some(ServerError::graph_state("doomed")));
    let text = report.to_string();
    assert!(text.contains(&format!("{OWNER:?}")) && text.contains(&format!("{NEIGHBOUR:?}")), "{text}");
    assert!(text.contains("discarded") && text.contains("doomed"), "{text}");
    let ServerError::Several { errors, .. } = report else { panic!("{report:?}") };
    assert_eq!(errors.len(), 2);
    assert!(errors[0].to_string().starts_with("end_capture:"));
    assert!(errors[1].to_string().contains("doomed"));

    let ServerError::Several { errors, .. } = end.abandoned_error(NEIGHBOUR, None) else { panic!("not several") };
    assert_eq!(errors.len(), 1);
    // C-88: meaningless, and no panic.
    let _ = CaptureEnd::Owned { owner: OWNER }.abandoned_error(OWNER, None);
}

#[test]
fn a_rejected_prepare_leaves_the_window_as_it_was() {
    // TC-11, XC-7; C-12, C-16.
    let mut capture = StreamCapture::default();
    capture.prepare(OWNER).unwrap();
    let own = capture.prepare(OWNER).unwrap_err().to_string();
    let foreign = capture.prepare(NEIGHBOUR).unwrap_err().to_string();
    assert_eq!(own, foreign);
    assert_eq!(capture.state, StreamCaptureState::Prepare { owner: OWNER });
    capture.begin().unwrap();

    capture.record([read(&buffer(8))]);
    capture.retain_host(host_bytes());
    capture.fail(ServerError::graph_state("first"));
    assert!(capture.prepare(NEIGHBOUR).is_err());
    assert!(capture.begin().is_err());
    assert_eq!(capture.state, StreamCaptureState::Capture { owner: OWNER });
    assert_eq!(capture.take_recorded().len(), 1);
    assert_eq!(capture.take_retained_host().len(), 1);
    assert!(capture.take_failure().is_some());
}

#[test]
fn abort_makes_any_window_preparable_again() {
    // TC-12; C-15, C-66, C-67.
    let mut prepared = StreamCapture::default();
    prepared.prepare(OWNER).unwrap();
    for mut capture in [StreamCapture::default(), prepared, recording()] {
        capture.abort();
        assert_eq!(capture.state, StreamCaptureState::NoCapture);
        capture.prepare(OWNER).unwrap();
    }
}

#[test]
fn caches_keep_everything_from_prepare_to_end() {
    // TC-13; C-63.
    let mut capture = StreamCapture::default();
    assert_eq!(capture.cache_mode(), CacheMode::Normal);
    capture.prepare(OWNER).unwrap();
    assert_eq!(capture.cache_mode(), CacheMode::Capture);
    capture.begin().unwrap();
    assert_eq!(capture.cache_mode(), CacheMode::Capture);
    capture.end(OWNER).unwrap();
    assert_eq!(capture.cache_mode(), CacheMode::Normal);
}

#[test]
fn the_first_failure_of_a_recording_window_stays_and_does_not_leak() {
    // XC-1, XC-2, XC-3, XC-4; C-31 to C-33, C-35.
    let mut capture = StreamCapture::default();
    capture.fail(ServerError::graph_state("idle"));
    assert!(capture.take_failure().is_none());
    capture.prepare(OWNER).unwrap();
    capture.fail(ServerError::graph_state("prepared"));
    assert!(capture.take_failure().is_none());

    capture.begin().unwrap();
    capture.fail(ServerError::graph_state("first"));
    capture.fail(ServerError::graph_state("second"));
    assert_eq!(capture.end(OWNER).unwrap(), CaptureEnd::Owned { owner: OWNER });
    assert!(capture.take_failure().unwrap().to_string().contains("first"));
    assert!(capture.take_failure().is_none());

    let mut capture = recording();
    capture.fail(ServerError::graph_state("first"));
    capture.abort();
    capture.prepare(OWNER).unwrap();
    capture.begin().unwrap();
    capture.end(OWNER).unwrap();
    assert!(capture.take_failure().is_none());
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "host bytes are retained only while recording")]
fn host_bytes_outside_a_window_are_a_programming_error() {
    // XC-8; C-51.
    StreamCapture::default().retain_host(host_bytes());
}

/// The calls of the enumeration; `retain_host` is legal only while recording and is left out elsewhere (C-51).
#[derive(Clone, Copy, Debug)]
enum Call {
    Prepare(StreamId),
    Begin,
    End(StreamId),
    Abort,
    Record,
    Fail,
    Retain,
}

const CALLS: [Call; 9] = [
    Call::Prepare(OWNER),
    Call::Prepare(NEIGHBOUR),
    Call::Begin,
    Call::End(OWNER),
    Call::End(NEIGHBOUR),
    Call::Abort,
    Call::Record,
    Call::Fail,
    Call::Retain,
];

/// All four fields, by count where only the count can differ.
type Fields = (StreamCaptureState, usize, usize, bool);

fn fields(capture: &StreamCapture) -> Fields {
    (capture.state, capture.recorded.len(), capture.retained.len(), capture.failure.is_some())
}

/// What the tables of C-9 and C-17 say `call` makes of `before`, and whether it is accepted.
fn expected(before: Fields, call: Call) -> (Fields, bool) {
    use StreamCaptureState::{Capture, NoCapture, Prepare};
    let (state, recorded, retained, failed) = before;
    match (call, state) {
        (Call::Prepare(owner), NoCapture) => ((Prepare { owner }, 0, 0, false), true),
        (Call::Begin, Prepare { owner }) => ((Capture { owner }, recorded, retained, failed), true),
        (Call::End(_), Capture { .. }) => ((NoCapture, recorded, retained, failed), true),
        (Call::Abort, _) => ((NoCapture, 0, 0, false), true),
        (Call::Record, Capture { .. }) => ((state, recorded + 1, retained, failed), true),
        (Call::Fail, Capture { .. }) => ((state, recorded, retained, true), true),
        (Call::Retain, Capture { .. }) => ((state, recorded, retained + 1, failed), true),
        (Call::Record | Call::Fail | Call::Retain, _) => (before, true),
        (Call::Prepare(_) | Call::Begin | Call::End(_), _) => (before, false),
    }
}

fn apply(capture: &mut StreamCapture, call: Call, buffer: &Handle) -> bool {
    match call {
        Call::Prepare(stream) => capture.prepare(stream).is_ok(),
        Call::Begin => capture.begin().is_ok(),
        Call::End(stream) => {
            let owner = capture.owner();
            let end = capture.end(stream);
            assert!(end.as_ref().is_ok_and(|end| end.is_abandoned() == (owner != Some(stream))) || end.is_err());
            end.is_ok()
        }
        Call::Abort => {
            capture.abort();
            true
        }
        Call::Record => {
            capture.record([read(buffer)]);
            true
        }
        Call::Fail => {
            capture.fail(ServerError::graph_state("failed"));
            true
        }
        Call::Retain => {
            if capture.is_recording() {
                capture.retain_host(host_bytes());
            }
            true
        }
    }
}

fn copy_of(capture: &StreamCapture) -> StreamCapture {
    StreamCapture {
        state: capture.state,
        recorded: capture.recorded.clone(),
        retained: capture.retained.clone(),
        failure: capture.failure.clone(),
    }
}

fn enumerate(capture: &StreamCapture, depth: usize, buffer: &Handle, visited: &mut usize) {
    *visited += 1;
    assert_eq!(capture.owner().is_some(), capture.is_active(), "INV-1");
    assert!(!capture.is_recording() || capture.is_active(), "INV-1");
    if depth == 0 {
        return;
    }
    for call in CALLS {
        let mut next = copy_of(capture);
        let (want, accepted) = expected(fields(capture), call);
        // INV-2, INV-3: the expectation of a refusal is `before`, that of a prepare is empty.
        assert_eq!(apply(&mut next, call, buffer), accepted, "{call:?} in {:?}", capture.state);
        assert_eq!(fields(&next), want, "{call:?} in {:?}", capture.state);
        enumerate(&next, depth - 1, buffer, visited);
    }
}

#[test]
fn every_sequence_of_six_calls_follows_the_tables() {
    // C-9, C-16, C-17, INV-1 to INV-3, INV-6.
    let mut visited = 0;
    enumerate(&StreamCapture::default(), 6, &buffer(8), &mut visited);
    assert_eq!(visited, (0..=6).map(|length| 9_usize.pow(length)).sum::<usize>());
}

#[test]
fn the_machine_moves_with_its_stream() {
    // C-92.
    fn is_send<T: Send>() {}
    fn is_shared_and_copied<T: Send + Sync + Copy>() {}
    is_send::<StreamCapture>();
    is_send::<crate::book::Book>();
    is_shared_and_copied::<StreamCaptureState>();
    is_shared_and_copied::<CaptureEnd>();
}
