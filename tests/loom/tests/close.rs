//! Every order of the steps in which requests, handles and a close can meet.

use graphreel_loom::lifecycle::close_model::{self, CloseOrder, PermitOrder};

fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// B-88, B-89, B-90, B-91, XB-13: no permit leaks, an open backend refuses nobody, and nobody has the generation once the
/// count is zero.
#[test]
fn requests_and_a_close() {
    explore(|| close_model::requests_against_a_close(1, CloseOrder::BitThenSlot));
}

/// XB-13, with two requests.
#[test]
fn two_requests_and_a_close() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| close_model::requests_against_a_close(2, CloseOrder::BitThenSlot));
}

/// B-90: emptied before the bit is set, an open backend refuses. This shows that the model would notice.
#[test]
#[should_panic(expected = "an open backend refused")]
fn the_slot_before_the_bit_is_noticed() {
    explore(|| close_model::requests_against_a_close(1, CloseOrder::SlotThenBit));
}

/// B-91.
#[test]
fn a_permit_and_the_wait_for_zero() {
    explore(|| close_model::a_permit_against_the_wait(PermitOrder::GenerationThenCount));
}

/// B-91: with the fields of the permit in the other order, the close meets a second holder. This shows that the model
/// would notice.
#[test]
#[should_panic(expected = "somebody has the generation")]
fn the_count_before_the_generation_is_noticed() {
    explore(|| close_model::a_permit_against_the_wait(PermitOrder::CountThenGeneration));
}

/// B-145.
#[test]
fn one_of_two_closes_sets_the_bit() {
    explore(close_model::two_closes);
}

/// B-88: no wake-up is lost.
#[test]
fn a_sleeper_is_woken() {
    explore(close_model::a_sleeper_is_woken);
}

/// B-88.
#[test]
fn a_sleeper_on_an_open_gate_is_woken() {
    explore(close_model::a_sleeper_on_an_open_gate_is_woken);
}

/// B-80, XB-12.
#[test]
fn the_last_of_several_handles_acts_once() {
    explore(close_model::handles_of_two_threads);
}

/// B-80.
#[test]
fn an_acquisition_and_the_last_drop() {
    explore(close_model::an_acquisition_against_the_last_drop);
}
