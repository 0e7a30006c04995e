//! The operation matrix for both kinds of backend, passed-on failures, and what replays do to the ledger.

use super::*;
use crate::kernel::{BindingInfo, BindingSpace, Kernel, Reflection, Wgsl};
use crate::memory::{Handle, ManagedMemoryId, MemoryService};
use crate::op::{BufferArg, GridArg, Launch};
use crate::recording::{BufferDecl, Node, NodeOp, Place, Recorded, Recording, RecordingBuilder, Use};
use crate::server::GraphId;
use crate::sync::Arc;

const OWNER: StreamId = StreamId { value: 0 };
const NEIGHBOUR: StreamId = StreamId { value: 2 };
const ELSEWHERE: StreamId = StreamId { value: 1 };

fn book(hardware: bool) -> Book {
    let caps = Caps { records_host_writes: hardware, defers_neighbours: hardware, ..Caps::minimal() };
    Book::new(DeviceId(1), &caps, &Config { max_streams: 2, ..Config::default() })
}

/// A book in which `OWNER` records.
fn recording(hardware: bool) -> Book {
    let mut book = book(hardware);
    let window = book.slots.of_mut(OWNER);
    window.capture.prepare(OWNER).unwrap();
    window.capture.begin().unwrap();
    window.recording = Some(RecordingBuilder::new(None));
    book
}

/// A buffer of 16 bytes, all written.
fn buffer(book: &mut Book) -> Handle {
    let handle = Handle::new(&MemoryService::new(), OWNER, 16);
    book.ledger.allocated(handle.memory().id(), 16);
    book.ledger.written(handle.memory().id(), 0..16);
    handle
}

fn info(binding: u32, access: Access) -> BindingInfo {
    BindingInfo {
        group: 0,
        binding,
        name: format!("b{binding}"),
        space: BindingSpace::Storage,
        declared_write: true,
        access: Some(access),
        min_bytes: 4,
        runtime_stride: Some(4),
        runtime_offset: 0,
        align: 4,
    }
}

fn launch(args: &[(&Handle, Access)]) -> Op {
    let bindings = args.iter().zip(0..).map(|((_, access), binding)| info(binding, *access)).collect();
    let reflection = Reflection {
        entry: "main".into(),
        bindings,
        immediates: Vec::new(),
        immediate_bytes: 0,
        workgroup_size: [1; 3],
        workgroup_bytes: 0,
        uses_num_workgroups: false,
        needs: Vec::new(),
    };
    let kernel = Kernel::new(DeviceId(1), Wgsl::new("").into(), reflection, Box::new(()));
    let buffers = args.iter().map(|(handle, _)| BufferArg::from(handle.binding())).collect();
    Op::Launch(Launch { kernel, grid: GridArg::Fixed([1; 3]), buffers, values: Vec::new(), label: None })
}

fn write(handle: &Handle) -> Op {
    Op::Write { dst: handle.binding().into(), bytes: Arc::from([0_u8; 16]) }
}

fn upload(handle: &Handle) -> Op {
    Op::Upload { dst: handle.binding().into(), bytes: Arc::from([0_u8; 16]) }
}

fn copy(src: &Handle, dst: &Handle) -> Op {
    Op::Copy { src: src.binding().into(), dst: dst.binding().into() }
}

fn taint(book: &mut Book, handle: &Handle, text: &str) {
    book.ledger.taint(handle.memory().id(), handle.binding().range(), &ServerError::graph_state(text), None);
}

fn is_readable(book: &Book, handle: &Handle) -> bool {
    book.check_read(&handle.binding()).is_ok()
}

fn cause(book: &Book, handle: &Handle) -> String {
    match book.check_read(&handle.binding()) {
        Err(ServerError::Tainted { cause, .. }) => cause.to_string(),
        other => panic!("not tainted: {other:?}"),
    }
}

fn claimed(book: &mut Book) -> Vec<ManagedMemoryId> {
    book.slots.of_mut(OWNER).capture.take_recorded().iter().map(|(binding, _)| binding.memory.id()).collect()
}

fn failure(book: &mut Book) -> Option<ServerError> {
    book.slots.of_mut(OWNER).capture.take_failure()
}

