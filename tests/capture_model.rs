//! The state machine against a model of a few lines: random calls on three streams must agree in state, results and
//! everything that can be taken out (INV-1 to INV-6 in docs/CAPTURE.md).
//!
//! The seed is random, or `GRAPHREEL_SEED`; a failure prints it. `GRAPHREEL_THOROUGH=1` runs 100,000 sequences.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphreel::capture::{CacheMode, CaptureEnd, StreamCapture};
use graphreel::memory::{BufferBinding, ClaimKey, Handle, MemoryService};
use graphreel::{Access, GraphRule, ServerError, StreamId};

const STREAMS: [StreamId; 3] = [StreamId { value: 7 }, StreamId { value: 8 }, StreamId { value: 9 }];

#[derive(Clone, Copy, Debug)]
enum Call {
    Prepare(StreamId),
    Begin,
    End(StreamId),
    Abort,
    Record(usize, Access),
    Fail(u32),
    RetainHost(u8),
    TakeRecorded,
    TakeRetainedHost,
    TakeFailure,
}

/// What a call answered, in a form that can be compared.
#[derive(Debug, PartialEq)]
enum Answer {
    Done,
    Refused(&'static str),
    Ended(CaptureEnd),
    Recorded(Vec<(ClaimKey, Access)>),
    Host(Vec<u8>),
    Failure(Option<u32>),
}

/// The reference: who owns the window, whether it records, and the three things it holds.
#[derive(Clone, Default)]
struct Model {
    owner: Option<StreamId>,
    recording: bool,
    claims: BTreeMap<ClaimKey, Access>,
    host: Vec<u8>,
    failure: Option<u32>,
}

impl Model {
    fn call(&mut self, call: Call, bindings: &[BufferBinding]) -> Answer {
        match call {
            Call::Prepare(_) if self.recording => return Answer::Refused("recording"),
            Call::Prepare(_) if self.owner.is_some() => return Answer::Refused("prepared"),
            Call::Prepare(stream) => *self = Self { owner: Some(stream), ..Self::default() },
            Call::Begin if self.recording => return Answer::Refused("recording"),
            Call::Begin if self.owner.is_none() => return Answer::Refused("not prepared"),
            Call::Begin => self.recording = true,
            Call::End(caller) => match self.owner.filter(|_| self.recording) {
                None => return Answer::Refused("nothing"),
                Some(owner) => {
                    (self.owner, self.recording) = (None, false);
                    let abandoned = owner != caller;
                    return Answer::Ended(match abandoned {
                        true => CaptureEnd::Abandoned { owner },
                        false => CaptureEnd::Owned { owner },
                    });
                }
            },
            Call::Abort => *self = Self::default(),
            Call::Record(at, access) if self.recording => {
                let claim = self.claims.entry(bindings[at].claim_key()).or_insert(access);
                *claim = claim.union(access);
            }
            Call::Fail(number) if self.recording => self.failure = self.failure.or(Some(number)),
            Call::RetainHost(byte) => self.host.push(byte),
            Call::Record(..) | Call::Fail(_) => {}
            Call::TakeRecorded => return Answer::Recorded(std::mem::take(&mut self.claims).into_iter().collect()),
            Call::TakeRetainedHost => return Answer::Host(std::mem::take(&mut self.host)),
            Call::TakeFailure => return Answer::Failure(self.failure.take()),
        }
        Answer::Done
    }
}

fn refusal(error: &ServerError) -> Answer {
    Answer::Refused(match error.graph_rule() {
        Some(GraphRule::AlreadyRecording) => "recording",
        Some(GraphRule::AlreadyPrepared) => "prepared",
        Some(GraphRule::NotPrepared) => "not prepared",
        Some(GraphRule::NothingRecording) => "nothing",
        other => panic!("no rule of the machine: {other:?}"),
    })
}

fn numbered(error: &ServerError) -> u32 {
    error.to_string().rsplit(' ').next().and_then(|number| number.parse().ok()).expect("failures are numbered")
}

fn call(capture: &mut StreamCapture, call: Call, bindings: &[BufferBinding]) -> Answer {
    let done = |result: Result<(), ServerError>| result.map_or_else(|error| refusal(&error), |()| Answer::Done);
    match call {
        Call::Prepare(stream) => done(capture.prepare(stream)),
        Call::Begin => done(capture.begin()),
        Call::End(stream) => capture.end(stream).map_or_else(|error| refusal(&error), Answer::Ended),
        Call::Abort => done({
            capture.abort();
            Ok(())
        }),
        Call::Record(at, access) => {
            capture.record([(bindings[at].clone(), access)]);
            Answer::Done
        }
        Call::Fail(number) => {
            capture.fail(ServerError::graph_state(format!("failure {number}")));
            Answer::Done
        }
        Call::RetainHost(byte) => {
            capture.retain_host(Arc::from([byte]));
            Answer::Done
        }
        Call::TakeRecorded => {
            let recorded = capture.take_recorded();
            let keyed: Vec<_> = recorded.iter().map(|(binding, access)| (binding.claim_key(), *access)).collect();
            assert!(keyed.windows(2).all(|pair| pair[0].0 < pair[1].0), "INV-4: {keyed:?}");
            Answer::Recorded(keyed)
        }
        Call::TakeRetainedHost => Answer::Host(capture.take_retained_host().iter().map(|bytes| bytes[0]).collect()),
        Call::TakeFailure => Answer::Failure(capture.take_failure().map(|error| numbered(&error))),
    }
}

fn any_call(rng: &mut fastrand::Rng, number: u32, recording: bool, bindings: usize) -> Call {
    let stream = STREAMS[rng.usize(0..STREAMS.len())];
    let access = [Access::Read, Access::Write, Access::ReadWrite, Access::WritePart][rng.usize(0..4)];
    match rng.u32(0..16) {
        0 | 1 => Call::Prepare(stream),
        2 | 3 => Call::Begin,
        4 => Call::End(stream),
        5 if rng.bool() => Call::Abort,
        6 | 7 => Call::Fail(number),
        // Legal only while recording (C-51).
        8 | 9 if recording => Call::RetainHost(number as u8),
        10 if rng.bool() => Call::TakeRecorded,
        11 if rng.bool() => Call::TakeRetainedHost,
        12 if rng.bool() => Call::TakeFailure,
        _ => Call::Record(rng.usize(0..bindings), access),
    }
}

fn assert_queries(capture: &StreamCapture, model: &Model) {
    // C-7, INV-1.
    assert_eq!(capture.owner(), model.owner);
    assert_eq!(capture.is_active(), model.owner.is_some());
    assert_eq!(capture.is_recording(), model.recording);
    assert!(!capture.is_recording() || capture.is_active());
    let mode = if model.owner.is_some() { CacheMode::Capture } else { CacheMode::Normal };
    assert_eq!(capture.cache_mode(), mode);
}

/// Take everything out and compare: what an earlier call changed in secret shows here (INV-2, INV-3, INV-5).
fn drain(capture: &mut StreamCapture, model: &mut Model, bindings: &[BufferBinding]) {
    for take in [Call::TakeRecorded, Call::TakeRetainedHost, Call::TakeFailure] {
        assert_eq!(call(capture, take, bindings), model.call(take, bindings), "{take:?}");
    }
}

fn sequence(rng: &mut fastrand::Rng, bindings: &[BufferBinding]) {
    let (mut capture, mut model) = (StreamCapture::default(), Model::default());
    for number in 0..rng.u32(1..40) {
        let next = any_call(rng, number, model.recording, bindings.len());
        let (got, want) = (call(&mut capture, next, bindings), model.call(next, bindings));
        assert_eq!(got, want, "{next:?}");
        assert_queries(&capture, &model);
        let refused_or_prepared = matches!(got, Answer::Refused(_)) || matches!(next, Call::Prepare(_));
        if refused_or_prepared && rng.u32(0..4) == 0 {
            drain(&mut capture, &mut model, bindings);
        }
    }
    drain(&mut capture, &mut model, bindings);
    // INV-6: from recording any end frees the slot; from anywhere one abort does.
    if !(capture.is_recording() && rng.bool() && capture.end(STREAMS[2]).is_ok()) {
        capture.abort();
    }
    capture.prepare(STREAMS[0]).expect("a free slot");
    model = Model { owner: Some(STREAMS[0]), ..Model::default() };
    drain(&mut capture, &mut model, bindings);
}

#[test]
fn random_sequences_agree_with_the_model() {
    let seed = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("GRAPHREEL_SEED={seed}");
    let sequences = if std::env::var_os("GRAPHREEL_THOROUGH").is_some_and(|on| on == "1") { 100_000 } else { 2_000 };
    let whole = Handle::new(&MemoryService::new(), STREAMS[0], 8);
    let other = Handle::new(&MemoryService::new(), STREAMS[1], 8);
    let parts = [&whole.clone().offset_start(4), &whole.clone().offset_end(4), &whole.clone().offset_start(0)];
    let bindings: Vec<_> = [&other, &whole].into_iter().chain(parts).map(Handle::binding).collect();
    let mut rng = fastrand::Rng::with_seed(seed);
    for _ in 0..sequences {
        sequence(&mut rng, &bindings);
    }
}
