//! The close that is awaited, on executors that know nothing of it.

use super::*;

/// The smallest executor: it polls on this thread, and sleeps in between.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park_timeout(LONG),
        }
    }
}

/// XB-19, B-156, B-157.
#[test]
fn a_close_is_awaited_on_any_executor() {
    let pool = Pool::blocked();
    let Parts { coordinator, .. } = unleased(pool.clone());
    let error = block_on(coordinator.wait_async(Duration::from_millis(50))).unwrap_err();
    assert!(is_timeout(&error) && coordinator.snapshot().closing, "{error}");
    let opener = thread::spawn(move || {
        thread::sleep(Duration::from_millis(30));
        pool.gate.set();
    });
    assert!(quiescent(&block_on(coordinator.wait_async(LONG)).unwrap()));
    assert!(quiescent(&pollster::block_on(coordinator.wait_async(LONG)).unwrap()));
    assert!(coordinator.0.thread.lock().is_none(), "B-158");
    opener.join().unwrap();
}

/// XB-19, B-156: not polled, nothing happens.
#[test]
fn a_wait_that_is_never_polled_closes_nothing() {
    let Parts { coordinator, .. } = parts(None);
    drop(coordinator.wait_async(LONG));
    assert!(!coordinator.snapshot().closing);
}

/// XB-19, B-156: dropped on its way, the close goes on, and the wait's thread does not.
#[test]
fn a_wait_that_is_dropped_midway_leaves_the_close_running() {
    let pool = Pool::blocked();
    let Parts { coordinator, .. } = unleased(pool.clone());
    let mut wait = Box::pin(coordinator.wait_async(Duration::from_secs(3600)));
    assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending(), "one thread, one wait");
    assert_eq!(Arc::strong_count(&coordinator.0), 3);
    drop(wait);
    let deadline = Instant::now() + LONG;
    while Arc::strong_count(&coordinator.0) > 1 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(Arc::strong_count(&coordinator.0), 1, "the wait's thread ended, although its timeout is an hour");
    pool.gate.set();
    assert!(quiescent(&coordinator.wait(LONG).unwrap()));
}

/// B-141: the check is made by the thread that polls, before anything is started.
#[test]
fn an_awaited_close_inside_an_observation_callback_changes_nothing() {
    let Parts { coordinator, .. } = parts(None);
    let made_outside = coordinator.wait_async(LONG);
    let guard = enter_observation();
    for wait in
        [Box::pin(made_outside) as std::pin::Pin<Box<dyn Future<Output = _>>>, Box::pin(coordinator.wait_async(LONG))]
    {
        assert_eq!(block_on(wait).unwrap_err().reason(), Some("reentrant_observation_close"));
    }
    assert!(!coordinator.snapshot().closing);
    let made_inside = coordinator.wait_async(LONG);
    drop(guard);
    assert!(quiescent(&block_on(made_inside).unwrap()));
}

/// XB-18, B-154: as with the blocking wait.
#[test]
fn an_awaited_timeout_that_fits_no_deadline_closes_and_answers_at_once() {
    let Parts { lifecycle, coordinator, .. } = parts(None);
    let permit = lifecycle.try_begin_observation().unwrap();
    assert!(is_timeout(&block_on(coordinator.wait_async(Duration::MAX)).unwrap_err()));
    assert!(coordinator.snapshot().closing);
    drop(permit);
}
