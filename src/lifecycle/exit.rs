//! What a live backend does when its process exits: its threads stand still, and nothing is waited for (B-188 to B-192).

use crate::lifecycle::attempt::core::ObservationCore;
use crate::lifecycle::coordinator::CloseCoordinator;
use crate::process::{self, AtExit};
use crate::sync::Arc;

/// The hooks of one backend, kept by what they stop: they are gone with it.
pub(crate) fn register(backend: &str, observation: &Arc<ObservationCore>, coordinator: &CloseCoordinator) {
    // Hooks run in the reverse order: the coordinator first (B-190).
    process::at_exit(backend, process::weak_hook(observation));
    process::at_exit(backend, coordinator.exit_hook());
}

impl AtExit for ObservationCore {
    fn stand_still(&self) -> bool {
        self.detach_for_exit();
        true
    }
}
