//! The brackets against a host that writes down its calls and fails where it is told to.

use std::cell::RefCell;
use std::rc::Rc;

use super::*;
use crate::book::Admission;
use crate::caps::Caps;
use crate::clock::Clock;
use crate::config::Config;
use crate::memory::{DeviceId, Handle, MemoryService};
use crate::op::Op;
use crate::recording::{CapturePolicy, GraphReport, Tier};
use crate::server::GraphId;
use crate::sync::Weak;

const OWNER: StreamId = StreamId { value: 7 };
const NEIGHBOUR: StreamId = StreamId { value: 8 };

type Log = Rc<RefCell<Vec<String>>>;

/// An open driver graph; says when it is destroyed and whether the host bytes were still there then.
struct Closed {
    log: Log,
    bytes: Option<Weak<[u8]>>,
}

impl Drop for Closed {
    fn drop(&mut self) {
        let alive = self.bytes.take().is_some_and(|bytes| bytes.strong_count() > 0);
        self.log.borrow_mut().push(format!("destroyed, bytes {}", if alive { "alive" } else { "gone" }));
    }
}

struct FakeHost {
    book: Book,
    clock: Clock,
    log: Log,
    /// The steps that fail.
    failing: Vec<&'static str>,
    bytes: Option<Weak<[u8]>>,
    sealed: Vec<SealParts>,
    is_priming: bool,
    is_open: bool,
    is_normal: bool,
    /// What a deferred read of the watched buffer was told.
    watched: Option<BufferBinding>,
    deferred_read: Option<Result<()>>,
}

impl FakeHost {
    fn new() -> Self {
        let clock = Clock::manual();
        let config = Config { max_streams: 1, clock: clock.clone(), ..Config::default() };
        let caps = Caps { records_host_writes: true, defers_neighbours: true, ..Caps::minimal() };
        Self {
            book: Book::new(DeviceId(1), &caps, &config),
            clock,
            log: Log::default(),
            failing: Vec::new(),
            bytes: None,
            sealed: Vec::new(),
            is_priming: false,
            is_open: false,
            is_normal: true,
            watched: None,
            deferred_read: None,
        }
    }

    fn failing(steps: &[&'static str]) -> Self {
        Self { failing: steps.to_vec(), ..Self::new() }
    }

    fn step(&mut self, name: &'static str) -> Result<()> {
        self.log.borrow_mut().push(name.to_owned());
        if self.failing.contains(&name) { Err(ServerError::graph_state(format!("{name} failed"))) } else { Ok(()) }
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.borrow_mut())
    }

    fn capture(&mut self) -> &mut StreamCapture {
        &mut self.book.window(SlotIndex(0)).capture
    }

    fn open(&mut self) {
        graph_prepare(self, OWNER, CaptureOptions::default()).unwrap();
        begin_capture(self, OWNER).unwrap();
    }

    /// A written buffer of 4 bytes.
    fn buffer(&mut self) -> Handle {
        let handle = Handle::new(&MemoryService::new(), OWNER, 4);
        self.book.ledger_mut().allocated(handle.memory().id(), 4);
        self.book.ledger_mut().written(handle.memory().id(), 0..4);
        handle
    }

    /// Record an upload to `dst`; only the window holds its bytes afterwards.
    fn record(&mut self, dst: &Handle) {
        let bytes: Bytes = Arc::from([1_u8, 2, 3, 4]);
        self.bytes = Some(Arc::downgrade(&bytes));
        let admitted = self.book.admit(OWNER, &Op::Upload { dst: dst.binding().into(), bytes }).unwrap();
        assert!(matches!(admitted, Admission::Record { .. }));
    }

    fn bytes_are_alive(&self) -> bool {
        self.bytes.as_ref().is_some_and(|bytes| bytes.strong_count() > 0)
    }

    /// Nothing is left of any window, and the next capture works.
    fn assert_idle_and_usable(&mut self) {
        assert!(!self.capture().is_active() && self.capture().owner().is_none());
        assert!(!self.is_priming && !self.is_open && self.is_normal, "primed, open or caching after the window");
        self.failing.clear();
        let dst = self.buffer();
        self.open();
        self.record(&dst);
        end_capture(self, OWNER).unwrap();
        let parts = self.sealed.last().expect("sealed");
        assert_eq!(parts.claims.len(), 1, "C-68: only what this window recorded");
    }

