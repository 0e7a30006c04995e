//! Dropping things in every order, with work in flight: nothing waits, nothing panics, nothing is lost or used after free.

use std::cell::RefCell;
use std::sync::mpsc;
use std::thread;

use graphreel::{Buffer, Config, Device, Graph, GraphRule, Grid, Result, ServerError};

use super::work::{LATE, N, SUCC, blank, graph_of, grid, holds, open_window, refused, same, settle, words};
use crate::env::{assert_works, failure, kernel_on, taint_of};
use crate::{Env, kernels};

/// Rounds of [`LATE`] that keep a device busy while the host goes on.
const SLOW: u32 = 20_000;

fn slow_graph(device: &Device) -> Result<(Graph, Buffer)> {
    let late = kernel_on(device, LATE);
    let (one, two) = (words(device, 0)?, blank(device)?);
    let (graph, ()) = device.capture(|c| {
        for _ in 0..4 {
            c.launch(&late, grid(), (&one, &two, SLOW))?;
            c.launch(&late, grid(), (&two, &one, SLOW))?;
        }
        Ok(())
    })?;
    Ok((graph, one))
}

/// A graph that is dropped with replays in flight finishes them.
pub fn a_graph_dropped_in_flight_finishes(env: &Env) -> Result<()> {
    let device = &env.device;
    let (graph, result) = slow_graph(device)?;
    let dones = (0..3).map(|_| graph.replay()).collect::<Result<Vec<_>>>()?;
    drop(graph);
    let others = (0..20).map(|_| words(device, 9)).collect::<Result<Vec<_>>>()?;
    holds(&result, 24);
    for done in dones {
        done.wait()?;
    }
    others.iter().for_each(|other| holds(other, 9));
    Ok(())
}

/// A buffer that is dropped with work in flight on it is not handed out before that work is done.
pub fn a_buffer_dropped_in_flight_is_reused_after_its_work(env: &Env) -> Result<()> {
    let device = &env.device;
    let late = env.kernel(LATE);
    let output = blank(device)?;
    for round in 0..30 {
        let input = words(device, round)?;
        device.launch(&late, grid(), (&input, &output, 3_000_u32))?;
        drop(input);
        let next = words(device, 0xffff)?;
        holds(&output, round + 1);
        holds(&next, 0xffff);
    }
    Ok(())
}

/// A kernel that is dropped with its launches in flight, and one that only a graph holds.
pub fn a_kernel_dropped_in_flight_finishes(env: &Env) -> Result<()> {
    let device = &env.device;
    let (input, output) = (words(device, 1)?, blank(device)?);
    let late = env.kernel(LATE);
    device.launch(&late, grid(), (&input, &output, SLOW))?;
    drop(late);
    holds(&output, 2);
    let (graph, ()) = device.capture(|c| {
        let succ = device.kernel(SUCC)?;
        c.launch(&succ, grid(), (&output, &input))
    })?;
    graph.replay()?;
    holds(&input, 3);
    Ok(())
}

/// A device whose last handle is dropped with work in flight closes without waiting, whatever is dropped after it.
pub fn a_device_dropped_in_flight_closes(env: &Env) -> Result<()> {
    for order in 0..4 {
        let device = env.open(Config::default());
        let (graph, result) = slow_graph(&device)?;
        let done = graph.replay()?;
        let pending = result.read_async::<u32>()?;
        match order {
            0 => {
                drop((device, graph, result, done));
                same(&pending.wait()?, 8);
            }
            1 => {
                drop((pending, result, graph, device));
                done.wait()?;
            }
            2 => {
                drop((graph, device, pending, done));
                holds(&result, 8);
            }
            _ => drop((device, graph, pending, done, result)),
        }
    }
    assert_works(&env.device);
    Ok(())
}

