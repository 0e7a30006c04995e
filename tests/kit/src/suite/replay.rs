//! Replays and readability: what a graph needs, what it releases, and what a failed replay leaves (C-75 to C-77,
//! C-84, the ruling on reads).

use graphreel::{Buffer, Grid, Result, ServerError};

use crate::env::{PATIENCE, failure, says, taint_of};
use crate::{Env, kernels};

fn spoil(env: &Env, buffer: &Buffer) -> Result<()> {
    let (owner, _) = env.folded();
    owner.graph_prepare()?;
    owner.begin_capture()?;
    owner.fill(buffer, 0)?;
    owner.graph_abort()
}

/// XC-22, D30: outputs follow the inputs of each replay, as eager work does.
pub fn outputs_follow_inputs(env: &Env) -> Result<()> {
    let (add, mul2) = (env.kernel(kernels::ADD), env.kernel(kernels::MUL2));
    let (x, y) = (env.buffer(&[0; 1000]), env.buffer(&[100; 1000]));
    let (sum, double) = (env.unwritten(1000), env.unwritten(1000));
    let (graph, ()) = env.device.capture(|c| {
        c.launch(&add, Grid::stride(1000), (&x, &y, &sum))?;
        c.launch(&mul2, Grid::stride(1000), (&sum, &double))
    })?;
    for round in 0..30u32 {
        let input: Vec<u32> = (0..1000).map(|index| index * 3 + round).collect();
        x.write(&input)?;
        graph.replay()?;
        let expected: Vec<u32> = input.iter().map(|word| 2 * (word + 100)).collect();
        assert_eq!(double.read::<u32>()?, expected, "round {round}");
    }
    Ok(())
}

/// XC-23, C-49, D05: uploaded bytes belong to the graph, whatever becomes of the caller's.
pub fn uploaded_bytes_belong_to_the_graph(env: &Env) -> Result<()> {
    let (buffer, output) = (env.unwritten(64), env.unwritten(64));
    let (graph, ()) = {
        let mut bytes: Vec<u32> = (0..64).collect();
        let captured = env.device.capture(|c| {
            c.upload(&buffer, &bytes)?;
            c.copy(&buffer, &output)
        })?;
        bytes.fill(999);
        captured
    };
    assert!(graph.report().host_bytes >= 256, "{:?}", graph.report());
    for round in 0..20u32 {
        // Other uploads recycle whatever staging memory a backend has.
        let churn = env.buffer(&vec![round; 5000]);
        buffer.write(&[round; 64])?;
        graph.replay()?;
        assert_eq!(output.read::<u32>()?, (0..64).collect::<Vec<u32>>());
        assert_eq!(churn.read::<u32>()?, vec![round; 5000]);
    }
    Ok(())
}

/// XC-29: recording and sealing change no taint; a successful replay releases what it writes.
pub fn nothing_is_laundered_before_a_replay(env: &Env) -> Result<()> {
    let mul2 = env.kernel(kernels::MUL2);
    let (source, output) = (env.buffer(&[4; 64]), env.buffer(&[5; 64]));
    spoil(env, &output)?;
    let before = taint_of(&output).to_string();
    let (graph, ()) = env.device.capture(|c| c.launch(&mul2, Grid::stride(64), (&source, &output)))?;
    assert_eq!(taint_of(&output).to_string(), before, "sealing ran nothing");
    graph.replay()?;
    assert_eq!(output.read::<u32>()?, [8; 64]);
    Ok(())
}

/// XC-30: a replay with a tainted input is refused and passes the failure on; after a write of the input it runs.
pub fn a_tainted_input_refuses_the_replay(env: &Env) -> Result<()> {
    let mul2 = env.kernel(kernels::MUL2);
    let (source, output) = (env.buffer(&[4; 64]), env.unwritten(64));
    let (graph, ()) = env.device.capture(|c| c.launch(&mul2, Grid::stride(64), (&source, &output)))?;
    graph.replay()?;
    assert_eq!(output.read::<u32>()?, [8; 64]);
    let replays = env.device.counters().replays;
    spoil(env, &source)?;
    for _ in 0..2 {
        let error = failure(graph.replay());
        assert!(matches!(error, ServerError::Tainted { .. }), "{error:?}");
        says(&error, &[&source.memory_id().to_string(), "graph_abort:"]);
        says(&taint_of(&output), &["graph_abort:"]);
    }
    assert_eq!(env.device.counters().replays, replays, "none of them was enqueued");
    source.write(&[6u32; 64])?;
    taint_of(&output);
    graph.replay()?;
    assert_eq!(output.read::<u32>()?, [12; 64]);
    Ok(())
}

/// Exposed reads: bytes that the graph itself writes before it reads them are no inputs of it.
pub fn what_a_graph_writes_first_is_no_input(env: &Env) -> Result<()> {
    let inc = env.kernel(kernels::INC);
    let scratch = env.unwritten(64);
    let (graph, ()) = env.device.capture(|c| {
        c.fill(&scratch, 40)?;
        c.launch(&inc, Grid::stride(64), (&scratch,))
    })?;
    spoil(env, &scratch)?;
    graph.replay()?;
    assert_eq!(scratch.read::<u32>()?, [41; 64]);
    graph.replay()?;
    assert_eq!(scratch.read::<u32>()?, [41; 64], "the accumulator starts anew in each replay");
    Ok(())
}