fn graph(reads: &[&Handle], writes: &[(&Handle, Access)]) -> GraphClaims {
    let mut claims: Vec<_> = reads.iter().map(|handle| (handle.binding(), Access::Read)).collect();
    claims.extend(writes.iter().map(|(handle, access)| (handle.binding(), *access)));
    let inputs = claims.iter().filter(|(_, access)| access.reads());
    let inputs = inputs.map(|(binding, _)| (binding.memory.id(), binding.range())).collect();
    GraphClaims { id: GraphId(9), claims, inputs }
}

#[test]
fn the_owner_of_a_software_window_records_and_its_host_write_dooms_late() {
    // C-57, C-58, XC-17.
    let mut book = recording(false);
    let (a, b, c) = (buffer(&mut book), buffer(&mut book), buffer(&mut book));
    assert_eq!(book.role(OWNER), Role::Owner);
    let admitted = book.admit(OWNER, &launch(&[(&a, Access::Read), (&b, Access::Write)])).unwrap();
    assert_eq!(admitted, Admission::Record { node: 0 });
    assert_eq!(book.admit(OWNER, &copy(&a, &b)).unwrap(), Admission::Record { node: 1 });
    assert_eq!(book.admit(OWNER, &upload(&a)).unwrap(), Admission::Record { node: 2 });
    assert_eq!(book.slots.of_mut(OWNER).capture.take_retained_host().len(), 1);
    assert!(failure(&mut book).is_none());

    assert_eq!(book.admit(OWNER, &write(&c)).unwrap(), Admission::Refused);
    let doomed = failure(&mut book).expect("the write dooms").to_string();
    assert!(doomed.starts_with("write:") && doomed.contains(&c.memory().id().to_string()), "{doomed}");
    assert!(doomed.contains("Capture::upload") && doomed.contains(&format!("{OWNER:?}")), "{doomed}");
    assert_eq!(cause(&book, &c), doomed);
    assert_eq!(claimed(&mut book), [a.memory().id(), b.memory().id()]);
    assert_eq!(book.slots.of(OWNER).recording.as_ref().map(RecordingBuilder::len), Some(3));
}

#[test]
fn neighbours_of_a_software_window_run_launches_and_lose_host_writes_only() {
    // C-36, C-55, C-58, XC-15, XC-16.
    let mut book = recording(false);
    let (a, b) = (buffer(&mut book), buffer(&mut book));
    assert_eq!(book.role(NEIGHBOUR), Role::Neighbour { owner: OWNER });
    for op in [launch(&[(&a, Access::ReadWrite)]), copy(&a, &b)] {
        assert_eq!(book.admit(NEIGHBOUR, &op).unwrap(), Admission::Run);
    }
    for op in [write(&b), upload(&b)] {
        book.ran(&Op::Fill { dst: b.binding().into(), word: 0 });
        let refusal = book.admit(NEIGHBOUR, &op).unwrap_err();
        assert_eq!(refusal.graph_rule(), Some(&GraphRule::RefusedInWindow));
        assert!(refusal.to_string().contains(&format!("{OWNER:?}")), "{refusal}");
        assert_eq!(cause(&book, &b), refusal.to_string());
    }
    for (stream, call) in [OWNER, NEIGHBOUR]
        .into_iter()
        .flat_map(|stream| [GraphOp::Read, GraphOp::Sync, GraphOp::Profile].into_iter().map(move |call| (stream, call)))
    {
        let text = book.refuse_in_window(stream, call, WaitMode::Future).unwrap_err().to_string();
        assert!(text.starts_with(call.prefix()) && text.contains("recording a capture"), "{text}");
        assert!(text.contains(&format!("{OWNER:?}")), "{text}");
    }
    book.refuse_in_window(NEIGHBOUR, GraphOp::Alloc, WaitMode::Future).unwrap();
    // Nothing of theirs is recorded, nothing of theirs dooms (QC-2, QC-10).
    book.failed(NEIGHBOUR, &copy(&a, &b), &ServerError::graph_state("theirs"));
    book.doom(NEIGHBOUR, ServerError::graph_state("theirs"));
    assert!(failure(&mut book).is_none());
    assert!(claimed(&mut book).is_empty());
}

