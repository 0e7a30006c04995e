//! Streams and events: what runs after what, and what an event stands for.

use std::time::Duration;

use graphreel::error::{DriverErrorKind, FaultClass};
use graphreel::graph::{Driver, DriverResult};

use super::Rig;
use super::kernels::PUSH;
use super::rig::whole;
use crate::kernels::INC;

/// Both: work of one stream runs in the order in which it was given.
pub fn a_streams_work_runs_in_order<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (slow, inc) = (rig.slow()?, rig.code(INC)?);
    let (x, first, second) = (rig.words(&[0; 70])?, rig.words(&[0; 70])?, rig.words(&[0; 70])?);
    let params = inc.params(&[whole(&x)], &[]);
    slow.on(&rig.a)?;
    rig.fill(&x, 5, &rig.a)?;
    rig.launch(&inc, [1; 3], &params, &rig.a)?;
    rig.copy(&first, &x, &rig.a)?;
    rig.launch(&inc, [2, 1, 1], &params, &rig.a)?;
    rig.fill(&second, 1, &rig.a)?;
    rig.copy(&second, &x, &rig.a)?;
    rig.fill(&x, 9, &rig.a)?;
    assert_eq!(rig.read(&first)?, [6; 70]);
    assert_eq!(rig.read(&second)?, [7; 70]);
    assert_eq!(rig.read(&x)?, [9; 70]);
    Ok(())
}

/// Both: work given after a wait runs once the work before the record is done.
pub fn an_event_orders_two_streams<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (slow, push) = (rig.slow()?, rig.code(PUSH)?);
    let (log, event) = (rig.words(&[0; 41])?, rig.event()?);
    // The streams take turns at a log that loses entries and order when two of them overlap.
    for turn in 0..20u32 {
        let (one, other) = if turn % 2 == 0 { (&rig.a, &rig.b) } else { (&rig.b, &rig.a) };
        if turn % 5 == 0 {
            slow.on(one)?;
        }
        for value in [2 * turn, 2 * turn + 1] {
            rig.launch(&push, [1; 3], &push.params(&[whole(&log)], &[value.into()]), one)?;
        }
        rig.driver().event_record(&event, one)?;
        rig.driver().stream_wait_event(other, &event)?;
    }
    let log = rig.read(&log)?;
    assert_eq!((log[0], &log[1..]), (40, &*(0..40).collect::<Vec<u32>>()));
    Ok(())
}

/// Both: an event that was never recorded is passed, and a wait for it does not wait.
pub fn an_event_that_was_never_recorded_holds_nobody<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (event, x) = (rig.event()?, rig.words(&[0])?);
    assert!(rig.driver().event_query(&event)?);
    rig.driver().stream_wait_event(&rig.a, &event)?;
    rig.fill(&x, 3, &rig.a)?;
    assert_eq!(rig.read(&x)?, [3]);
    Ok(())
}

/// Both: a wait is for the record at the time of its call; a later record does not move it.
pub fn a_wait_is_for_the_record_before_it<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let driver = rig.driver();
    let (slow, x, y) = (rig.slow()?, rig.words(&[0])?, rig.words(&[0])?);
    let (moved, back) = (rig.event()?, rig.event()?);
    slow.on(&rig.a)?;
    rig.fill(&x, 1, &rig.a)?;
    driver.event_record(&moved, &rig.a)?;
    driver.stream_wait_event(&rig.b, &moved)?;
    rig.copy(&y, &x, &rig.b)?;
    driver.event_record(&back, &rig.b)?;
    // If the wait above followed the event to its next record, each stream would wait for the other for ever.
    driver.stream_wait_event(&rig.a, &back)?;
    slow.on(&rig.a)?;
    rig.fill(&x, 2, &rig.a)?;
    driver.event_record(&moved, &rig.a)?;
    assert_eq!((rig.read(&x)?, rig.read(&y)?), (vec![2], vec![1]));
    Ok(())
}

/// Both: an event answers for its last record, whatever it stood for before.
pub fn an_event_stands_for_its_last_record<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (slow, x, event) = (rig.slow()?, rig.words(&[0])?, rig.event()?);
    for turn in 1..=10 {
        slow.on(&rig.a)?;
        rig.fill(&x, turn, &rig.a)?;
        rig.driver().event_record(&event, &rig.a)?;
        rig.wait(&event)?;
        assert_eq!(rig.peek(&x)?, [turn], "the event was passed before its work was done");
        assert!(rig.driver().event_query(&event)?, "an event that is passed stays so");
    }
    Ok(())
}

/// Both: destroying a pending event is allowed, and who waits for it still does.
pub fn a_pending_event_may_be_destroyed<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (slow, x, y) = (rig.slow()?, rig.words(&[0])?, rig.words(&[0])?);
    for turn in 1..=5 {
        let event = rig.event()?;
        slow.on(&rig.a)?;
        rig.fill(&x, turn, &rig.a)?;
        rig.driver().event_record(&event, &rig.a)?;
        rig.driver().stream_wait_event(&rig.b, &event)?;
        event.destroy_at_once()?;
        rig.copy(&y, &x, &rig.b)?;
        assert_eq!(rig.read(&y)?, [turn]);
    }
    Ok(())
}

/// Both: asking an event is allowed on any thread, beside other calls.
pub fn an_event_can_be_asked_from_any_thread<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (slow, x, event) = (rig.slow()?, rig.words(&[0])?, rig.event()?);
    slow.on(&rig.a)?;
    rig.fill(&x, 4, &rig.a)?;
    rig.driver().event_record(&event, &rig.a)?;
    let seen = rig.on_thread(|| {
        rig.wait(&event)?;
        rig.peek(&x)
    })?;
    assert_eq!(seen, [4]);
    assert!(rig.driver().event_query(&event)?, "what one thread has seen holds for the others");
    Ok(())
}

/// Both: the time between two passed events is at the device, so times add up.
pub fn times_between_events_add_up<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let driver = rig.driver();
    let slow = rig.slow()?;
    let events = [rig.timed_event()?, rig.timed_event()?, rig.timed_event()?];
    for event in &events {
        driver.event_record(event, &rig.a)?;
        slow.on(&rig.a)?;
    }
    rig.drain();
    let [first, second, third] = &events;
    let parts = driver.event_elapsed(first, second)? + driver.event_elapsed(second, third)?;
    let all = driver.event_elapsed(first, third)?;
    // Three figures, each rounded to the resolution and told as a 32-bit number of milliseconds.
    assert!(all > Duration::ZERO, "work takes time");
    let slack = Duration::from_nanos(4 * u64::from(driver.caps().event_resolution_ns)) + all / 1_000_000;
    assert!(parts.abs_diff(all) <= slack, "{parts:?} in parts, {all:?} at once");
    Ok(())
}

/// Both: the time of a pending event is "not ready", which is no failure of anything else.
pub fn a_pending_time_is_not_ready<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (slow, from, to) = (rig.slow()?, rig.timed_event()?, rig.timed_event()?);
    rig.driver().event_record(&from, &rig.a)?;
    slow.on(&rig.a)?;
    rig.driver().event_record(&to, &rig.a)?;
    // The work may be done by now, which is why a time is as good an answer.
    if let Err(error) = rig.driver().event_elapsed(&from, &to) {
        assert_eq!((error.kind, error.class), (DriverErrorKind::NotReady, FaultClass::CallLocal), "{error}");
    }
    rig.drain();
    rig.driver().event_elapsed(&from, &to)?;
    Ok(())
}
