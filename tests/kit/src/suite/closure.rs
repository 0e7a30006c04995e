//! Capture by closure: it runs once, before any window is open, and whatever goes wrong in it leaves nothing behind.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use graphreel::error::GraphRule;
use graphreel::{Buffer, Capture, Config, Grid, Kernel, Result, ServerError};

use crate::env::{PATIENCE, failure, says};
use crate::{Env, kernels};

fn inc(c: &mut Capture, kernel: &Kernel, buffer: &Buffer) -> Result<()> {
    c.launch(kernel, Grid::stride(buffer.len_of::<u32>()), (buffer,))
}

/// The closure runs once, launches nothing, and its value comes back with the graph.
pub fn the_closure_runs_once_and_changes_nothing(env: &Env) -> Result<()> {
    let kernel = env.kernel(kernels::INC);
    let buffer = env.buffer(&[1; 100]);
    let before = env.device.counters();
    let mut runs = 0;
    let (graph, (answer, scratch)) = env.device.capture(|c| {
        runs += 1;
        let scratch = c.alloc(400)?;
        inc(c, &kernel, &buffer)?;
        c.copy(&buffer, &scratch)?;
        assert_eq!((c.len(), c.is_empty()), (2, false));
        Ok((17, scratch))
    })?;
    assert_eq!((runs, answer), (1, 17));
    assert_eq!(buffer.read::<u32>()?, [1; 100], "a capture changes no buffer");
    assert!(matches!(scratch.read::<u32>(), Err(ServerError::Unwritten { .. })), "nothing wrote it yet");
    let after = env.device.counters();
    assert_eq!((after.launches, after.captures), (before.launches, before.captures + 1));
    graph.replay()?.wait()?;
    assert_eq!((buffer.read::<u32>()?, scratch.read::<u32>()?), (vec![2; 100], vec![2; 100]));
    assert!(graph.report().exclusive_slot, "a free exclusive slot is leased for a closure");
    Ok(())
}

/// D14: a panic inside becomes an error; no window stays, nothing ran, and the next capture works.
pub fn a_panic_inside_is_an_error_and_leaves_nothing(env: &Env) -> Result<()> {
    let kernel = env.kernel(kernels::INC);
    let buffer = env.buffer(&[1; 8]);
    let error = failure(env.device.capture(|c| -> Result<()> {
        inc(c, &kernel, &buffer)?;
        panic!("the closure gives up");
    }));
    assert!(matches!(error, ServerError::ClosurePanicked { op: "capture", .. }), "{error:?}");
    says(&error, &["capture", "the closure gives up"]);
    assert_eq!(buffer.read::<u32>()?, [1; 8], "what a panicking closure asked for is neither run nor tainted");
    buffer.write(&[4u32; 8])?;
    env.assert_usable(&env.device.stream());
    Ok(())
}

/// An error inside is the capture's answer, as it is.
pub fn an_error_inside_is_the_answer(env: &Env) -> Result<()> {
    let kernel = env.kernel(kernels::INC);
    let buffer = env.buffer(&[1; 8]);
    let error = failure(env.device.capture(|c| {
        inc(c, &kernel, &buffer)?;
        c.launch(&kernel, Grid::stride(8), (&buffer, &buffer))
    }));
    assert!(matches!(error, ServerError::InvalidArguments(_)), "{error:?}");
    assert_eq!(buffer.read::<u32>()?, [1; 8]);
    let own = ServerError::unsupported("this", "the caller says so");
    let answer = failure(env.device.capture(|_| -> Result<()> { Err(own.clone()) }));
    assert_eq!(answer.to_string(), own.to_string());
    env.assert_usable(&env.device.stream());
    Ok(())
}

/// An operation that is refused inside is not recorded, and a closure may go on without it.
pub fn a_refused_operation_is_not_recorded(env: &Env) -> Result<()> {
    let kernel = env.kernel(kernels::INC);
    let buffer = env.buffer(&[1; 8]);
    let (graph, refused) = env.device.capture(|c| {
        inc(c, &kernel, &buffer)?;
        let refused = c.launch(&kernel, Grid::groups(0), (&buffer,)).is_err();
        inc(c, &kernel, &buffer)?;
        Ok(refused)
    })?;
    assert!(refused);
    assert_eq!(graph.report().nodes, 2);
    graph.replay()?.wait()?;
    assert_eq!(buffer.read::<u32>()?, [3; 8]);
    Ok(())
}

/// An empty closure is no graph.
pub fn an_empty_closure_is_refused(env: &Env) {
    let error = failure(env.device.capture(|_| Ok(())));
    assert_eq!(error.graph_rule(), Some(&GraphRule::EmptyCapture));
    env.assert_usable(&env.device.stream());
}

/// Captures of one device do not nest on a thread; those of two devices do.
pub fn captures_of_one_device_do_not_nest(env: &Env) -> Result<()> {
    let kernel = env.kernel(kernels::INC);
    let buffer = env.buffer(&[1; 8]);
    let other = env.open(Config::default());
    let (graph, inner) = env.device.capture(|c| {
        inc(c, &kernel, &buffer)?;
        let nested = failure(env.device.capture(|c| inc(c, &kernel, &buffer)));
        assert_eq!(nested.graph_rule(), Some(&GraphRule::NestedCapture));
        says(&nested, &["capture:", "nest"]);
        let foreign = crate::env::kernel_on(&other, kernels::INC);
        let theirs = other.upload(&[7u32; 8])?;
        let (graph, ()) = other.capture(|c| inc(c, &foreign, &theirs))?;
        Ok((graph, theirs))
    })?;
    graph.replay()?.wait()?;
    inner.0.replay()?.wait()?;
    assert_eq!((buffer.read::<u32>()?, inner.1.read::<u32>()?), (vec![2; 8], vec![8; 8]));
    Ok(())
}

