//! Every driver call of a device's life fails once, in every way that a call can: nothing panics, hangs or is misused,
//! nothing fails in silence, and no read gives other bytes than those of the last step that succeeded.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod life;

use std::collections::BTreeSet;

use graphreel::recording::Tier;
use graphreel_sim::{Failure, SimOptions, Then};

use life::{Fault, Outcome, Setting, live};

/// Of the calls of a life, one in so many fails in an ordinary run; all of them with `GRAPHREEL_THOROUGH=1`.
const STRIDE: usize = 5;

/// Calls that give work to a stream. A refusal that is local to one of them says that nothing was given.
const ENQUEUE: [&str; 6] = ["launch", "copy_to_device", "copy_to_host", "copy_on_device", "fill", "exec_launch"];

/// Calls whose failure nobody has to be told of, since what was asked for is done all the same.
const ABSORBED: [(&str, &str); 22] = [
    ("capture_mode_exchange", "asked again"),
    ("context_current", "asked again"),
    ("context_set", "asked again"),
    ("mem_alloc", "without memory, what is free is given back and it is asked again"),
    ("stream_create", "the first launch brings a built graph to the device"),
    ("event_create", "what was dropped goes later"),
    ("event_record", "what was dropped goes later"),
    ("event_query", "a look whether something can go is followed by others"),
    ("stream_wait_event", "a slot comes after its side stream, and each of its buffers does anyway"),
    ("capture_end", "a window that is dropped is closed, whatever the driver says of it"),
    ("exec_upload", "the first launch brings the graph to the device"),
    ("exec_set_launch", "the whole graph is updated"),
    ("exec_set_copy", "the whole graph is updated"),
    ("exec_set_fill", "the whole graph is updated"),
    ("event_destroy", "it is gone"),
    ("exec_destroy", "it is gone"),
    ("graph_destroy", "it is gone"),
    ("mem_free", "it is gone"),
    ("module_unload", "it is gone"),
    ("pinned_free", "it is gone"),
    ("stream_destroy", "it is gone"),
    ("close", "it is gone"),
];

/// The ways in which the call of this name can fail.
fn ways(name: &str) -> Vec<Then> {
    let after = if ENQUEUE.contains(&name) { Failure::CONTEXT } else { Failure::REFUSED };
    let mut ways = vec![
        Then::Before(Failure::REFUSED),
        Then::Before(Failure::OUT_OF_MEMORY),
        Then::After(after),
        Then::Later(Failure::CONTEXT),
        Then::After(Failure::DEVICE),
    ];
    if ENQUEUE.contains(&name) {
        ways.push(Then::Hang);
    }
    ways
}

/// The faults of this run.
fn faults(unharmed: &Outcome) -> Vec<Fault> {
    let thorough = std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|value| value == "1");
    let stride = if thorough { 1 } else { STRIDE };
    let seed = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0usize);
    let all = (0u64..).zip(&unharmed.names).flat_map(|(index, name)| {
        let hangs_late = move |then: &Then| *then == Then::Hang && index >= unharmed.script;
        ways(name).into_iter().filter(move |then| !hangs_late(then)).map(move |then| (index, then))
    });
    all.skip(seed % stride).step_by(stride).collect()
}

fn every_call_fails_once(setting: &Setting) {
    let unharmed = live(setting, None).unwrap_or_else(|problem| panic!("without a fault: {problem}"));
    assert_eq!((unharmed.lost, unharmed.errors), (false, 0));
    let (mut told, mut lost, mut absorbed) = (0, 0, BTreeSet::new());
    let mut problems = Vec::new();
    for fault in faults(&unharmed) {
        match live(setting, Some(fault)) {
            Err(problem) => problems.push(problem),
            Ok(outcome) => {
                told += usize::from(outcome.errors > 0);
                lost += usize::from(outcome.lost);
                if outcome.errors == 0 && !outcome.lost {
                    let index = fault.0 as usize;
                    assert_eq!(outcome.cells, unharmed.cells, "{fault:?} changed a result and nobody was told");
                    // What hung and went on has not failed.
                    absorbed.extend((fault.1 != Then::Hang).then(|| unharmed.names[index]));
                }
            }
        }
    }
    let first = problems.first().cloned().unwrap_or_default();
    assert!(problems.is_empty(), "{} faults were not met well, the first of them:\n{first}", problems.len());
    assert!(told > 0 && lost > 0, "no fault was told of: {told} told, {lost} lost");
    let unknown: Vec<_> = absorbed.iter().filter(|name| !ABSORBED.iter().any(|(known, _)| known == *name)).collect();
    assert!(unknown.is_empty(), "the failure of {unknown:?} was told nobody");
}

fn whole(tier: Tier) -> Setting {
    Setting { options: SimOptions::seeded(0x11fe), tier }
}

/// What drivers may lack.
fn least(tier: Tier) -> Setting {
    let options = SimOptions {
        graph_upload: false,
        capture_tail: false,
        free_waits_for_device: true,
        unload_waits_for_device: true,
        updates_per_exec_max: Some(1),
        ..SimOptions::seeded(0x1ea5)
    };
    Setting { options, tier }
}

#[test]
fn every_call_of_a_captured_life_fails_once() {
    every_call_fails_once(&whole(Tier::Captured));
}

#[test]
fn every_call_of_a_built_life_fails_once() {
    every_call_fails_once(&whole(Tier::Built));
}

#[test]
fn every_call_of_a_life_on_the_least_driver_fails_once() {
    every_call_fails_once(&least(Tier::Captured));
}

#[test]
fn every_call_of_a_built_life_on_the_least_driver_fails_once() {
    every_call_fails_once(&least(Tier::Built));
}
