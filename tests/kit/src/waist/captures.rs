//! Captures: what they record, what they keep and what they leave alone.

use graphreel::graph::driver::CaptureState;
use graphreel::graph::{Driver, DriverResult};

use super::Rig;
use super::kernels::PUSH;
use super::rig::whole;

/// Both: a capturing stream records its work and runs none of it; a launch of the graph runs all of it, each time.
pub fn a_capture_records_and_does_not_run<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let push = rig.code(PUSH)?;
    let (log, x) = (rig.words(&[0; 21])?, rig.words(&[1; 3])?);
    let graph = rig.capture(&rig.a, || {
        for value in [7u32, 8] {
            rig.launch(&push, [1; 3], &push.params(&[whole(&log)], &[value.into()]), &rig.a)?;
        }
        rig.fill(&x, 5, &rig.a)
    })?;
    assert_eq!(rig.driver().graph_nodes(&graph)?, 3);
    let exec = rig.exec(&graph)?;
    assert_eq!((rig.read(&log)?[0], rig.read(&x)?), (0, vec![1; 3]), "neither recording nor instantiating runs it");
    for launches in 1..=3 {
        rig.run(&exec, &rig.a)?;
        assert_eq!(
            rig.read(&log)?[..=2 * launches as usize],
            [&[2 * launches], &*[7, 8].repeat(launches as usize)].concat()
        );
        assert_eq!(rig.read(&x)?, [5; 3]);
    }
    Ok(())
}

/// Both: a stream says whether it captures, and only that stream does.
pub fn the_state_of_a_stream_follows_its_capture<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let state = |stream| rig.driver().capture_state(stream);
    let x = rig.words(&[0])?;
    assert_eq!(state(&rig.a)?, CaptureState::None);
    rig.driver().capture_begin(&rig.a)?;
    assert_eq!((state(&rig.a)?, state(&rig.b)?), (CaptureState::Active, CaptureState::None));
    rig.fill(&x, 1, &rig.a)?;
    assert_eq!(state(&rig.a)?, CaptureState::Active);
    let graph = rig.end(&rig.a)?;
    assert_eq!((state(&rig.a)?, rig.driver().graph_nodes(&graph)?), (CaptureState::None, 1));
    rig.assert_usable(&rig.a)
}

/// Both: parameters are copied into the graph when the launch is captured.
pub fn a_graph_keeps_the_parameters_of_its_capture<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let push = rig.code(PUSH)?;
    let log = rig.words(&[0; 11])?;
    let mut params = push.params(&[whole(&log)], &[0u32.into()]);
    let graph = rig.capture(&rig.a, || {
        for value in 1..=3u32 {
            push.set_scalars(&mut params, &[value.into()]);
            rig.launch(&push, [1; 3], &params, &rig.a)?;
        }
        Ok(())
    })?;
    push.set_scalars(&mut params, &[77u32.into()]);
    let exec = rig.exec(&graph)?;
    drop(params);
    rig.run(&exec, &rig.a)?;
    rig.run(&exec, &rig.a)?;
    assert_eq!(rig.read(&log)?[..7], [6, 1, 2, 3, 1, 2, 3]);
    Ok(())
}

/// Both: a captured copy to the device reads the host bytes at each launch, not when it is captured.
pub fn host_bytes_are_read_at_each_launch<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (mut host, x) = (rig.pinned(&[1, 2])?, rig.words(&[0; 2])?);
    let graph = rig.capture(&rig.a, || rig.copy_in(&x, &host, &rig.a))?;
    let exec = rig.exec(&graph)?;
    for turn in 3..6 {
        rig.set_host(&mut host, &[turn, turn + 1]);
        rig.run(&exec, &rig.a)?;
        assert_eq!(rig.read(&x)?, [turn, turn + 1]);
    }
    Ok(())
}

/// Both: a copy to the host is captured, and gives its bytes at each launch.
pub fn host_bytes_are_written_at_each_launch<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (mut host, x) = (rig.pinned(&[0; 2])?, rig.words(&[0; 2])?);
    let graph = rig.capture(&rig.a, || rig.copy_out(&host, &x, &rig.a))?;
    let exec = rig.exec(&graph)?;
    assert_eq!(rig.host(&host), [0; 2]);
    for turn in 3..6 {
        rig.set_host(&mut host, &[0; 2]);
        rig.fill(&x, turn, &rig.a)?;
        rig.run(&exec, &rig.a)?;
        rig.drain();
        assert_eq!(rig.host(&host), [turn; 2]);
    }
    Ok(())
}