    fn read(&self, handle: &Handle) -> Result<()> {
        self.book.check_read(&handle.binding())
    }
}

impl WindowHost for FakeHost {
    type Closed = Closed;

    fn book(&mut self) -> &mut Book {
        &mut self.book
    }

    fn arm(&mut self, _slot: SlotIndex) -> Result<()> {
        self.is_priming = true;
        self.is_normal = false;
        self.step("arm")
    }

    fn end_priming(&mut self, _slot: SlotIndex) {
        self.is_priming = false;
        self.log.borrow_mut().push("end_priming".to_owned());
    }

    fn window_closed(&mut self, _slot: SlotIndex) {
        self.is_normal = true;
        self.log.borrow_mut().push("window_closed".to_owned());
    }

    fn flush_before_window(&mut self, _slot: SlotIndex) -> Result<()> {
        self.step("flush")
    }

    fn open_window(&mut self, _slot: SlotIndex) -> Result<()> {
        self.step("open")?;
        self.is_open = true;
        Ok(())
    }

    fn close_window(&mut self, _slot: SlotIndex) -> Result<Closed> {
        assert!(!self.capture().is_active(), "the machine moves first (R-3)");
        self.is_open = false;
        self.step("close")?;
        Ok(Closed { log: self.log.clone(), bytes: self.bytes.clone() })
    }

    fn seal(&mut self, _slot: SlotIndex, closed: Closed, parts: SealParts) -> Result<Sealed> {
        // The worst order that a server may choose: its copy of the bytes goes before the driver's graph.
        let sealed = self.step("seal").map(|()| {
            let recording = parts.recorded.recording.clone();
            self.sealed.push(parts);
            let choice = CapturePolicy::Best.choose(&[Tier::Captured]).unwrap();
            Sealed { id: GraphId(1), report: GraphReport::new(choice), recording, buffers: [].into() }
        });
        drop(closed);
        sealed
    }

    fn discard(&mut self, _slot: SlotIndex, closed: Closed) {
        self.log.borrow_mut().push("discard".to_owned());
        drop(closed);
    }

    fn run_deferred(&mut self, _slot: SlotIndex) {
        self.log.borrow_mut().push("deferred".to_owned());
        let watched = self.watched.clone();
        self.deferred_read = watched.map(|binding| self.book.check_read(&binding));
    }
}

#[test]
fn steps_come_in_the_order_of_the_contract() {
    // C-69 to C-71, XC-26: priming is off after begin.
    let mut host = FakeHost::new();
    let options = CaptureOptions { label: Some("step".into()), ..CaptureOptions::default() };
    graph_prepare(&mut host, OWNER, options).unwrap();
    assert_eq!(host.calls(), ["arm"]);
    host.clock.advance(Duration::from_secs(5));
    begin_capture(&mut host, OWNER).unwrap();
    assert_eq!(host.calls(), ["end_priming", "flush", "open"]);
    let dst = host.buffer();
    host.record(&dst);
    host.clock.advance(Duration::from_secs(2));
    let sealed = end_capture(&mut host, OWNER).unwrap();
    assert_eq!(host.calls(), ["close", "seal", "destroyed, bytes alive", "window_closed", "deferred"]);
    assert_eq!(sealed.recording.label.as_deref(), Some("step"));
    let parts = &host.sealed[0];
    assert_eq!((parts.claims.len(), parts.host.len(), parts.exclusive), (1, 1, false));
    assert_eq!(parts.record_time, Duration::from_secs(2));
    assert_eq!(parts.options.label.as_deref(), Some("step"));
    // XC-23, C-49: the caller has let go of the bytes, the graph has not.
    assert!(host.bytes_are_alive());
    host.sealed.clear();
    host.assert_idle_and_usable();
}

