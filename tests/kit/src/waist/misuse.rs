//! Mistakes that the server never makes on purpose: the drivers answer them, and what was whole before stays whole.
//!
//! Where the vendors differ, each documented answer passes; what no answer may leave behind is a stream that is of no use.

use graphreel::error::{DriverError, DriverErrorKind, FaultClass};
use graphreel::graph::driver::{CaptureState, LaunchShape};
use graphreel::graph::{Driver, DriverResult};

use super::Rig;
use super::nodes::node_fill;
use super::rig::whole;
use crate::kernels::INC;

/// The failure of a call that had to fail, with all that an error tells: the call, its code, and that it reaches no further.
#[track_caller]
fn refusal<T>(result: DriverResult<T>) -> DriverError {
    let Err(error) = result else { panic!("this call had to be refused") };
    assert_eq!(error.class, FaultClass::CallLocal, "{error}");
    assert!(!error.call.is_empty() && error.code != 0 && !error.name.is_empty(), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(error.call) && text.contains(&error.code.to_string()), "{text}");
    error
}

#[track_caller]
fn refused<T>(result: DriverResult<T>) {
    let error = refusal(result);
    assert_eq!(error.kind, DriverErrorKind::Refused, "{error}");
}

/// Check that the capture of stream `a` is broken: more work is not run, its end answers so, and the stream works again.
fn broken<D: Driver>(rig: &Rig<D>) -> DriverResult {
    assert_eq!(rig.driver().capture_state(&rig.a)?, CaptureState::Invalidated);
    let x = rig.words(&[4])?;
    // CUDA refuses it as broken; whatever is answered, it must not run.
    let _ = rig.fill(&x, 5, &rig.a);
    let error = refusal(rig.end(&rig.a));
    assert_eq!(error.kind, DriverErrorKind::CaptureBroken, "{error}");
    assert_eq!(rig.read(&x)?, [4]);
    rig.assert_usable(&rig.a)
}

/// Check that the capture of stream `a` is whole and has `nodes` nodes.
fn whole_capture<D: Driver>(rig: &Rig<D>, nodes: usize) -> DriverResult {
    assert_eq!(rig.driver().capture_state(&rig.a)?, CaptureState::Active);
    let graph = rig.end(&rig.a)?;
    assert_eq!(rig.driver().graph_nodes(&graph)?, nodes);
    rig.assert_usable(&rig.a)
}

/// Both: beginning a capture on a capturing stream is refused (401), and the first one goes on.
pub fn a_capture_in_a_capture_is_refused_and_the_first_goes_on<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let x = rig.words(&[0])?;
    rig.driver().capture_begin(&rig.a)?;
    rig.fill(&x, 1, &rig.a)?;
    refused(rig.driver().capture_begin(&rig.a));
    assert_eq!(rig.driver().capture_state(&rig.a)?, CaptureState::Active);
    rig.fill(&x, 2, &rig.a)?;
    whole_capture(rig, 2)
}

/// Both: ending what is no capture is refused (401), and the stream goes on.
pub fn ending_no_capture_is_refused<D: Driver>(rig: &Rig<D>) -> DriverResult {
    refused(rig.end(&rig.a));
    let x = rig.words(&[0])?;
    drop(rig.capture(&rig.a, || rig.fill(&x, 1, &rig.a))?);
    refused(rig.end(&rig.a));
    rig.assert_usable(&rig.a)
}

/// CUDA: refused (905), and the capture is broken. HIP: ignored, and the capture goes on without it.
pub fn a_wait_for_an_outside_event_breaks_the_capture<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (x, event) = (rig.words(&[0])?, rig.event()?);
    rig.fill(&x, 1, &rig.b)?;
    rig.driver().event_record(&event, &rig.b)?;
    rig.driver().capture_begin(&rig.a)?;
    rig.fill(&x, 2, &rig.a)?;
    match rig.driver().stream_wait_event(&rig.a, &event) {
        Ok(()) => whole_capture(rig, 1)?,
        result => {
            refusal(result);
            broken(rig)?;
        }
    }
    assert_eq!(rig.read(&x)?, [1], "nothing that was captured ran");
    rig.assert_usable(&rig.b)
}

/// Refused, and the capture is broken; or the waiting stream joins the capture, as both vendors document, and an end without
/// joining back is broken (904); or it is ignored. Never does the outside stream run ahead unnoticed with a whole capture
/// that counts its work.
pub fn a_wait_from_outside_for_a_captured_event_is_no_fork<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (x, event) = (rig.words(&[0])?, rig.event()?);
    rig.driver().capture_begin(&rig.a)?;
    rig.fill(&x, 1, &rig.a)?;
    rig.driver().event_record(&event, &rig.a)?;
    match rig.driver().stream_wait_event(&rig.b, &event) {
        Ok(()) if rig.driver().capture_state(&rig.b)? == CaptureState::Active => {
            rig.fill(&x, 2, &rig.b)?;
            let error = refusal(rig.end(&rig.a));
            assert_eq!(error.kind, DriverErrorKind::CaptureBroken, "{error}");
            assert_eq!(rig.read(&x)?, [0], "nothing that was captured ran");
        }
        Ok(()) => whole_capture(rig, 1)?,
        result => {
            refusal(result);
            broken(rig)?;
        }
    }
    rig.assert_usable(&rig.a)?;
    rig.assert_usable(&rig.b)
}

