//! Random programs on the simulator against the oracle: without faults, with faults by chance, and on both tiers, while work
//! completes in any legal order.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod oracle;

use std::time::Duration;

use graphreel::recording::Tier;
use graphreel_sim::{Completion, Failure, FaultPlan, FaultRule, Then, When};

use oracle::{Plan, Program, run, shrink};

/// Programs of each kind: enough for every run, and the full number.
const SEEDS: u64 = 2_000;
const SEEDS_THOROUGH: u64 = 100_000;

/// The seeds of a run: those asked for, or as many as the volume says.
fn seeds() -> Vec<u64> {
    if let Some(seed) = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.trim().parse().ok()) {
        return vec![seed];
    }
    let thorough = std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|value| value == "1");
    (0..if thorough { SEEDS_THOROUGH } else { SEEDS }).collect()
}

/// A plan that lets any call fail now and then, in every way that a driver's call can.
fn faults(seed: u64) -> FaultPlan {
    let mut rng = fastrand::Rng::with_seed(seed ^ 0xfa17);
    let probability = [0.002, 0.01, 0.05][rng.usize(..3)];
    let rule = |call: Option<&'static str>, probability: f64, then: Then| FaultRule {
        when: When::Chance { call, probability },
        then,
    };
    // A refusal that is local to its call says that nothing happened, so the ones that enqueue fail before their effect.
    let mut rules = vec![rule(None, probability, Then::Before(Failure::REFUSED))];
    for call in ["event_record", "stream_wait_event", "capture_begin", "capture_end", "graph_create", "exec_set_launch"]
    {
        rules.push(rule(Some(call), probability, Then::After(Failure::REFUSED)));
    }
    for call in ["mem_alloc", "pinned_alloc", "graph_instantiate"] {
        rules.push(rule(Some(call), 4.0 * probability, Then::Before(Failure::OUT_OF_MEMORY)));
    }
    match rng.u8(..4) {
        0 => rules.push(rule(None, probability / 20.0, Then::Later(Failure::CONTEXT))),
        1 => rules.push(rule(None, probability / 20.0, Then::After(Failure::DEVICE))),
        2 => rules.push(rule(None, probability, Then::Delay(rng.u32(1..20)))),
        _ => {}
    }
    FaultPlan { rules, seed }
}

fn plan(seed: u64, faulty: bool) -> Plan {
    Plan {
        completion: Completion::Seeded(seed),
        tier: if seed.is_multiple_of(2) { Tier::Captured } else { Tier::Built },
        faults: if faulty { faults(seed) } else { FaultPlan::default() },
        wait_max: Duration::from_secs(20),
    }
}

/// Run the program of each seed; a failure prints its seed and the shortest program that still fails.
fn all(faulty: bool) {
    let (mut lost, mut errors) = (0, 0);
    for seed in seeds() {
        let plan = plan(seed, faulty);
        let program: Program = oracle::program::program(seed);
        match run(&program, &plan) {
            Ok(outcome) => {
                lost += u32::from(outcome.lost);
                errors += outcome.errors;
            }
            Err(problem) => {
                let short = shrink(&program, |program| run(program, &plan).is_err());
                let again = run(&short, &plan).unwrap_err();
                panic!("GRAPHREEL_SEED={seed}: {problem}\nshrunk to {short:#?}\nwhich fails with: {again}\n{plan:?}");
            }
        }
    }
    // The test would show nothing if no fault ever fired.
    assert!(
        !faulty || std::env::var("GRAPHREEL_SEED").is_ok() || (lost > 0 && errors > 0),
        "{lost} lost, {errors} errors"
    );
}

#[test]
fn programs_without_faults_give_the_oracles_bytes() {
    all(false);
}

#[test]
fn programs_with_faults_never_lie() {
    all(true);
}
