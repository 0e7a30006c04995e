//! Tests of admission: by example, against a plain model, under load in virtual time, and with real threads.

mod controller;
mod fairness;
mod load;
mod model;
mod property;
mod threads;

use std::time::Duration;

use crate::clock::{Clock, Deadline, Tick};
use crate::lifecycle::admission::controller::AdmissionController;
use crate::lifecycle::admission::ledger::DeviceEnvelope;
use crate::lifecycle::admission::request::{AdmissionClass, GrantRequest};
use crate::lifecycle::admission::snapshot::AdmissionCounters;
use crate::lifecycle::config::QueueBounds;

const MIB: u64 = 1 << 20;

/// A device with as many source slots as its attempts use.
fn envelope(ordinal: usize, capacity_bytes: u64, max_active: usize) -> DeviceEnvelope {
    DeviceEnvelope {
        ordinal,
        capacity_bytes,
        default_bytes: capacity_bytes / max_active as u64,
        max_active,
        source_slots: max_active,
        source_slots_per_attempt: 1,
        ..DeviceEnvelope::default()
    }
}

fn bytes(bytes: u64) -> GrantRequest {
    GrantRequest { bytes: Some(bytes), ..GrantRequest::default() }
}

fn class(bytes: u64, class: AdmissionClass) -> GrantRequest {
    GrantRequest { bytes: Some(bytes), class, ..GrantRequest::default() }
}

fn until(request: GrantRequest, deadline: Tick) -> GrantRequest {
    GrantRequest { deadline: Some(Deadline::at(deadline)), ..request }
}

fn bounds() -> QueueBounds {
    QueueBounds::new(1024, Duration::from_secs(3600))
}

fn controller<P: Send>(clock: &Clock, devices: Vec<DeviceEnvelope>) -> AdmissionController<P> {
    AdmissionController::new(clock.clone(), &bounds(), devices).unwrap()
}

fn thorough() -> bool {
    std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|text| text == "1")
}

/// The seeds of one test; `GRAPHREEL_SEED` repeats one.
fn seeds(cases: u64) -> impl Iterator<Item = u64> {
    let seed = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.parse().ok());
    let cases = if seed.is_some() { 1 } else { cases * if thorough() { 50 } else { 1 } };
    (0..cases).map(move |_| seed.unwrap_or_else(|| fastrand::u64(..)))
}

/// Where every request went.
fn assert_sums(counters: AdmissionCounters, waiting: usize, held: usize) {
    let c = counters;
    assert_eq!(c.submitted, c.refused_at_once + c.declined + c.placed_at_once + c.queued_total, "{c:?}");
    let from_queue = c.granted - c.placed_at_once;
    assert_eq!(c.queued_total, from_queue + c.expired + c.cancelled + c.refused_in_queue + waiting as u64, "{c:?}");
    assert_eq!(c.granted, c.released + held as u64, "{c:?}");
}
