//! Attempts and their delivery, in every interleaving of a few steps.

use graphreel_loom::lifecycle::attempts;

/// B-124, B-129, B-130.
#[test]
fn a_report_goes_to_one_place() {
    attempts::a_report_goes_to_one_place();
}

/// QB-16.
#[test]
fn the_last_view_decides() {
    attempts::the_last_view_decides();
}

/// B-122.
#[test]
fn one_terminal_wins() {
    attempts::one_terminal_wins();
}

/// B-104.
#[test]
fn a_grant_is_held_or_comes_back() {
    attempts::a_grant_is_held_or_comes_back();
}

/// B-119, B-120.
#[test]
fn a_counted_begin_is_reported_before_close_is_done() {
    attempts::a_counted_begin_is_reported_before_close_is_done();
}

/// B-143.
#[test]
fn a_lane_does_what_it_was_given() {
    attempts::a_lane_does_what_it_was_given();
}

/// B-137.
#[test]
fn a_detachment_is_no_second_run() {
    attempts::a_detachment_is_no_second_run();
}