#[test]
fn a_hardware_window_records_host_writes_and_sets_neighbours_aside() {
    // C-56, C-58, QC-3, QC-7.
    let mut book = recording(true);
    let (a, b) = (buffer(&mut book), buffer(&mut book));
    assert_eq!(book.admit(OWNER, &write(&a)).unwrap(), Admission::Record { node: 0 });
    assert_eq!(book.slots.of_mut(OWNER).capture.take_retained_host().len(), 1);
    let side = Admission::Side { owner: OWNER };
    assert_eq!(book.admit(NEIGHBOUR, &write(&b)).unwrap(), side);
    assert_eq!(book.admit(NEIGHBOUR, &launch(&[(&b, Access::ReadWrite)])).unwrap(), side);
    assert_eq!(book.admit_replay(NEIGHBOUR, &graph(&[], &[(&b, Access::Write)])).unwrap(), side);
    for stream in [OWNER, NEIGHBOUR] {
        assert!(book.refuse_in_window(stream, GraphOp::Profile, WaitMode::Future).is_err());
        book.refuse_in_window(stream, GraphOp::Read, WaitMode::Future).unwrap();
        book.refuse_in_window(stream, GraphOp::Sync, WaitMode::Future).unwrap();
    }
    let own = book.refuse_in_window(OWNER, GraphOp::Read, WaitMode::Blocking).unwrap_err();
    assert_eq!(own.graph_rule(), Some(&GraphRule::WouldWaitForItself));
    book.refuse_in_window(NEIGHBOUR, GraphOp::Read, WaitMode::Blocking).unwrap();
    assert_eq!(claimed(&mut book), [a.memory().id()]);
    assert!(failure(&mut book).is_none());
}

#[test]
fn a_prepared_window_and_another_slot_restrict_nobody() {
    // C-59, C-62, QC-12.
    let mut book = book(false);
    book.slots.of_mut(OWNER).capture.prepare(OWNER).unwrap();
    let a = buffer(&mut book);
    for stream in [OWNER, NEIGHBOUR] {
        assert_eq!(book.role(stream), Role::Free);
        assert_eq!(book.admit(stream, &write(&a)).unwrap(), Admission::Run);
        book.refuse_in_window(stream, GraphOp::Read, WaitMode::Future).unwrap();
    }
    book.doom(OWNER, ServerError::graph_state("warmup"));
    book.slots.of_mut(OWNER).capture.begin().unwrap();
    assert!(failure(&mut book).is_none(), "C-32");
    assert_eq!(book.role(ELSEWHERE), Role::Free);
    book.refuse_in_window(ELSEWHERE, GraphOp::Profile, WaitMode::Future).unwrap();
    let status = book.status(NEIGHBOUR);
    assert_eq!((status.active, status.recording, status.owner), (true, true, Some(OWNER)));
}

#[test]
fn an_eager_launch_passes_the_failure_of_its_input_on() {
    // The ruling on reads; C-79.
    let mut book = book(false);
    let (a, b, c) = (buffer(&mut book), buffer(&mut book), buffer(&mut book));
    let first = launch(&[(&a, Access::Read), (&b, Access::Write)]);
    book.failed(OWNER, &write(&a), &ServerError::graph_state("root"));
    assert!(matches!(book.admit(OWNER, &first), Err(ServerError::Tainted { buffer, .. }) if buffer == a.memory().id()));
    assert!(book.admit(OWNER, &copy(&b, &c)).is_err());
    assert_eq!(cause(&book, &c), "graph: root");
    assert_eq!(book.tainted_skips(), 2);
    // A launch that reads none of it runs, and what it writes is readable again.
    let clean = Op::Fill { dst: a.binding().into(), word: 0 };
    assert_eq!(book.admit(OWNER, &clean).unwrap(), Admission::Run);
    book.ran(&clean);
    assert_eq!(book.admit(OWNER, &first).unwrap(), Admission::Run);
    book.ran(&first);
    assert!(is_readable(&book, &a) && is_readable(&book, &b) && !is_readable(&book, &c));
}

#[test]
fn unwritten_bytes_are_no_failure_of_a_launch() {
    let mut book = book(false);
    let handle = Handle::new(&MemoryService::new(), OWNER, 16);
    book.ledger.allocated(handle.memory().id(), 16);
    let op = launch(&[(&handle, Access::ReadWrite)]);
    assert_eq!(book.admit(OWNER, &op).unwrap(), Admission::Run);
    assert!(matches!(book.check_read(&handle.binding()), Err(ServerError::Unwritten { .. })));
    book.ran(&op);
    assert!(is_readable(&book, &handle));
}

