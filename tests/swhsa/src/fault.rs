//! Faults on demand: the next operations of a kind fail as real devices do.

use std::sync::Mutex;

use crate::abi::Status;

/// What can be made to fail. The numbers are those of the control interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// An allocation on the device answers the status.
    DeviceMemory = 0,
    /// An allocation of host memory answers the status.
    HostMemory = 1,
    /// A dispatch ends its queue: the queue's callback gets the status.
    Dispatch = 2,
    /// A copy's completion signal is set below zero, and nothing is copied.
    Copy = 3,
    /// A queue cannot be made.
    Queue = 4,
    /// A signal cannot be made.
    Signal = 5,
    /// A code object is refused.
    Code = 6,
}

impl Kind {
    fn of(number: u32) -> Option<Self> {
        use Kind::{Code, Copy, DeviceMemory, Dispatch, HostMemory, Queue, Signal};
        [DeviceMemory, HostMemory, Dispatch, Copy, Queue, Signal, Code].into_iter().find(|kind| *kind as u32 == number)
    }
}

struct Armed {
    kind: Kind,
    /// How many operations of the kind still go well.
    after: u32,
    /// How many then fail.
    times: u32,
    status: Status,
}

static ARMED: Mutex<Vec<Armed>> = Mutex::new(Vec::new());

fn armed() -> std::sync::MutexGuard<'static, Vec<Armed>> {
    ARMED.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// After `after` more operations of the kind, let `times` fail with `status`. `false` for an unknown kind.
pub(crate) fn arm(kind: u32, after: u32, times: u32, status: Status) -> bool {
    let Some(kind) = Kind::of(kind) else { return false };
    armed().push(Armed { kind, after, times, status });
    true
}

/// Forget all that have not happened; how many there were.
pub(crate) fn clear() -> usize {
    std::mem::take(&mut *armed()).len()
}

/// Whether the operation that is about to happen fails.
pub(crate) fn take(kind: Kind) -> Option<Status> {
    let mut all = armed();
    let at = all.iter().position(|armed| armed.kind == kind)?;
    let armed = &mut all[at];
    if armed.after > 0 {
        armed.after -= 1;
        return None;
    }
    let status = armed.status;
    armed.times = armed.times.saturating_sub(1);
    if armed.times == 0 {
        all.remove(at);
    }
    Some(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_comes_after_its_count_and_as_often_as_asked() {
        assert!(arm(6, 1, 2, Status::INVALID_CODE_OBJECT));
        assert!(!arm(99, 0, 1, Status::ERROR));
        let taken: Vec<bool> = (0..4).map(|_| take(Kind::Code).is_some()).collect();
        assert_eq!(taken, [false, true, true, false]);
    }
}
