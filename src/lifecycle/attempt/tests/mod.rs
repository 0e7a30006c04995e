//! Attempts against a core without devices, and against resources that only pretend.

mod admitted;
mod delivery;
mod fakes;
mod speed;
mod terminal;

use crate::lifecycle::attempt::core::ObservationCore;
use crate::lifecycle::attempt::{activity, binding, completion, ledger, owner, report};
use crate::lifecycle::metrics::store;
use crate::lifecycle::observation::executor::ObservationDispatcher;

#[test]
fn what_threads_share_can_be_shared() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<ObservationCore>();
    shared::<ObservationDispatcher>();
    shared::<owner::AttemptBegin>();
    shared::<binding::AttemptBinding>();
    shared::<completion::AttemptCompletion>();
    shared::<completion::AttemptReady>();
    shared::<report::QueryAttemptReport>();
    shared::<ledger::AttemptCountersSnapshot>();
    shared::<store::BackendMetricsStore>();
    fn sent<T: Send + 'static>() {}
    sent::<activity::QueryActivityLease>();
    sent::<activity::TailLease>();
}
