//! How each kind of installed resource is drained: runtimes stop, what lies below them has nothing to stop.

use std::time::Instant;

use crate::lifecycle::context::DeviceContext;
use crate::lifecycle::error::{QueryResult, operation};
use crate::lifecycle::journal::JournaledResource;
use crate::lifecycle::memory::DeviceMemoryManager;
use crate::lifecycle::pool::GpuExecutionPool;
use crate::lifecycle::streams::ServiceStreamPool;

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
    fn close_and_drain_until(&self, _deadline: Instant) -> QueryResult {
        Ok(())
    }
}

impl JournaledResource for DeviceContext {
    fn close_and_drain_until(&self, _deadline: Instant) -> QueryResult {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// B-169: a drained pool is done at once.
    #[test]
    fn a_pool_is_drained_as_a_journal_does() {
        let pool: Box<dyn JournaledResource> = Box::new(GpuExecutionPool::new(usize::MAX, 2).unwrap());
        pool.close_and_drain_until(Instant::now() + Duration::from_secs(20)).unwrap();
        pool.close_and_drain_until(Instant::now()).unwrap();
    }
}
