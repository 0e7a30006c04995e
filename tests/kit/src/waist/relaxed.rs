//! Relaxed captures: what may happen while one is open, on its thread, on other streams and on other threads.

use graphreel::graph::driver::CaptureState;
use graphreel::graph::{Driver, DriverResult};

use super::Rig;
use super::kernels::PUSH;
use super::rig::whole;
use crate::kernels::INC;

/// Capture one entry of a log on stream `a` before and after `meanwhile`; the capture must be whole and the graph right.
fn undisturbed<D: Driver>(rig: &Rig<D>, meanwhile: impl FnOnce() -> DriverResult) -> DriverResult {
    let push = rig.code(PUSH)?;
    let log = rig.words(&[0; 5])?;
    let entry = |value: u32| rig.launch(&push, [1; 3], &push.params(&[whole(&log)], &[value.into()]), &rig.a);
    let graph = rig.capture(&rig.a, || {
        entry(1)?;
        meanwhile()?;
        assert_eq!(rig.driver().capture_state(&rig.a)?, CaptureState::Active);
        entry(2)
    })?;
    assert_eq!(rig.driver().graph_nodes(&graph)?, 2);
    let exec = rig.exec(&graph)?;
    rig.run(&exec, &rig.a)?;
    assert_eq!(rig.read(&log)?[..3], [2, 1, 2]);
    Ok(())
}

/// CUDA and HIP: allocating, and freeing what is not used, is allowed in a relaxed capture. Where freeing is documented to wait
/// for the device, the rig frees later.
pub fn memory_may_come_and_go_in_a_capture<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let unrelated = rig.memory(1 << 16)?;
    undisturbed(rig, || {
        drop(unrelated);
        let inside = rig.words(&[1, 2, 3])?;
        rig.fill(&inside, 8, &rig.b)?;
        assert_eq!(rig.read(&inside)?, [8; 3]);
        drop(rig.memory(5 << 20)?);
        let info = rig.driver().mem_info()?;
        assert!(info.free <= info.total);
        Ok(())
    })
}

/// Both: loading code, and making and destroying streams, events and other graphs, touch no relaxed capture.
#[expect(unsafe_code, reason = "drives the waist, whose ordering rules the suite keeps")]
pub fn code_may_be_loaded_in_a_capture<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (x, mut loaded) = (rig.words(&[0])?, None);
    undisturbed(rig, || {
        // It is unloaded with the test: what a capture allows there is documented by nobody.
        let inc = loaded.insert(rig.code(INC)?);
        let stream = rig.driver().stream_create()?;
        // SAFETY: the stream never had any work.
        unsafe { rig.driver().stream_destroy(stream) }?;
        let mut graph = rig.graph()?;
        let params = inc.params(&[whole(&x)], &[]);
        rig.add_launch(&mut graph, &[], inc, [1; 3], &params)?;
        let exec = rig.exec(&graph)?;
        rig.run(&exec, &rig.b)?;
        rig.drain();
        Ok(())
    })?;
    assert_eq!(rig.read(&x)?, [1]);
    Ok(())
}

/// CUDA and HIP: in relaxed mode an event of work outside the capture may be asked, recorded and waited for outside.
pub fn events_may_be_asked_in_a_capture<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (slow, before, never) = (rig.slow()?, rig.event()?, rig.event()?);
    slow.on(&rig.a)?;
    rig.driver().event_record(&before, &rig.a)?;
    undisturbed(rig, || {
        rig.wait(&before)?;
        assert!(rig.driver().event_query(&never)?);
        rig.event()?.destroy_at_once()?;
        // A stream that does not capture may wait for what was recorded before the capture began.
        rig.driver().stream_wait_event(&rig.b, &before)
    })
}

/// Both: work of other streams runs while one captures, and is not recorded.
pub fn other_streams_work_in_a_capture<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (inc, x, event) = (rig.code(INC)?, rig.words(&[4])?, rig.event()?);
    undisturbed(rig, || {
        rig.launch(&inc, [1; 3], &inc.params(&[whole(&x)], &[]), &rig.b)?;
        rig.driver().event_record(&event, &rig.b)?;
        rig.wait(&event)?;
        assert_eq!(rig.peek(&x)?, [5], "it ran while the capture was open");
        Ok(())
    })
}

/// CUDA and HIP: in relaxed mode other threads are free, whatever mode theirs is.
pub fn other_threads_work_in_a_capture<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (inc, x) = (rig.code(INC)?, rig.words(&[4])?);
    undisturbed(rig, || {
        let seen = rig.on_thread(|| {
            rig.launch(&inc, [1; 3], &inc.params(&[whole(&x)], &[]), &rig.b)?;
            rig.drain();
            let y = rig.words(&[6, 7])?;
            rig.copy(&y, &x, &rig.b)?;
            rig.read(&y)
        })?;
        assert_eq!(seen, [5, 7]);
        Ok(())
    })
}

/// CUDA and HIP: in relaxed mode any thread may go on with a capture and end it.
pub fn another_thread_may_end_a_capture<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let x = rig.words(&[0; 2])?;
    rig.driver().capture_begin(&rig.a)?;
    rig.fill(&x, 1, &rig.a)?;
    let nodes = rig.on_thread(|| {
        assert_eq!(rig.driver().capture_state(&rig.a)?, CaptureState::Active);
        rig.fill(&x, 2, &rig.a)?;
        let graph = rig.end(&rig.a)?;
        let exec = rig.exec(&graph)?;
        rig.run(&exec, &rig.b)?;
        rig.driver().graph_nodes(&graph)
    })?;
    assert_eq!((nodes, rig.read(&x)?), (2, vec![2, 2]));
    rig.assert_usable(&rig.a)
}
