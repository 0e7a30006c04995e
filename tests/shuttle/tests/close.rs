//! Closes in many orders of their threads' steps.

use graphreel_shuttle::lifecycle::close_model;

/// 2,000 schedules, and 100,000 where full volumes are asked for.
fn explore(model: impl Fn() + Sync + Send + 'static) {
    let schedules = if std::env::var_os("GRAPHREEL_THOROUGH").is_some() { 100_000 } else { 2_000 };
    shuttle::check_random(model, schedules);
}

/// XB-13, B-90, B-91, B-148, B-151.
#[test]
fn waiters_and_requests_meet_a_close() {
    explore(close_model::waiters_and_requests);
}

/// XB-12, B-78, B-80.
#[test]
fn the_last_handle_closes_once() {
    explore(close_model::the_last_handle);
}

/// B-149, B-150, B-164.
#[test]
fn a_drain_goes_on_in_slices() {
    explore(close_model::a_slow_drain);
}

/// XB-9, B-152.
#[test]
fn a_broken_drain_keeps_the_lease() {
    explore(close_model::a_broken_drain);
}

/// B-189, B-191.
#[test]
fn no_step_follows_an_exit() {
    explore(close_model::an_exit);
}

/// XB-19, XB-20, B-156.
#[test]
fn an_abandoned_wait_ends() {
    explore(close_model::an_abandoned_wait);
}

/// B-68, B-148.
#[test]
fn a_builder_is_waited_for() {
    explore(close_model::a_builder_that_still_installs);
}
