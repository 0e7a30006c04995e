//! Numbers that name the parts of one backend. They come from one counter, so no two backends of a process ever share one,
//! also after a close (B-76).

use crate::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Who a backend is. Two are the same backend when all three are equal (B-86).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct GpuBackendCoreIdentity {
    /// The resource core.
    pub resource_core: u64,
    /// The observation core.
    pub observation_core: u64,
    /// The generation of resources.
    pub resource_generation: u64,
}

/// A number that this process has not given before.
pub(crate) fn next_identity() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::thread;
    use std::collections::BTreeSet;

    /// B-76.
    #[test]
    fn no_number_is_given_twice() {
        let threads: Vec<_> =
            (0..4).map(|_| thread::spawn(|| (0..100).map(|_| next_identity()).collect::<Vec<_>>())).collect();
        let given: Vec<u64> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(given.iter().collect::<BTreeSet<_>>().len(), 400);
        assert!(given.iter().all(|number| *number >= 1));
    }
}
