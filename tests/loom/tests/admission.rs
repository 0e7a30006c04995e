//! Races for one outcome of admission, every interleaving up to a bound of preemptions.

use graphreel_loom::models::admission;

fn explore(model: fn()) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// L40, B-109, XB-14: delivered or cancelled, never both.
#[test]
fn a_grant_races_with_a_cancel() {
    explore(admission::grant_versus_cancel);
}

/// B-109, B-116, XB-14: what nobody waits for goes to the next.
#[test]
fn a_grant_races_with_the_drop_of_its_future() {
    explore(admission::grant_versus_drop);
}

/// B-109, XB-14: delivered or expired, never both.
#[test]
fn a_grant_races_with_the_deadline() {
    explore(admission::grant_versus_expire);
}

/// B-109.
#[test]
fn a_deadline_races_with_a_cancel() {
    explore(admission::expire_versus_cancel);
}

/// B-109.
#[test]
fn a_request_races_with_its_token() {
    explore(admission::request_versus_cancel);
}

/// B-117.
#[test]
fn a_grant_races_with_a_poll() {
    explore(admission::grant_versus_poll);
}

/// B-112, XB-15.
#[test]
fn a_grant_races_with_a_closure() {
    explore(admission::grant_versus_closure);
}

/// QB-6: what ends admission after all others.
#[test]
fn a_grant_races_with_the_shutdown() {
    explore(admission::grant_versus_shutdown);
}
