//! Hears of a device's loss the moment it is known, without a thread, and closes its ledger: later requests are refused
//! without a driver call, and other devices stay eligible.
//!
//! Whoever finds the loss has the device's lock. So the ledger closes at once, and those who wait, whose wakers are callers'
//! code, hear of it on a worker of the device.

use std::task::{Wake, Waker};

use crate::lifecycle::admission::DeviceClosure;
use crate::lifecycle::pool::PoolJob;
use crate::lifecycle::service::BackendService;
use crate::lifecycle::standing;
use crate::sync::{Arc, Weak};

/// Watch every device of `service` for its loss.
pub(crate) fn losses(service: &Arc<BackendService>) {
    for device in &service.devices {
        let watch = Arc::new(LossWatch { service: Arc::downgrade(service), ordinal: device.ordinal() });
        if device.device().wake_when_lost(&Waker::from(watch.clone())) {
            watch.lost();
        }
    }
}

struct LossWatch {
    service: Weak<BackendService>,
    ordinal: usize,
}

impl LossWatch {
    fn lost(&self) {
        let Some(service) = self.service.upgrade() else { return };
        let Some(device) = service.device(self.ordinal) else { return };
        let lost = device.device().lost();
        let reason = lost.map_or_else(|| "the device was lost".to_owned(), |error| error.to_string());
        standing::declare_unhealthy(service.kind, self.ordinal, &reason);
        tracing::error!(device_ordinal = self.ordinal, reason, "a device's ledger closes after its loss");
        let closed = service.admission.close_device_quietly(self.ordinal, DeviceClosure::Faulted { reason });
        let Some(undelivered) = closed.filter(|undelivered| !undelivered.is_empty()) else { return };
        // Requests that wait hold the pool open. Should it refuse all the same, they hear of it here.
        if let Err(error) = device.pool.spawn(PoolJob::Cleanup, async move { drop(undelivered) }) {
            tracing::error!(%error, "no worker to tell those who wait for a lost device");
        }
    }
}

impl Wake for LossWatch {
    fn wake(self: Arc<Self>) {
        self.lost();
    }
}
