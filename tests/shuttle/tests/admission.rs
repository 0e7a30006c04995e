//! Admission as a whole under random schedules: 2,000, a hundred thousand with `GRAPHREEL_THOROUGH=1`.

use graphreel_shuttle::models::admission;

/// XB-14, XB-15, B-109, B-112.
#[test]
fn each_request_has_one_outcome_whatever_happens_meanwhile() {
    let thorough = std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|text| text == "1");
    let schedules = if thorough { 100_000 } else { 2_000 };
    shuttle::check_random(admission::producers_cancels_closure_and_shutdown, schedules);
}