/// Both: after a captured operation the tail is that operation's node alone; before the first there is none.
pub fn the_tail_is_the_last_node<D: Driver>(rig: &Rig<D>) -> DriverResult {
    if !rig.has(rig.driver().caps().capture_tail, "tails of captures") {
        return Ok(());
    }
    let (x, y) = (rig.words(&[0])?, rig.words(&[0])?);
    rig.driver().capture_begin(&rig.a)?;
    assert_eq!(rig.driver().capture_tail(&rig.a)?.len(), 0);
    rig.fill(&x, 1, &rig.a)?;
    assert_eq!(rig.driver().capture_tail(&rig.a)?.len(), 1);
    rig.copy(&y, &x, &rig.a)?;
    assert_eq!(rig.driver().capture_tail(&rig.a)?.len(), 1);
    let graph = rig.end(&rig.a)?;
    let exec = rig.exec(&graph)?;
    rig.run(&exec, &rig.a)?;
    assert_eq!(rig.read(&y)?, [1]);
    Ok(())
}

/// Both: a node that the tail named is a node of the captured graph, so its executables can be updated by it.
pub fn a_captured_node_can_be_updated<D: Driver>(rig: &Rig<D>) -> DriverResult {
    if !rig.has(rig.driver().caps().capture_tail, "tails of captures") {
        return Ok(());
    }
    let push = rig.code(PUSH)?;
    let log = rig.words(&[0; 20])?;
    let params = |value: u32| push.params(&[whole(&log)], &[value.into()]);
    let mut nodes = Vec::new();
    let graph = rig.capture(&rig.a, || {
        for value in [1, 2, 3] {
            rig.launch(&push, [1; 3], &params(value), &rig.a)?;
            nodes.extend(rig.driver().capture_tail(&rig.a)?);
        }
        Ok(())
    })?;
    let mut exec = rig.exec(&graph)?;
    rig.run(&exec, &rig.a)?;
    rig.set_launch(&mut exec, nodes[1], &push, [1; 3], &params(20))?;
    rig.run(&exec, &rig.a)?;
    rig.set_launch(&mut exec, nodes[2], &push, [1; 3], &params(30))?;
    rig.run(&exec, &rig.a)?;
    assert_eq!(rig.read(&log)?[..10], [9, 1, 2, 3, 1, 20, 3, 1, 20, 30], "an update lasts, and changes its node alone");
    Ok(())
}

/// Both: a stream can capture as often as it likes, and works in between.
pub fn a_stream_captures_again_and_again<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let push = rig.code(PUSH)?;
    let log = rig.words(&[0; 21])?;
    for turn in 0..10u32 {
        let params = |value: u32| push.params(&[whole(&log)], &[value.into()]);
        let graph = rig.capture(&rig.a, || rig.launch(&push, [1; 3], &params(2 * turn), &rig.a))?;
        let exec = rig.exec(&graph)?;
        rig.run(&exec, &rig.a)?;
        rig.launch(&push, [1; 3], &params(2 * turn + 1), &rig.a)?;
    }
    assert_eq!(rig.read(&log)?[1..], (0..20).collect::<Vec<u32>>());
    Ok(())
}

/// Both: two streams may capture at once, each its own graph.
pub fn two_streams_capture_apart<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (x, y) = (rig.words(&[0])?, rig.words(&[0])?);
    rig.driver().capture_begin(&rig.a)?;
    rig.driver().capture_begin(&rig.b)?;
    rig.fill(&x, 1, &rig.a)?;
    rig.fill(&y, 2, &rig.b)?;
    rig.fill(&y, 3, &rig.b)?;
    let first = rig.end(&rig.a)?;
    assert_eq!(rig.driver().capture_state(&rig.b)?, CaptureState::Active);
    let second = rig.end(&rig.b)?;
    assert_eq!((rig.driver().graph_nodes(&first)?, rig.driver().graph_nodes(&second)?), (1, 2));
    let second = rig.exec(&second)?;
    // A graph captured on one stream may be launched on another.
    rig.run(&second, &rig.a)?;
    assert_eq!((rig.read(&x)?, rig.read(&y)?), (vec![0], vec![3]));
    Ok(())
}