#[test]
fn a_recorded_read_of_tainted_bytes_dooms_unless_the_recording_writes_them_first() {
    // C-30, XC-29, XC-30: exposed reads.
    let mut book = recording(false);
    let (a, b, c) = (buffer(&mut book), buffer(&mut book), buffer(&mut book));
    taint(&mut book, &a, "before");
    let front = a.clone().offset_end(8);
    let back = a.clone().offset_start(8);
    let _ = book.admit(OWNER, &copy(&c, &front)).unwrap();
    assert!(matches!(book.admit(OWNER, &copy(&front, &b)), Ok(Admission::Record { node: 1 })));
    assert!(failure(&mut book).is_none());

    // A partly written range covers nothing, and half of `a` is still exposed.
    book.admit(OWNER, &launch(&[(&c, Access::Read), (&back, Access::WritePart)])).unwrap_err();
    assert!(failure(&mut book).is_some());
    let error = book.admit(OWNER, &launch(&[(&a, Access::Read), (&b, Access::Write)])).unwrap_err();
    assert!(matches!(&error, ServerError::Tainted { range, .. } if *range == (8..16)), "{error}");
    assert_eq!(failure(&mut book).expect("doomed").to_string(), error.to_string());
    assert_eq!(cause(&book, &b), "graph: before");
    assert_eq!(book.slots.of(OWNER).recording.as_ref().map(RecordingBuilder::len), Some(2));
}

#[test]
fn bytes_that_a_recording_reads_before_it_writes_them_stay_an_input() {
    // A neighbour's refused write taints them in the middle of the window; an accumulator covers nothing.
    let mut book = recording(false);
    let (sum, whole, out) = (buffer(&mut book), buffer(&mut book), buffer(&mut book));
    let op = launch(&[(&sum, Access::ReadWrite), (&whole, Access::Write)]);
    assert_eq!(book.admit(OWNER, &op).unwrap(), Admission::Record { node: 0 });
    for handle in [&sum, &whole] {
        book.admit(NEIGHBOUR, &write(handle)).unwrap_err();
    }
    assert_eq!(book.admit(OWNER, &copy(&whole, &out)).unwrap(), Admission::Record { node: 1 });
    assert!(failure(&mut book).is_none(), "C-36: the refusal itself dooms nothing");
    book.admit(OWNER, &copy(&sum, &out)).unwrap_err();
    assert!(failure(&mut book).is_some());
}

#[test]
fn recording_and_sealing_launder_nothing() {
    // XC-29: an output unreadable before the window is so until a replay.
    let mut book = recording(false);
    let source = buffer(&mut book);
    let (tainted, fresh) = (buffer(&mut book), Handle::new(&MemoryService::new(), OWNER, 16));
    book.ledger.allocated(fresh.memory().id(), 16);
    taint(&mut book, &tainted, "before");
    for dst in [&tainted, &fresh] {
        let _ = book.admit(OWNER, &copy(&source, dst)).unwrap();
    }
    let window = book.slots.of_mut(OWNER);
    window.capture.end(OWNER).unwrap();
    assert!(window.capture.take_failure().is_none());
    let claims = GraphClaims { id: GraphId(9), claims: window.capture.take_recorded(), inputs: Vec::new() };
    assert_eq!(cause(&book, &tainted), "graph: before");
    assert!(matches!(book.check_read(&fresh.binding()), Err(ServerError::Unwritten { .. })));
    let _ = book.admit_replay(OWNER, &claims).unwrap();
    book.replayed(&claims);
    assert!(is_readable(&book, &tainted) && is_readable(&book, &fresh));
}