/// Both: asking an event that was captured is refused (907), and the capture is broken.
pub fn asking_a_captured_event_breaks_the_capture<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (x, event) = (rig.words(&[0])?, rig.event()?);
    rig.driver().capture_begin(&rig.a)?;
    rig.fill(&x, 1, &rig.a)?;
    rig.driver().event_record(&event, &rig.a)?;
    refusal(rig.driver().event_query(&event));
    broken(rig)?;
    // A record outside makes it an ordinary event again.
    rig.driver().event_record(&event, &rig.a)?;
    rig.wait(&event)
}

/// CUDA: refused (900) and the capture broken, or a child node. HIP: it runs at once and is not recorded.
pub fn an_executable_is_not_launched_into_a_capture<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (inc, x) = (rig.code(INC)?, rig.words(&[0])?);
    let params = inc.params(&[whole(&x)], &[]);
    let graph = rig.capture(&rig.b, || rig.launch(&inc, [1; 3], &params, &rig.b))?;
    let exec = rig.exec(&graph)?;
    rig.driver().capture_begin(&rig.a)?;
    match rig.run(&exec, &rig.a) {
        Ok(()) => {
            let captured = rig.end(&rig.a)?;
            let nodes = rig.driver().graph_nodes(&captured)?;
            assert_eq!(rig.read(&x)?, [u32::from(nodes == 0)], "it ran at once or is recorded, not both");
            rig.assert_usable(&rig.a)?;
        }
        result => {
            refusal(result);
            broken(rig)?;
            assert_eq!(rig.read(&x)?, [0], "what is refused does not run");
        }
    }
    rig.set(&x, &[0])?;
    rig.run(&exec, &rig.b)?;
    assert_eq!(rig.read(&x)?, [1], "the executable is as it was");
    Ok(())
}

/// Both: an edge that exists is an error, and the graph is as it was.
pub fn an_edge_that_exists_is_refused<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let x = rig.words(&[0])?;
    let mut graph = rig.graph()?;
    let first = rig.add_fill(&mut graph, &[], &node_fill(&x, 1))?;
    let second = rig.add_fill(&mut graph, &[first], &node_fill(&x, 2))?;
    refused(rig.driver().graph_add_edges(&mut graph, &[(first, second)]));
    assert_eq!(rig.driver().graph_nodes(&graph)?, 2);
    let exec = rig.exec(&graph)?;
    rig.run(&exec, &rig.a)?;
    assert_eq!(rig.read(&x)?, [2]);
    Ok(())
}

/// Both: a node cannot wait for itself, and the graph is as it was.
pub fn an_edge_to_itself_is_refused<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let x = rig.words(&[0])?;
    let mut graph = rig.graph()?;
    let node = rig.add_fill(&mut graph, &[], &node_fill(&x, 1))?;
    refused(rig.driver().graph_add_edges(&mut graph, &[(node, node)]));
    let exec = rig.exec(&graph)?;
    rig.run(&exec, &rig.a)?;
    assert_eq!(rig.read(&x)?, [1]);
    Ok(())
}

/// Both: a time needs two events that record it and were recorded.
pub fn a_time_that_nobody_recorded_is_refused<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (timed, never, untimed) = (rig.timed_event()?, rig.timed_event()?, rig.event()?);
    rig.driver().event_record(&timed, &rig.a)?;
    rig.driver().event_record(&untimed, &rig.a)?;
    rig.drain();
    refused(rig.driver().event_elapsed(&never, &timed));
    refused(rig.driver().event_elapsed(&timed, &never));
    refused(rig.driver().event_elapsed(&untimed, &timed));
    rig.driver().event_elapsed(&timed, &timed)?;
    Ok(())
}

/// Both: a module says that it has no such function (500), and stays usable.
pub fn a_function_that_is_not_there_is_refused<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (inc, x) = (rig.code(INC)?, rig.words(&[0])?);
    refused(rig.driver().module_function(&inc.module, c"nothing_of_this_name"));
    rig.launch(&inc, [1; 3], &inc.params(&[whole(&x)], &[]), &rig.a)?;
    assert_eq!(rig.read(&x)?, [1]);
    Ok(())
}

/// Both: a grid of zero and a workgroup above the device's limit are refused at the call, and nothing runs.
#[expect(unsafe_code, reason = "shapes that the rig would not make")]
pub fn shapes_that_do_not_fit_are_refused<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (inc, x) = (rig.code(INC)?, rig.words(&[0])?);
    let (params, good) = (inc.params(&[whole(&x)], &[]), inc.shape([1; 3]));
    let above = rig.driver().caps().group_threads_max + 1;
    for shape in [
        LaunchShape { groups: [0, 1, 1], ..good },
        LaunchShape { groups: [1, 1, 0], ..good },
        LaunchShape { threads: [0, 1, 1], ..good },
        LaunchShape { threads: [above, 1, 1], ..good },
    ] {
        // SAFETY: the parameters were made for this kernel; the shape is checked by the driver.
        refused(unsafe { rig.driver().launch(inc.function, &shape, &params.pointers(), &rig.a) });
    }
    rig.launch(&inc, [1; 3], &params, &rig.a)?;
    assert_eq!(rig.read(&x)?, [1]);
    Ok(())
}