#[test]
fn a_rejected_call_reaches_no_step() {
    // XC-11, C-16, C-69, C-70, TC-14.
    let mut host = FakeHost::new();
    begin_capture(&mut host, OWNER).unwrap_err();
    end_capture(&mut host, OWNER).unwrap_err();
    assert_eq!(host.calls(), [""; 0]);
    graph_prepare(&mut host, OWNER, CaptureOptions::default()).unwrap();
    host.calls();
    let rejected = graph_prepare(&mut host, NEIGHBOUR, CaptureOptions::default()).unwrap_err().to_string();
    assert!(rejected.contains("already prepared") && rejected.contains("slot 0"), "{rejected}");
    end_capture(&mut host, OWNER).unwrap_err();
    begin_capture(&mut host, OWNER).unwrap();
    let dst = host.buffer();
    host.record(&dst);
    host.calls();
    for stream in [OWNER, NEIGHBOUR] {
        let begin = begin_capture(&mut host, stream).unwrap_err().to_string();
        assert!(begin.contains("already recording"), "{begin}");
        graph_prepare(&mut host, stream, CaptureOptions::default()).unwrap_err();
    }
    assert_eq!(host.calls(), [""; 0]);
    end_capture(&mut host, OWNER).unwrap();
    assert_eq!(host.sealed[0].claims.len(), 1);
}

#[test]
fn only_the_owner_begins_and_anybody_aborts_what_is_only_prepared() {
    // XC-28, QC-1, QC-4.
    let mut host = FakeHost::new();
    graph_abort(&mut host, NEIGHBOUR).unwrap();
    graph_prepare(&mut host, OWNER, CaptureOptions::default()).unwrap();
    host.calls();
    let refused = begin_capture(&mut host, NEIGHBOUR).unwrap_err();
    assert_eq!(refused.graph_rule(), Some(&GraphRule::NotOwner));
    assert!(host.calls().is_empty() && host.capture().owner() == Some(OWNER));
    graph_abort(&mut host, NEIGHBOUR).unwrap();
    assert_eq!(host.calls(), ["end_priming", "window_closed", "deferred"]);
    host.assert_idle_and_usable();
}

#[test]
fn a_recording_window_is_aborted_by_its_owner_alone() {
    // QC-4, C-54, C-61, C-67, C-76.
    let mut host = FakeHost::new();
    let dst = host.buffer();
    host.open();
    host.record(&dst);
    host.calls();
    assert_eq!(graph_abort(&mut host, NEIGHBOUR).unwrap_err().graph_rule(), Some(&GraphRule::NotOwner));
    assert!(host.calls().is_empty() && host.capture().is_recording());
    host.watched = Some(dst.binding());
    graph_abort(&mut host, OWNER).unwrap();
    assert_eq!(host.calls(), ["close", "discard", "destroyed, bytes alive", "window_closed", "deferred"]);
    assert!(!host.bytes_are_alive());
    assert!(host.read(&dst).unwrap_err().to_string().contains("aborted"));
    assert!(matches!(host.deferred_read, Some(Err(_))), "a deferred read sees the outcome");
    host.watched = None;
    host.assert_idle_and_usable();
}

#[test]
fn whatever_fails_leaves_the_slot_idle_and_usable() {
    // XC-12, XC-13; C-66, C-69 to C-71: each step in turn.
    for step in ["arm", "flush", "open", "close", "seal"] {
        let mut host = FakeHost::failing(&[step]);
        let dst = host.buffer();
        let outcome = graph_prepare(&mut host, OWNER, CaptureOptions::default())
            .and_then(|()| begin_capture(&mut host, OWNER))
            .and_then(|()| {
                host.record(&dst);
                end_capture(&mut host, OWNER)
            });
        assert_eq!(outcome.unwrap_err().to_string(), format!("graph: {step} failed"));
        let calls = host.calls();
        assert!(calls.contains(&"window_closed".to_owned()), "{step}: {calls:?}");
        let in_window = matches!(step, "close" | "seal");
        assert!(step == "arm" || calls.last().is_some_and(|call| call == "deferred"), "C-61, {step}: {calls:?}");
        match host.read(&dst) {
            Err(ServerError::Tainted { cause, .. }) => {
                assert!(in_window && cause.to_string().contains(step), "{step}: {cause}");
            }
            other => assert!(other.is_ok() && !in_window, "{step}: {other:?}"),
        }
        if step == "seal" {
            assert!(calls.contains(&"destroyed, bytes alive".to_owned()), "C-54: {calls:?}");
        }
        assert!(!host.bytes_are_alive());
        host.assert_idle_and_usable();
    }
}

