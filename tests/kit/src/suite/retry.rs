//! Attempts of one job (D62): the first fails in its replay, the next runs on clean state and succeeds.
//!
//! The policy and the list of outcomes are the caller's here, over the handles alone. The report of attempts that a caller
//! is given ready-made belongs to the facade above them; what the runtime owes it is tested here: a failure that says what
//! to do next, and nothing of the failed attempt in the next one.

use graphreel::{Config, Device, Graph, Grid, Kernel, Result, ServerError};

use crate::env::{PATIENCE, assert_works, failure, kernel_on};
use crate::{Env, Faults, kernels};

/// Words of each buffer.
const N: u64 = 300;

/// A job over buffers and a graph of its own, so that an attempt shares nothing with the one before.
struct Job {
    graph: Graph,
    accumulator: graphreel::Buffer,
    output: graphreel::Buffer,
}

impl Job {
    fn prepared(device: &Device) -> Result<Self> {
        let (inc, mul2): (Kernel, Kernel) = (kernel_on(device, kernels::INC), kernel_on(device, kernels::MUL2));
        let (accumulator, output) = (device.upload(&[20u32; N as usize])?, device.alloc_for::<u32>(N)?);
        let (graph, ()) = device.capture(|c| {
            c.launch(&inc, Grid::stride(N), (&accumulator,))?;
            c.launch(&mul2, Grid::stride(N), (&accumulator, &output))
        })?;
        Ok(Self { graph, accumulator, output })
    }

    fn result(&self) -> Result<Vec<u32>> {
        self.graph.replay()?.wait_for(PATIENCE)?;
        self.output.read::<u32>()
    }
}

/// The outcome of each attempt, in order.
type Outcomes = Vec<Result<Vec<u32>>>;

/// At most `attempts` of the job, each from the start: on the same device, or on a new one where that was lost. `before`
/// is given the attempt's number, from 1, before its replay.
fn tried(env: &Env, attempts: u32, before: impl Fn(u32, &Device)) -> (Outcomes, Vec<Device>) {
    let (mut outcomes, mut devices) = (Outcomes::new(), vec![env.device.clone()]);
    for number in 1..=attempts {
        if devices.last().is_some_and(|device| device.lost().is_some()) {
            devices.push(env.open(Config::default()));
        }
        let device = &devices[devices.len() - 1];
        let outcome = Job::prepared(device).and_then(|job| {
            before(number, device);
            job.result()
        });
        let done = outcome.is_ok();
        outcomes.push(outcome);
        if done {
            break;
        }
    }
    (outcomes, devices)
}

/// What the job comes to when it runs once on clean state: neither twice over the accumulator, nor over what a fault left.
fn right() -> Vec<u32> {
    vec![42; N as usize]
}

/// D62: a replay that is refused before it starts, or that faults, fails its attempt only; the second runs on clean state
/// of the same device and succeeds. The caller's list holds both outcomes.
pub fn a_refused_replay_is_tried_again_on_the_same_device(env: &Env) -> Result<()> {
    let Some(faults) = env.faults() else { return Ok(()) };
    type Inject = fn(&dyn Faults, &Device, u32);
    let ways: [Inject; 2] = [|f, device, n| f.refuse_replays(device, n), |f, device, n| f.fault_replays(device, n)];
    for inject in ways {
        let (outcomes, devices) = tried(env, 2, |number, device| {
            if number == 1 {
                inject(faults, device, 1);
            }
        });
        assert_eq!(outcomes.len(), 2, "{outcomes:?}");
        let first = failure(outcomes[0].clone());
        assert!(!first.is_device_lost() && !matches!(first, ServerError::Tainted { .. }), "its own failure: {first:?}");
        assert_eq!(outcomes[1].as_ref().ok(), Some(&right()), "{outcomes:?}");
        assert_eq!(devices.len(), 1, "the device is not lost, so the second attempt needs no other");
    }
    env.assert_usable(&env.device.stream());
    Ok(())
}

/// D62, D61: a device that is lost in attempt 1 is replaced, and attempt 2 succeeds on the new one. The first attempt's
/// handles stay with the lost device and do not disturb the second.
pub fn a_lost_device_is_replaced_for_the_next_attempt(env: &Env) -> Result<()> {
    let Some(faults) = env.faults() else { return Ok(()) };
    let kept = Job::prepared(&env.device)?;
    let (outcomes, devices) = tried(env, 2, |number, device| {
        if number == 1 {
            faults.lose(device);
        }
    });
    assert_eq!(outcomes.len(), 2, "{outcomes:?}");
    let first = failure(outcomes[0].clone());
    assert!(first.is_device_lost(), "{first:?}");
    assert_eq!(outcomes[1].as_ref().ok(), Some(&right()), "{outcomes:?}");
    assert_eq!(devices.len(), 2, "a lost device is not tried again");
    assert!(devices[0].lost().is_some() && devices[1].lost().is_none());
    for error in [failure(kept.graph.replay()), failure(kept.accumulator.read::<u32>().map(drop))] {
        assert!(error.is_device_lost(), "{error:?}");
    }
    assert_works(&devices[1]);
    Ok(())
}

/// D62: a job whose every replay fails ends after its attempts, with the failure of each in the list and none passed on
/// from one to the next.
pub fn a_job_that_always_fails_ends_with_its_attempts(env: &Env) -> Result<()> {
    let Some(faults) = env.faults() else { return Ok(()) };
    let (outcomes, _) = tried(env, 2, |_, device| faults.fault_replays(device, 1));
    assert_eq!(outcomes.len(), 2);
    for outcome in outcomes {
        let error = failure(outcome);
        assert!(!matches!(error, ServerError::Tainted { .. } | ServerError::Several { .. }), "{error:?}");
    }
    assert_eq!(Job::prepared(&env.device)?.result()?, right(), "and the device takes the next job");
    env.assert_usable(&env.device.stream());
    Ok(())
}