/// A plain handle's call inside is refused and names the call to use; allocation, compilation and drop are not.
pub fn plain_handles_inside_are_refused_by_name(env: &Env) -> Result<()> {
    let kernel = env.kernel(kernels::INC);
    let (buffer, other) = (env.buffer(&[1; 8]), env.buffer(&[2; 8]));
    let (earlier, ()) = env.device.capture(|c| inc(c, &kernel, &other))?;
    let stream = env.device.stream();
    let refused = |result: Result<()>, instead: &str| {
        let error = failure(result);
        let Some(GraphRule::PlainHandleInClosure { .. }) = error.graph_rule() else { panic!("{error:?}") };
        says(&error, &[instead]);
    };
    let (graph, ()) = env.device.capture(|c| {
        refused(env.device.launch(&kernel, Grid::stride(8), (&buffer,)), "c.launch");
        refused(stream.launch(&kernel, Grid::stride(8), (&buffer,)), "c.launch");
        refused(buffer.write(&[9u32; 8]), "c.upload");
        refused(buffer.fill(9), "c.fill");
        refused(buffer.copy_from(&other), "c.copy");
        refused(buffer.read::<u32>().map(drop), "after the capture");
        refused(env.device.sync(), "after the capture");
        refused(env.device.upload(&[1u32]).map(drop), "c.upload");
        refused(earlier.replay().map(drop), "after the capture");
        refused(stream.graph_prepare(), "the capture that is running");
        refused(stream.flush(), "flush after the capture");
        refused(buffer.external_write(), "external_write after the capture");
        let scratch = env.device.alloc(32)?;
        drop(env.device.kernel(kernels::MUL2)?);
        drop(scratch);
        inc(c, &kernel, &buffer)
    })?;
    assert_eq!(graph.report().nodes, 1);
    assert_eq!((buffer.read::<u32>()?, other.read::<u32>()?), (vec![1; 8], vec![2; 8]));
    // A window that was open before is left as it was, by whatever is called inside.
    stream.graph_prepare()?;
    stream.begin_capture()?;
    stream.launch(&kernel, Grid::stride(8), (&buffer,))?;
    env.device.capture(|c| {
        refused(stream.begin_capture(), "begin_capture after the capture");
        refused(stream.end_capture().map(drop), "end_capture after the capture");
        refused(stream.graph_abort(), "graph_abort after the capture");
        inc(c, &kernel, &other)
    })?;
    assert_eq!(stream.end_capture()?.report().nodes, 1);
    // The mark is gone with the closure.
    buffer.write(&[5u32; 8])?;
    env.assert_usable(&stream);
    Ok(())
}

/// C-60, C-62: while a closure runs, no other thread waits or is refused, on whatever stream.
pub fn a_running_closure_taxes_nobody(env: &Env) -> Result<()> {
    let kernel = env.kernel(kernels::INC);
    let (recorded, theirs) = (env.buffer(&[1; 8]), env.buffer(&[1; 8]));
    let (entered, inside) = mpsc::channel();
    let (leave, left) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let capture = scope.spawn({
            let (device, kernel, recorded) = (&env.device, &kernel, &recorded);
            move || {
                device.capture(|c| {
                    entered.send(()).expect("the test waits for it");
                    left.recv_timeout(PATIENCE).expect("the test lets it go");
                    inc(c, kernel, recorded)
                })
            }
        });
        inside.recv_timeout(PATIENCE).expect("the closure starts");
        for value in 0..2 * Config::default().max_streams as u64 {
            let stream = env.device.stream_of(graphreel::StreamId { value });
            stream.write(&theirs, &[value as u32; 8])?;
            stream.launch(&kernel, Grid::stride(8), (&theirs,))?;
            assert_eq!(stream.read::<u32>(&theirs)?, [value as u32 + 1; 8]);
            stream.sync_for(Duration::from_secs(20))?;
            assert!(!stream.capture_status().active);
        }
        leave.send(()).expect("the closure waits for it");
        let (graph, ()) = capture.join().expect("no panic")?;
        graph.replay()?.wait()?;
        Ok::<(), ServerError>(())
    })?;
    assert_eq!(recorded.read::<u32>()?, [2; 8]);
    Ok(())
}

/// Many threads capture at once, also more than there are exclusive slots: each graph has its own thread's work.
pub fn captures_on_many_threads_are_apart(env: &Env) -> Result<()> {
    let kernel = env.kernel(kernels::FILL);
    let buffers: Vec<Buffer> = (0..8).map(|_| env.unwritten(64)).collect();
    thread::scope(|scope| {
        let captures: Vec<_> = (0u32..)
            .zip(&buffers)
            .map(|(index, buffer)| {
                let (device, kernel) = (&env.device, &kernel);
                scope.spawn(move || -> Result<()> {
                    for round in 0..20 {
                        let value = 1000 * index + round;
                        let (graph, ()) = device.capture(|c| c.launch(kernel, Grid::stride(64), (buffer, value)))?;
                        graph.replay()?.wait()?;
                        assert_eq!(buffer.read::<u32>()?, [value; 64]);
                    }
                    Ok(())
                })
            })
            .collect();
        captures.into_iter().try_for_each(|capture| capture.join().expect("no panic"))
    })
}
