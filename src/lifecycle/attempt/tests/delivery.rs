//! Where a report goes: receiver, queue, overflow, or nowhere.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::fakes::{LONG, begin, core, core_with};
use crate::clock::Clock;
use crate::lifecycle::attempt::core::ObservationCore;
use crate::lifecycle::attempt::report::AttemptOutcome;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, thread};

/// An attempt whose receiver goes before its owner.
fn abandon(core: &Arc<ObservationCore>) {
    let begun = begin(core);
    drop(begun.completion);
    drop(begun.owner);
}

/// TB-24; B-127.
#[test]
fn a_report_without_a_receiver_goes_to_the_queue() {
    let core = core_with(&Clock::system(), Some(2));
    let begun = begin(&core);
    drop(begun.completion);
    begun.owner.commit_terminal(AttemptOutcome::Dropped).unwrap();
    drop(begun.owner);
    let reports = core.take_abandoned_attempt_reports(8);
    assert_eq!(reports.iter().map(|report| report.outcome).collect::<Vec<_>>(), [AttemptOutcome::Dropped]);
    let counters = core.counters_snapshot();
    assert_eq!((counters.completion_queue_pushed, counters.completion_queue_overflowed), (1, 0));
    assert!(core.take_abandoned_attempt_reports(8).is_empty());
}

/// XB-16; B-128, B-129, B-130, QB-8: the newest is dropped and counted, and room that is made is used again.
#[test]
fn an_overflow_is_bounded_and_counted() {
    let core = core_with(&Clock::system(), Some(2));
    (0..5).for_each(|_| abandon(&core));
    let received = begin(&core);
    received.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    let ids =
        |max| -> Vec<u64> { core.take_abandoned_attempt_reports(max).iter().map(|report| report.attempt_id).collect() };
    assert_eq!((ids(0), ids(1)), (vec![], vec![1]));
    (0..2).for_each(|_| abandon(&core));
    assert_eq!(ids(usize::MAX), [2, 7]);
    let counters = core.counters_snapshot();
    assert_eq!((counters.attempts_begun, counters.reports_ready), (8, 8));
    assert_eq!((counters.completion_queue_pushed, counters.completion_queue_overflowed), (3, 4));
    assert_eq!(counters.reports_discarded, 0);
}

/// B-37, B-127, QB-18: none and zero are no queue.
#[test]
fn without_a_queue_an_abandoned_report_is_discarded() {
    for capacity in [None, Some(0)] {
        let core = core_with(&Clock::system(), capacity);
        abandon(&core);
        assert!(core.take_abandoned_attempt_reports(8).is_empty());
        let counters = core.counters_snapshot();
        assert_eq!((counters.reports_ready, counters.reports_discarded), (1, 1));
        assert_eq!((counters.completion_queue_pushed, counters.completion_queue_overflowed), (0, 0));
    }
}

/// QB-16: a view alone is a receiver.
#[test]
fn a_report_is_abandoned_once_receiver_and_views_are_gone() {
    let core = core_with(&Clock::system(), Some(4));
    let (seen, lost) = (begin(&core), begin(&core));
    let view = seen.completion.completion();
    let future = view.ready();
    drop((seen.completion, view));
    drop(lost.completion.completion());
    drop(lost.completion);
    seen.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    lost.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    assert_eq!(pollster::block_on(future).attempt_id, 1);
    let abandoned = core.take_abandoned_attempt_reports(8);
    assert_eq!(abandoned.iter().map(|report| report.attempt_id).collect::<Vec<_>>(), [2]);
}

/// B-131: on any executor, and from any thread.
#[test]
fn a_report_can_be_awaited() {
    let core = core();
    let begun = begin(&core);
    let waiters: Vec<_> = (0..4)
        .map(|at| {
            let view = begun.completion.completion();
            thread::spawn(move || match at % 2 {
                0 => pollster::block_on(view.ready()).outcome,
                _ => view.wait_timeout(LONG).unwrap().outcome,
            })
        })
        .collect();
    begun.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    for waiter in waiters {
        assert_eq!(waiter.join().unwrap(), AttemptOutcome::Succeeded);
    }
}

/// B-129: a receiver that lets go either has the report or leaves it to the queue.
#[test]
fn letting_go_loses_no_report() {
    let core = core_with(&Clock::system(), Some(4));
    let (early, late) = (begin(&core), begin(&core));
    assert!(early.completion.into_report().is_none());
    for owner in [early.owner, late.owner] {
        owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    }
    assert_eq!(late.completion.into_report().unwrap().attempt_id, 2);
    let abandoned = core.take_abandoned_attempt_reports(8);
    assert_eq!(abandoned.iter().map(|report| report.attempt_id).collect::<Vec<_>>(), [1]);
}

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// B-131: a future wakes its last waker alone, and one that was dropped wakes nobody.
#[test]
fn a_future_wakes_its_last_waker() {
    let core = core();
    let begun = begin(&core);
    let counts: [Arc<Count>; 3] = [(); 3].map(|()| Arc::new(Count(AtomicUsize::new(0))));
    let [first, second, gone] = counts.each_ref().map(|count| Waker::from(count.clone()));
    let mut future = pin!(begun.completion.completion().ready());
    for waker in [&first, &second] {
        assert!(future.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
    }
    {
        let mut dropped = pin!(begun.completion.completion().ready());
        assert!(dropped.as_mut().poll(&mut Context::from_waker(&gone)).is_pending());
    }
    begun.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    assert_eq!(counts.map(|count| count.0.load(Ordering::Relaxed)), [0, 1, 0]);
    assert!(matches!(future.as_mut().poll(&mut Context::from_waker(&first)), Poll::Ready(_)));
}

/// B-131: no wait is without a bound.
#[test]
fn a_wait_ends_at_its_timeout() {
    let core = core();
    let begun = begin(&core);
    for timeout in [Duration::ZERO, Duration::from_millis(2), Duration::MAX] {
        assert!(begun.completion.wait_timeout(timeout).is_none());
    }
}
