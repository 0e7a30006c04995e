//! Whether this process is ending, or is a forked child: from then on the library makes no driver call and no unbounded
//! wait, and destructors leak on purpose. A vendor's runtime may be gone already, or belong to another process.
//!
//! One handler of the C library's `exit` runs for each backend that was opened, before the handlers that the vendor's
//! runtime put there when it was loaded: such handlers run in the reverse order of their registration. Where those would crash,
//! because a thread is inside the driver, or a software driver's own threads still run work, the process ends without them.

use std::ffi::c_int;
use std::time::{Duration, Instant};

use crate::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, Weak, thread};

/// How long an exiting process waits for threads that are inside a driver call, before it ends without the vendor's own
/// handlers: those would tear down what such a thread uses.
const GRACE: Duration = Duration::from_secs(1);

/// The process runs, exits, or was forked off one that had the library open.
static STATE: AtomicU8 = AtomicU8::new(RUNNING);

const RUNNING: u8 = 0;
const EXITING: u8 = 1;
const FORKED: u8 = 2;

/// Calls into a driver that hold no device's lock, such as compiling.
static UNLOCKED_CALLS: AtomicUsize = AtomicUsize::new(0);

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { backends: Vec::new(), hooks: Vec::new() });

struct Registry {
    /// Backends whose handler is registered.
    backends: Vec<String>,
    hooks: Vec<Weak<dyn AtExit>>,
}

/// Something that stands still once the process exits.
pub(crate) trait AtExit: Send + Sync {
    /// Let no thread enter a driver from here on. True once none is inside; called again until the grace is over.
    fn stand_still(&self) -> bool;

    /// Asked once it stands still: whether the driver itself may still run work on threads of this process, which its own
    /// handlers of the exit would take the ground from. No driver call is made to tell.
    fn leaves_work(&self) -> bool {
        false
    }
}

/// Whether process exit has begun, or this is a forked child.
pub(crate) fn is_ending() -> bool {
    STATE.load(Ordering::Acquire) != RUNNING
}

/// Why nothing runs any more; `None` while the process runs.
pub(crate) fn ending_reason() -> Option<&'static str> {
    match STATE.load(Ordering::Acquire) {
        RUNNING => None,
        FORKED => Some("this process was forked from one that had the device open; open devices after the fork"),
        _ => Some("the process is exiting"),
    }
}

/// Run `hook` when the process exits, before those registered earlier. Backends of one name share one handler of the C
/// library, registered after the first of them was opened.
pub(crate) fn at_exit(backend: &str, hook: Weak<dyn AtExit>) {
    let mut registry = REGISTRY.lock();
    if !registry.backends.iter().any(|known| known == backend) {
        registry.backends.push(backend.to_owned());
        native::register();
    }
    let hooks = &mut registry.hooks;
    // What is gone is forgotten now and then, so that opening often costs nothing that stays.
    if hooks.len() == hooks.capacity() {
        hooks.retain(|hook| hook.strong_count() > 0);
    }
    hooks.push(hook);
}

/// A call into a driver without a device's lock, while it lives. `None` once the process is ending.
pub(crate) fn unlocked_call() -> Option<UnlockedCall> {
    UNLOCKED_CALLS.fetch_add(1, Ordering::AcqRel);
    let call = UnlockedCall;
    (!is_ending()).then_some(call)
}

/// See [`unlocked_call`].
pub(crate) struct UnlockedCall;

impl Drop for UnlockedCall {
    fn drop(&mut self) {
        UNLOCKED_CALLS.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What every handler does; whether the vendor's own handlers may follow. Bounded, and the second time at once.
fn begin_exit() -> bool {
    // Of the threads that a forked child seems to have, none is there to be waited for.
    if STATE.fetch_max(EXITING, Ordering::AcqRel) == FORKED {
        return true;
    }
    let until = Instant::now() + GRACE;
    let mut hooks = loop {
        // Whoever holds the registry is about to let go of it; a thread that died with it does not.
        match REGISTRY.try_lock() {
            Some(mut registry) => break std::mem::take(&mut registry.hooks),
            None if Instant::now() >= until => return false,
            None => thread::sleep(Duration::from_millis(1)),
        }
    };
    let mut leaves_work = false;
    while let Some(hook) = hooks.pop() {
        let Some(hook) = hook.upgrade() else { continue };
        while !stands_still(&*hook) {
            if Instant::now() >= until {
                std::mem::forget(hook);
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
        leaves_work |= hook.leaves_work();
        // Its drop would be the device's.
        std::mem::forget(hook);
    }
    while UNLOCKED_CALLS.load(Ordering::Acquire) > 0 {
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    !leaves_work
}

/// A panic in a handler would abort the process that only wants to end.
fn stands_still(hook: &dyn AtExit) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| hook.stand_still())).unwrap_or(true)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod native {
    use std::ffi::c_void;

    use super::{FORKED, Ordering, STATE, begin_exit, c_int};

    #[expect(unsafe_code, reason = "the libc crate does not declare it")]
    // SAFETY: as glibc's stdlib.h declares it.
    unsafe extern "C" {
        fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }

    /// The status is known here, so that a process whose driver hangs can still end with it.
    extern "C" fn exiting(status: c_int, _: *mut c_void) {
        if !begin_exit() {
            end_now(status);
        }
    }

    extern "C" fn in_child() {
        STATE.store(FORKED, Ordering::Release);
    }

    #[expect(unsafe_code, reason = "the C library ends a process without its handlers through this alone")]
    fn end_now(status: c_int) {
        // SAFETY: `_exit` has no precondition and does not return.
        unsafe { libc::_exit(status) }
    }

    #[expect(unsafe_code, reason = "only the C library tells of an exit and of a fork")]
    pub(super) fn register() {
        // SAFETY: the function is of the type asked for, lives as long as the process, and takes no argument from us. A
        // refusal (no memory) leaves the process without the handler, as if the library were not there.
        let _ = unsafe { on_exit(exiting, std::ptr::null_mut()) };
        // SAFETY: the function stores into one atomic, which is allowed in a forked child.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod native {
    use super::begin_exit;

    extern "C" fn at_exit() {
        // The status is not known here; the vendor's handlers have to follow in either case.
        let _ = begin_exit();
    }

    #[cfg(unix)]
    extern "C" fn in_child() {
        super::STATE.store(super::FORKED, super::Ordering::Release);
    }

    #[expect(unsafe_code, reason = "only the C library tells of an exit and of a fork")]
    pub(super) fn register() {
        // SAFETY: the function is of the type asked for and lives as long as the process. A refusal (no memory) leaves the
        // process without the handler, as if the library were not there.
        let _ = unsafe { libc::atexit(at_exit) };
        #[cfg(unix)]
        // SAFETY: the function stores into one atomic, which is allowed in a forked child.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    }
}

/// A hook that is kept alive with what it stops.
pub(crate) fn weak_hook<T: AtExit + 'static>(hook: &Arc<T>) -> Weak<dyn AtExit> {
    let weak: Weak<T> = Arc::downgrade(hook);
    weak
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unlocked_call_is_counted_while_it_lives() {
        let before = UNLOCKED_CALLS.load(Ordering::Acquire);
        let call = unlocked_call().expect("the process runs");
        assert!(UNLOCKED_CALLS.load(Ordering::Acquire) > before);
        drop(call);
        assert_eq!((is_ending(), ending_reason()), (false, None));
    }
}
