//! Attempts on their devices: grants, contexts, captures, and what is left of them when they end.

use graphreel::lifecycle::{AttemptDisposition, AttemptOutcome, one_claiming_test};
use graphreel::{ServerError, Wgsl};

use crate::rig::{LONG, MIB, admitted, built, close};

const INC: &str = "
@group(0) @binding(0) var<storage, read_write> values: array<u32>;
@compute @workgroup_size(64)
fn inc(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&values) { values[id.x] += 1u; }
}
";

/// B-104, B-105, B-206: a life of one attempt.
#[test]
fn an_attempt_captures_and_replays_within_its_grant() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let session = core.session_capability();
    let (begin, handle) = admitted(&session);
    let context = handle.acquire_context().unwrap();
    let kernel = context.kernel(Wgsl::new(INC).entry("inc")).unwrap();
    let buffer = context.upload(&[1_u32; 1024]).unwrap();
    let (graph, scratch) = context
        .capture(|c| {
            let scratch = c.alloc(4096)?;
            c.launch(&kernel, [16, 1, 1], (&buffer,))?;
            c.copy(&buffer, &scratch)?;
            Ok(scratch)
        })
        .unwrap();
    for _ in 0..3 {
        context.replay(&graph).unwrap().wait().unwrap();
    }
    assert_eq!(context.stream().read::<u32>(&scratch).unwrap(), [4; 1024]);
    // B-207: the grant pays for the graph's memory, and not for host bytes that it keeps.
    let paid = context.used_bytes();
    assert!(paid >= 2 * 4096, "{paid}");
    let bytes = vec![7_u32; 1024];
    let (keeps, ()) = context.capture(|c| c.upload(&buffer, &bytes)).unwrap();
    assert_eq!(context.used_bytes(), paid);
    drop(keeps);
    let refused = context.alloc(handle.granted_bytes()).unwrap_err();
    assert!(matches!(&refused, ServerError::OutOfMemory(_)), "{refused}");
    begin.owner.mark_planned();
    begin.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    let report = begin.completion.wait_timeout(LONG).unwrap();
    assert_eq!((report.outcome, report.disposition), (AttemptOutcome::Succeeded, AttemptDisposition::Native));
    // What the caller still holds is refused, and keeps nothing.
    assert_eq!(context.replay(&graph).unwrap_err().reason(), Some("backend_closing"));
    for closed in [
        graph.replay().map(drop).unwrap_err(),
        buffer.read::<u32>().map(drop).unwrap_err(),
        context.alloc(4).map(drop).unwrap_err(),
        context.stream().sync().unwrap_err(),
    ] {
        assert!(closed.is_closed(), "{closed}");
    }
    let diagnostics = session.diagnostics().unwrap();
    let device = &diagnostics.devices[0];
    assert_eq!((device.memory.in_use_bytes, device.lanes_taken, device.streams.checked_out), (0, 0, 0));
    assert_eq!(diagnostics.admission.devices[0].committed_bytes, 0);
    assert!(report.granted_bytes >= 4 * MIB || handle.granted_bytes() == 4 * MIB);
    let handles = (graph, buffer, context, handle, kernel, scratch, begin);
    core.close_and_wait(LONG).unwrap();
    assert!(handles.0.replay().unwrap_err().is_closed());
    let live = factory.probe(0).unwrap().live();
    assert_eq!((live.streams, live.memory, live.graphs, live.execs), (0, 0, 0, 0), "only code is kept by a handle");
    drop(handles);
    close(core, &factory);
}

/// B-206, D62: whatever way a graph was recorded, it ends with its attempt, and nothing of it runs for another.
#[test]
fn graphs_end_with_the_attempt_that_recorded_them() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let session = core.session_capability();
    let (first, second) = (admitted(&session), admitted(&session));
    let (one, other) = (first.1.acquire_context().unwrap(), second.1.acquire_context().unwrap());
    let shared = other.upload(&[1_u32; 64]).unwrap();
    let mine = one.upload(&[2_u32; 64]).unwrap();
    let (by_closure, ()) = one.capture(|c| c.fill(&shared, 3)).unwrap();
    one.stream().graph_prepare().unwrap();
    one.stream().begin_capture().unwrap();
    one.stream().fill(&shared, 4).unwrap();
    let by_steps = one.stream().end_capture().unwrap();
    let (over_mine, ()) = other.capture(|c| c.copy(&mine, &shared)).unwrap();
    // Another attempt may run them while they are there, and a plain replay goes to the attempt's own stream.
    other.replay(&by_steps).unwrap().wait().unwrap();
    by_closure.replay().unwrap().wait().unwrap();
    assert_eq!(shared.read::<u32>().unwrap(), [3; 64]);
    other.replay(&over_mine).unwrap().wait().unwrap();
    assert_eq!(other.stream().read::<u32>(&shared).unwrap(), [2; 64]);
    let graphs = factory.probe(0).unwrap().live().execs;
    first.0.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    assert!(first.0.completion.wait_timeout(LONG).is_some());
    assert!(one.capture(|c| c.fill(&shared, 1)).is_err_and(|error| error.is_closed()));
    for graph in [&by_closure, &by_steps, &over_mine] {
        let error = other.replay(graph).unwrap_err();
        assert_eq!(error.reason(), Some("backend_closing"), "{error}");
    }
    // What a refused replay would have written says so, until it is written again.
    assert!(shared.read::<u32>().unwrap_err().is_closed());
    shared.write(&[9_u32; 64]).unwrap();
    assert_eq!(shared.read::<u32>().unwrap(), [9; 64]);
    other.stream().sync().unwrap();
    assert!(factory.probe(0).unwrap().live().execs < graphs, "its executables are gone");
    drop((by_closure, by_steps, over_mine, one, other, mine, shared, first, second));
    close(core, &factory);
}

/// B-105: nothing of the device is had around the grant.
#[test]
fn a_managed_device_gives_nothing_around_the_grant() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let (begin, handle) = admitted(&core.session_capability());
    let context = handle.acquire_context().unwrap();
    let device = context.stream().device().clone();
    let buffer = context.upload(&[1_u32; 64]).unwrap();
    assert!(matches!(device.alloc(64), Err(ServerError::Unsupported { .. })));
    assert!(matches!(device.capture(|c| c.fill(&buffer, 1)), Err(ServerError::Unsupported { .. })));
    assert!(matches!(device.profile(|c| c.fill(&buffer, 1)), Err(ServerError::Unsupported { .. })));
    assert!(!device.retire("not its owner"), "a caller closed a backend's device");
    assert_eq!(buffer.read::<u32>().unwrap(), [1; 64]);
    drop((context, handle, begin, buffer, device));
    close(core, &factory);
}