/// Many devices, one after the other and a few at a time.
pub fn devices_come_and_go(env: &Env) -> Result<()> {
    let mut open = Vec::new();
    for round in 0..12 {
        let device = env.open(Config::default());
        assert_works(&device);
        open.push(device);
        if round % 3 == 2 {
            open.swap_remove(0);
            open.pop();
        }
    }
    open.iter().for_each(assert_works);
    Ok(())
}

/// A graph that the server was told to destroy is gone; telling it again, and dropping the handle, is harmless.
pub fn destroying_twice_is_harmless(env: &Env) -> Result<()> {
    let device = &env.device;
    let (graph, result) = slow_graph(device)?;
    let clone = graph.clone();
    graph.replay()?;
    let id = graph.id();
    for _ in 0..3 {
        device.with_contract(|server| server.graph_destroy(id));
    }
    refused(clone.replay(), &GraphRule::UnknownGraph { graph: id.0 });
    drop(clone);
    drop(graph);
    holds(&result, 8);
    assert_works(device);
    Ok(())
}

/// Handles may be dropped in any thread, all at once, while others go on.
pub fn handles_may_be_dropped_in_other_threads(env: &Env) -> Result<()> {
    let device = &env.device;
    let succ = env.kernel(SUCC);
    let (input, output) = (words(device, 1)?, blank(device)?);
    let mut threads = Vec::new();
    for _ in 0..8 {
        let (from, to) = (words(device, 5)?, blank(device)?);
        let graph = graph_of(device, &succ, &from, &to)?;
        let done = graph.replay()?;
        let (kernel, stream) = (succ.clone(), device.new_stream());
        stream.launch(&kernel, grid(), (&to, &from))?;
        threads.push(thread::spawn(move || drop((graph, from, to, done, kernel, stream))));
        device.launch(&succ, grid(), (&input, &output))?;
    }
    threads.into_iter().for_each(|thread| thread.join().expect("no drop panics"));
    holds(&output, 2);
    settle(device, "what the threads held is free", |usage| usage.pinned_bytes == 0)
}

/// A thread that ends leaves its stream's work to be done, and its buffers readable.
pub fn a_thread_that_ends_loses_nothing(env: &Env) -> Result<()> {
    let device = env.device.clone();
    let worker = thread::spawn(move || -> Result<_> {
        let late = kernel_on(&device, LATE);
        let (from, to) = (words(&device, 1)?, blank(&device)?);
        device.launch(&late, grid(), (&from, &to, SLOW))?;
        Ok(to)
    });
    holds(&worker.join().expect("no panic")?, 2);
    Ok(())
}

/// What a thread keeps in a thread-local, used once more when the thread ends.
struct Keepsake {
    graph: Graph,
    answers: mpsc::Sender<(Result<()>, Result<()>)>,
}

impl Drop for Keepsake {
    fn drop(&mut self) {
        let update = self.graph.update(|u| u.set("value", 8u32));
        let capture = self.graph.device().capture(|_| Ok(())).map(|_| ());
        self.answers.send((update, capture)).expect("the test listens");
    }
}

thread_local! {
    static KEEPSAKE: RefCell<Option<Keepsake>> = const { RefCell::new(None) };
}

/// A call from the destructor of a thread-local is answered, whatever else of the thread is gone by then: a panic there would
/// end the process.
pub fn calls_from_the_end_of_a_thread_are_answered(env: &Env) -> Result<()> {
    let (output, fill) = (blank(&env.device)?, env.kernel(kernels::FILL));
    let (graph, ()) = env.device.capture(|c| {
        let value = c.param("value", 1u32);
        c.launch(&fill, Grid::stride(N), (&output, &value))
    })?;
    let (answers, answered) = mpsc::channel();
    let kept = graph.clone();
    let worker = thread::spawn(move || {
        // Touched before the device is, so that it goes after whatever the device keeps for the thread.
        KEEPSAKE.with_borrow_mut(|keepsake| *keepsake = None);
        kept.device().profile(|_| Ok(()))?;
        KEEPSAKE.with_borrow_mut(|keepsake| *keepsake = Some(Keepsake { graph: kept, answers }));
        Ok::<(), ServerError>(())
    });
    worker.join().expect("no panic")?;
    let (update, capture) = answered.recv().expect("an answer");
    update?;
    assert!(matches!(failure(capture), ServerError::GraphState(_)));
    graph.replay()?;
    holds(&output, 8);
    Ok(())
}

