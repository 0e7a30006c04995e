//! The end of a device: what it made is destroyed once its work is done, and nobody waits for that.

use std::time::{Duration, Instant};

use super::driver::Driver;
use super::lanes::Lanes;
use super::pages::Pages;
use super::reclaim::Reclaim;
use super::shared::Shared;
use super::staging::Staging;
use crate::process;
use crate::sync::{Arc, thread};

/// How long work that never ends is waited for before everything is left to the end of the process.
const GIVE_UP_AFTER: Duration = Duration::from_secs(600);

/// Pauses between looks.
const PAUSE_MIN: Duration = Duration::from_micros(50);
const PAUSE_MAX: Duration = Duration::from_millis(5);

/// How a closing device's work went.
enum Waited {
    /// It is done; an exit of the process waits for what is destroyed now.
    Done(process::UnlockedCall),
    /// It never ended.
    InVain,
    /// The process ends.
    Ending,
}

/// What is left of a server.
pub(super) struct Closing<D: Driver> {
    pub(super) lanes: Lanes<D>,
    pub(super) pages: Pages<D>,
    pub(super) staging: Staging<D>,
    pub(super) reclaim: Reclaim<D>,
    pub(super) shared: Arc<Shared<D>>,
}

impl<D: Driver> Closing<D> {
    /// Destroy everything, here if no work is in flight, else on a thread.
    pub(super) fn run(mut self) {
        if self.is_done() {
            return self.destroy();
        }
        // The thread takes it out; where no thread starts, it stays here and is leaked with a word.
        let slot = Arc::new(crate::sync::Mutex::new(Some(self)));
        let taken = slot.clone();
        let closer = move || {
            let Some(mut closing) = taken.lock().take() else { return };
            match closing.wait() {
                Waited::Done(_call) => closing.destroy(),
                Waited::InVain => {
                    tracing::warn!("work of a closed device never ended; its memory is left to the end of the process");
                    std::mem::forget(closing);
                }
                // The vendor's runtime may be on its way out.
                Waited::Ending => std::mem::forget(closing),
            }
        };
        if let Err(error) = thread::Builder::new().name("graphreel-closer".to_owned()).spawn(closer) {
            tracing::warn!(%error, "no thread to close a device; its memory is left to the end of the process");
            std::mem::forget(slot.lock().take());
        }
    }

    /// Each look is one that an exit of the process waits for, and none begins after it.
    fn wait(&mut self) -> Waited {
        let started = Instant::now();
        while started.elapsed() < GIVE_UP_AFTER {
            let Some(call) = process::unlocked_call() else { return Waited::Ending };
            if self.is_done() {
                return Waited::Done(call);
            }
            drop(call);
            thread::sleep((started.elapsed() / 16).clamp(PAUSE_MIN, PAUSE_MAX));
        }
        Waited::InVain
    }

    /// Whether no work is in flight. A lost device whose driver still answers may have some; one that does not has none that
    /// could be waited for.
    fn is_done(&mut self) -> bool {
        let Ok(_bound) = self.shared.bind() else { return self.shared.monitor().lost().is_some() };
        // Only a loss fails it: what else does is met again at the next look.
        self.lanes.is_idle().unwrap_or(true)
    }

    fn destroy(mut self) {
        let Ok(bound) = self.shared.bind().or_else(|_| self.shared.bind()) else {
            tracing::warn!("a closed device took no thread; its memory is left to the end of the process");
            return std::mem::forget(self);
        };
        self.staging.trim(&mut self.lanes, &mut self.reclaim);
        self.reclaim.destroy_all();
        self.reclaim.adopt_orphans(&mut self.lanes);
        self.pages.destroy(&mut self.lanes, &mut self.reclaim);
        self.reclaim.destroy_all();
        self.lanes.destroy();
        self.shared.close();
        drop(bound);
    }
}