#[test]
fn a_window_without_work_gives_no_graph() {
    // C-71, row "nothing recorded".
    let mut host = FakeHost::new();
    host.open();
    host.calls();
    let error = end_capture(&mut host, OWNER).unwrap_err();
    assert_eq!(error.graph_rule(), Some(&GraphRule::EmptyCapture));
    assert_eq!(host.calls(), ["close", "discard", "destroyed, bytes gone", "window_closed", "deferred"]);
    host.assert_idle_and_usable();
}

#[test]
fn a_doomed_window_is_never_sealed_and_tells_its_failure_first() {
    // XC-3, XC-18; C-33, C-71, C-72.
    for close in [&[][..], &["close"][..]] {
        let mut host = FakeHost::failing(close);
        let (dst, weights) = (host.buffer(), host.buffer());
        host.open();
        host.record(&dst);
        host.capture().record([(weights.binding(), Access::Read)]);
        host.book.doom(OWNER, ServerError::graph_state("doomed"));
        host.watched = Some(dst.binding());
        let error = end_capture(&mut host, OWNER).unwrap_err();
        match (&error, close) {
            (ServerError::Several { errors, .. }, ["close"]) => {
                let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
                assert_eq!(texts, ["graph: doomed", "graph: close failed"]);
            }
            (error, close) => assert!(close.is_empty() && error.to_string() == "graph: doomed", "{error}"),
        }
        assert!(host.sealed.is_empty());
        assert!(host.read(&dst).unwrap_err().to_string().contains("doomed"));
        assert!(matches!(host.deferred_read, Some(Err(_))));
        host.read(&weights).unwrap();
        assert!(!host.bytes_are_alive());
        host.watched = None;
        host.assert_idle_and_usable();
    }
}

#[test]
fn an_abandoned_window_reports_both_reasons_and_frees_the_slot() {
    // XC-5, C-24 to C-28, C-71, C-85.
    for doomed in [None, Some(ServerError::graph_state("doomed"))] {
        let mut host = FakeHost::new();
        let dst = host.buffer();
        host.open();
        host.record(&dst);
        let expected = 1 + usize::from(doomed.is_some());
        doomed.into_iter().for_each(|error| host.book.doom(OWNER, error));
        host.calls();
        let error = end_capture(&mut host, NEIGHBOUR).unwrap_err();
        assert_eq!(host.calls(), ["close", "discard", "destroyed, bytes alive", "window_closed", "deferred"]);
        let ServerError::Several { errors, .. } = &error else { panic!("{error}") };
        assert_eq!(errors.len(), expected);
        assert_eq!(errors[0].graph_rule(), Some(&GraphRule::Abandoned));
        let text = host.read(&dst).unwrap_err().to_string();
        assert!(text.contains(&format!("{OWNER:?}")) && text.contains(&format!("{NEIGHBOUR:?}")), "{text}");
        // C-27: the late owner finds nothing.
        assert_eq!(end_capture(&mut host, OWNER).unwrap_err().graph_rule(), Some(&GraphRule::NothingRecording));
        host.assert_idle_and_usable();
    }
}

#[test]
fn a_torn_down_server_drops_every_window() {
    // C-74: prepared or recording; the driver's own errors change nothing.
    let cause = ServerError::DeviceLost { device: 1, reason: "gone".into() };
    let mut host = FakeHost::failing(&["close"]);
    teardown(&mut host, &cause);
    assert!(host.calls().is_empty());
    graph_prepare(&mut host, OWNER, CaptureOptions::default()).unwrap();
    let exclusive = host.book.lease_stream().unwrap();
    graph_prepare(&mut host, exclusive, CaptureOptions::default()).unwrap();
    begin_capture(&mut host, exclusive).unwrap();
    let dst = host.buffer();
    let admitted = host.book.admit(exclusive, &Op::Fill { dst: dst.binding().into(), word: 1 }).unwrap();
    assert_eq!(admitted, Admission::Record { node: 0 });
    host.calls();
    host.failing.retain(|step| *step != "close");
    teardown(&mut host, &cause);
    let calls = host.calls();
    assert_eq!(calls[..3], ["end_priming", "window_closed", "deferred"]);
    assert_eq!(calls[3..5], ["close", "discard"]);
    assert!(host.read(&dst).unwrap_err().is_device_lost());
    assert!(!host.book.status(exclusive).active);
    host.assert_idle_and_usable();
}
