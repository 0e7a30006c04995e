//! Running one future on the thread that owns it: the thread sleeps between polls, and a wake that comes early is kept.

use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

use crate::sync::{Arc, Condvar, Mutex};

/// Where a thread sleeps until its future can go on.
#[derive(Debug, Default)]
struct Parker {
    woken: Mutex<bool>,
    changed: Condvar,
}

impl Parker {
    fn park(&self) {
        let mut woken = self.woken.lock();
        while !*woken {
            woken = self.changed.wait(woken);
        }
        *woken = false;
    }
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        *self.woken.lock() = true;
        self.changed.notify_one();
    }
}

/// Poll `future` on this thread until it is over. A future that is never woken keeps its thread.
#[cfg_attr(not(feature = "test-hooks"), expect(unreachable_pub, reason = "a model checker reaches it by path"))]
pub fn block_on<F: Future + ?Sized>(mut future: Pin<&mut F>) -> F::Output {
    let parker = Arc::new(Parker::default());
    let waker = Waker::from(parker.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => parker.park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    /// B-167: a wake from inside the poll, before the thread sleeps, is not lost.
    #[test]
    fn a_wake_that_comes_first_is_kept() {
        let mut polls = 0;
        let future = std::future::poll_fn(|context| {
            polls += 1;
            context.waker().wake_by_ref();
            if polls == 3 { Poll::Ready(7) } else { Poll::Pending }
        });
        assert_eq!(block_on(pin!(future)), 7);
        assert_eq!(polls, 3);
    }
}
