//! Hears of a device's loss the moment it is known, without a thread, and closes its ledger: later requests are refused
//! without a driver call, and other devices stay eligible.

use std::task::{Wake, Waker};

use crate::lifecycle::admission::DeviceClosure;
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
        let lost = service.device(self.ordinal).and_then(|device| device.device().lost());
        let reason = lost.map_or_else(|| "the device was lost".to_owned(), |error| error.to_string());
        standing::declare_unhealthy(service.kind, self.ordinal, &reason);
        tracing::error!(device_ordinal = self.ordinal, reason, "a device's ledger closes after its loss");
        let one_way = standing::is_one_way(service.kind);
        if let Err(error) =
            service.admission.close_device(self.ordinal, DeviceClosure::Faulted { reason: reason.clone() })
        {
            tracing::error!(%error, one_way, "the ledger of a lost device could not be closed");
        }
    }
}

impl Wake for LossWatch {
    fn wake(self: Arc<Self>) {
        self.lost();
    }
}
