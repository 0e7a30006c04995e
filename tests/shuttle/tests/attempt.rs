//! Attempts against a close, in many orders of their threads' steps.

use graphreel_shuttle::lifecycle::attempts;

/// B-104, B-119, B-120, B-129, B-143: 2,000 schedules, and 100,000 where full volumes are asked for.
#[test]
fn attempts_meet_a_close() {
    let schedules = if std::env::var_os("GRAPHREEL_THOROUGH").is_some() { 100_000 } else { 2_000 };
    shuttle::check_random(attempts::attempts_meet_a_close, schedules);
}