/// C-78: an input that nothing ever wrote is no failure to run with; a kernel sees what memory holds.
pub fn a_replay_on_unwritten_scratch_runs(env: &Env) -> Result<()> {
    let (mul2, source) = (env.kernel(kernels::MUL2), env.unwritten(64));
    let (graph, output) = env.device.capture(|c| {
        let output = c.alloc(256)?;
        c.launch(&mul2, Grid::stride(64), (&source, &output))?;
        Ok(output)
    })?;
    graph.replay()?.wait_for(PATIENCE)?;
    assert_eq!(output.read::<u32>()?.len(), 64);
    assert!(matches!(source.read::<u32>(), Err(ServerError::Unwritten { .. })), "being read does not write it");
    Ok(())
}

/// XC-19, C-76, C-77: after a replay that could not be enqueued the outputs carry its failure; the next one releases it.
pub fn a_failed_replay_taints_and_the_next_releases(env: &Env) -> Result<()> {
    let Some(faults) = env.faults() else { return Ok(()) };
    let mul2 = env.kernel(kernels::MUL2);
    let (source, output) = (env.buffer(&[4; 64]), env.buffer(&[5; 64]));
    let (graph, ()) = env.device.capture(|c| c.launch(&mul2, Grid::stride(64), (&source, &output)))?;
    faults.refuse_replays(&env.device, 1);
    let error = failure(graph.replay());
    assert_eq!(taint_of(&output).to_string(), error.to_string());
    assert_eq!(source.read::<u32>()?, [4; 64], "what a graph only reads stays readable");
    graph.replay()?;
    assert_eq!(output.read::<u32>()?, [8; 64]);
    Ok(())
}

/// XC-24, first half: a replay that ran nothing can be tried again, also over an accumulator it reads and writes.
pub fn a_replay_that_ran_nothing_can_be_retried(env: &Env) -> Result<()> {
    let Some(faults) = env.faults() else { return Ok(()) };
    let (inc, copy) = (env.kernel(kernels::INC), env.kernel(kernels::COPY));
    let (accumulator, output) = (env.buffer(&[10; 64]), env.unwritten(64));
    let (graph, scratch) = env.device.capture(|c| {
        let scratch = c.alloc(256)?;
        c.launch(&inc, Grid::stride(64), (&accumulator,))?;
        c.launch(&copy, Grid::stride(64), (&accumulator, &scratch))?;
        c.launch(&copy, Grid::stride(64), (&scratch, &output))?;
        Ok(scratch)
    })?;
    graph.replay()?;
    faults.refuse_replays(&env.device, 3);
    for _ in 0..3 {
        let error = failure(graph.replay());
        assert!(!matches!(error, ServerError::Tainted { .. }), "its own earlier refusal is no tainted input: {error}");
        taint_of(&accumulator);
        taint_of(&scratch);
    }
    graph.replay()?;
    assert_eq!(output.read::<u32>()?, [12; 64], "one increment before the refusals and one after");
    // Another graph does not share the exemption.
    let (other, ()) = env.device.capture(|c| c.launch(&inc, Grid::stride(64), (&accumulator,)))?;
    faults.refuse_replays(&env.device, 1);
    failure(graph.replay());
    assert!(matches!(failure(other.replay()), ServerError::Tainted { .. }));
    Ok(())
}

/// XC-24, second half: after a fault behind the first submit, inputs that it covers have to be written again.
pub fn a_replay_that_faulted_needs_its_inputs_again(env: &Env) -> Result<()> {
    let Some(faults) = env.faults() else { return Ok(()) };
    let inc = env.kernel(kernels::INC);
    let accumulator = env.buffer(&[10; 64]);
    let (graph, ()) = env.device.capture(|c| c.launch(&inc, Grid::stride(64), (&accumulator,)))?;
    faults.fault_replays(&env.device, 1);
    let faulted = graph.replay().and_then(|done| done.wait_for(PATIENCE));
    says(&failure(faulted), &["fault"]);
    taint_of(&accumulator);
    let refused = failure(graph.replay());
    assert!(matches!(refused, ServerError::Tainted { .. }), "{refused:?}");
    says(&refused, &[&accumulator.memory_id().to_string(), "write them again"]);
    accumulator.write(&[20u32; 64])?;
    graph.replay()?;
    assert_eq!(accumulator.read::<u32>()?, [21; 64]);
    Ok(())
}

/// C-79: after a fault, outputs that a graph wholly writes come back by the next replay.
pub fn a_faulted_replay_of_pure_outputs_can_be_repeated(env: &Env) -> Result<()> {
    let Some(faults) = env.faults() else { return Ok(()) };
    let mul2 = env.kernel(kernels::MUL2);
    let (source, output) = (env.buffer(&[4; 64]), env.buffer(&[5; 64]));
    let (graph, ()) = env.device.capture(|c| c.launch(&mul2, Grid::stride(64), (&source, &output)))?;
    faults.fault_replays(&env.device, 1);
    failure(graph.replay().and_then(|done| done.wait_for(PATIENCE)));
    taint_of(&output);
    assert_eq!(source.read::<u32>()?, [4; 64]);
    graph.replay()?.wait_for(PATIENCE)?;
    assert_eq!(output.read::<u32>()?, [8; 64]);
    env.assert_usable(&env.device.stream());
    Ok(())
}
