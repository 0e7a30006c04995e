//! How each kind of installed resource is drained: runtimes stop, what lies below them has nothing to stop.

use std::time::{Duration, Instant};

use crate::lifecycle::context::DeviceContext;
use crate::lifecycle::error::{QueryError, QueryResult, operation};
use crate::lifecycle::journal::JournaledResource;
use crate::lifecycle::memory::DeviceMemoryManager;
use crate::lifecycle::pool::GpuExecutionPool;
use crate::lifecycle::streams::ServiceStreamPool;
use crate::sync::thread;

/// Between two looks at a device.
const PAUSE: Duration = Duration::from_millis(1);

impl JournaledResource for GpuExecutionPool {
    fn close_and_drain_until(&self, deadline: Instant) -> QueryResult {
        self.close_and_wait_until(deadline)
    }
}

impl JournaledResource for ServiceStreamPool {
    fn close_and_drain_until(&self, deadline: Instant) -> QueryResult {
        self.close_and_wait_until(deadline, operation::CLOSE)
    }
}

impl JournaledResource for DeviceMemoryManager {
    /// The streams are drained before it; what the server runs beside them is waited for here, so that nothing is left when
    /// the claim goes.
    fn close_and_drain_until(&self, deadline: Instant) -> QueryResult {
        while !self.is_idle() {
            if Instant::now() >= deadline {
                return Err(
                    QueryError::cleanup_deadline(operation::CLOSE).with_fact("device_ordinal", self.device_ordinal())
                );
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn release(&self) {
        self.uninstall("its backend has closed; build a new one");
    }
}

impl JournaledResource for DeviceContext {
    fn close_and_drain_until(&self, _deadline: Instant) -> QueryResult {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-169: a drained pool is done at once.
    #[test]
    fn a_pool_is_drained_as_a_journal_does() {
        let pool: Box<dyn JournaledResource> = Box::new(GpuExecutionPool::new(usize::MAX, 2).unwrap());
        pool.close_and_drain_until(Instant::now() + Duration::from_secs(20)).unwrap();
        pool.close_and_drain_until(Instant::now()).unwrap();
    }
}