#[test]
fn a_replay_that_ran_nothing_can_be_tried_again_and_a_faulted_one_cannot() {
    // XC-19, XC-24; C-76, C-77, C-84.
    let mut book = book(false);
    let (weights, sum) = (buffer(&mut book), buffer(&mut book));
    let graph = graph(&[&weights], &[(&sum, Access::ReadWrite)]);
    let _ = book.admit_replay(OWNER, &graph).unwrap();
    book.replay_refused(&graph, &ServerError::graph_state("enqueue"));
    assert_eq!(cause(&book, &sum), "graph: enqueue");
    assert!(is_readable(&book, &weights), "read-only claims are exempt");
    assert_eq!(book.admit_replay(OWNER, &graph).unwrap(), Admission::Run);
    book.replayed(&graph);
    assert!(is_readable(&book, &sum));

    book.replay_faulted(&graph, &ServerError::graph_state("fault"));
    let refused = book.admit_replay(OWNER, &graph).unwrap_err();
    assert!(matches!(&refused, ServerError::Tainted { buffer, .. } if *buffer == sum.memory().id()), "{refused}");
    assert_eq!(cause(&book, &sum), "graph: fault");
    book.ran(&write(&sum));
    assert_eq!(book.admit_replay(OWNER, &graph).unwrap(), Admission::Run);
}

#[test]
fn another_failure_over_a_refused_replay_takes_the_retry_away() {
    let mut book = book(false);
    let sum = buffer(&mut book);
    let graph = graph(&[], &[(&sum, Access::ReadWrite)]);
    book.replay_refused(&graph, &ServerError::graph_state("enqueue"));
    book.failed(OWNER, &write(&sum), &ServerError::graph_state("lost write"));
    assert_eq!(cause(&book, &sum), "graph: enqueue", "C-81: the first failure stays");
    assert!(book.admit_replay(OWNER, &graph).is_err());
}

#[test]
fn an_input_tainted_after_sealing_refuses_the_replay_until_it_is_written() {
    // XC-30, also with an accumulator among the outputs.
    let mut book = book(false);
    let (input, output, sum) = (buffer(&mut book), buffer(&mut book), buffer(&mut book));
    let graph = graph(&[&input], &[(&output, Access::Write), (&sum, Access::ReadWrite)]);
    taint(&mut book, &input, "late");
    assert!(book.admit_replay(OWNER, &graph).is_err());
    assert_eq!((cause(&book, &output), cause(&book, &sum)), ("graph: late".to_owned(), "graph: late".to_owned()));
    assert_eq!(book.tainted_skips(), 1);
    book.ran(&write(&input));
    assert_eq!(book.admit_replay(OWNER, &graph).unwrap(), Admission::Run);
    book.replayed(&graph);
    assert!(is_readable(&book, &output) && is_readable(&book, &sum));
}

#[test]
fn a_replay_in_the_own_window_is_refused_and_changes_nothing() {
    // C-84, TC-14: neither the window nor the graph's outputs.
    let mut book = recording(false);
    let out = buffer(&mut book);
    let graph = graph(&[], &[(&out, Access::Write)]);
    let refused = book.admit_replay(OWNER, &graph).unwrap_err();
    assert_eq!(refused.graph_rule(), Some(&GraphRule::ReplayInCapture));
    assert!(is_readable(&book, &out) && failure(&mut book).is_none());
    assert_eq!(book.admit_replay(NEIGHBOUR, &graph).unwrap(), Admission::Run);
}

#[test]
fn inputs_of_a_graph_are_relative_to_their_memory() {
    let mut book = book(false);
    let slot = buffer(&mut book).offset_start(4);
    let used = Use { place: Place { buffer: 0, start: 4, len: 8 }, access: Access::Read };
    let node = Node {
        label: None,
        op: NodeOp::Copy { src: used.place, dst: Place { buffer: 1, start: 0, len: 8 } },
        uses: vec![used],
        after: Vec::new(),
    };
    let recording = Recording {
        buffers: vec![BufferDecl { bytes: 12, slot: None }, BufferDecl { bytes: 16, slot: None }],
        nodes: vec![node],
        ..Recording::default()
    };
    let buffers = vec![slot.binding(), buffer(&mut book).binding()];
    let recorded = Recorded { recording: Arc::new(recording), buffers, kernels: Vec::new() };
    let claims = GraphClaims::new(GraphId(1), Vec::new(), &recorded);
    assert_eq!(claims.inputs, [(slot.memory().id(), 8..16)]);
}

#[test]
fn exclusive_slots_are_leased_and_told_apart() {
    let mut book = book(false);
    let stream = book.lease_stream().expect("one is free");
    assert!(book.slots.of(stream).exclusive && !book.slots.of(OWNER).exclusive);
}