/// C-58: what is dropped inside a window is set aside until it closes; recorded memory lives as long as the graph.
pub fn a_drop_in_a_window_is_deferred(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, _) = env.folded();
    let (succ, mul2) = (env.kernel(SUCC), env.kernel(kernels::MUL2));
    let (input, between, output) = (words(device, 20)?, blank(device)?, blank(device)?);
    let bystander = words(device, 1)?;
    let other = graph_of(device, &succ, &bystander, &between)?;
    let in_flight = other.replay()?;
    open_window(&owner)?;
    owner.launch(&succ, grid(), (&input, &between))?;
    owner.launch(&mul2, grid(), (&between, &output))?;
    drop((between, bystander, other));
    let reused = (0..8).map(|_| blank(device)).collect::<Result<Vec<_>>>()?;
    let graph = owner.end_capture()?;
    in_flight.wait()?;
    reused.iter().try_for_each(|buffer| buffer.fill(0xffff))?;
    graph.replay()?;
    holds(&output, 42);
    reused.iter().for_each(|buffer| holds(buffer, 0xffff));
    drop(input);
    reused.iter().try_for_each(|buffer| buffer.fill(0xffff))?;
    graph.replay()?;
    holds(&output, 42);
    Ok(())
}

/// C-74 in small: dropping the stream that opened a window aborts it, prepared or recording; its slot is free.
pub fn dropping_the_stream_aborts_its_window(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, neighbour) = env.folded();
    let output = words(device, 3)?;
    let id = owner.id();
    drop(owner);
    for recording in [false, true] {
        let owner = device.stream_of(id);
        owner.graph_prepare()?;
        if recording {
            owner.begin_capture()?;
            owner.fill(&output, 4)?;
        }
        assert!(neighbour.capture_status().active);
        drop(owner);
        assert!(!neighbour.capture_status().active, "the drop closed the window");
    }
    open_window(&neighbour)?;
    neighbour.fill(&output, 5)?;
    neighbour.end_capture()?.replay()?;
    holds(&output, 5);
    Ok(())
}

/// Dropping an answer that nobody waited for drops the answer and not the work.
pub fn an_answer_may_be_dropped(env: &Env) -> Result<()> {
    let device = &env.device;
    let (graph, result) = slow_graph(device)?;
    for _ in 0..5 {
        drop(graph.replay()?);
        drop(result.read_async::<u32>()?);
        drop(device.stream().sync_async()?);
    }
    holds(&result, 40);
    Ok(())
}

/// A window that another stream closes leaves its failure on what it would have written, and on nothing else.
pub fn an_abandoned_window_taints_only_what_it_would_have_written(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, neighbour) = env.folded();
    let succ = env.kernel(SUCC);
    let (input, output) = (words(device, 1)?, device.upload(&vec![7_u32; 2 * N as usize])?);
    let (first, second) = (output.elements::<u32>(0..1024)?, output.elements::<u32>(1024..2 * N)?);
    open_window(&owner)?;
    owner.launch(&succ, graphreel::Grid::cover(1024), (&input, &first))?;
    assert!(matches!(failure(neighbour.end_capture()), ServerError::Several { .. }));
    taint_of(&output);
    assert!(matches!(failure(first.read::<u32>()), ServerError::Tainted { .. }));
    holds(&second, 7);
    holds(&input, 1);
    first.fill(9)?;
    holds(&first, 9);
    holds(&second, 7);
    Ok(())
}
