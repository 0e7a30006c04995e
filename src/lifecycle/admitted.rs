//! What an admitted attempt has of its device: a grant with its account, exclusive streams, a lane, graphs. All of it goes
//! when the attempt ends, whoever still holds a handle, and the grant goes once the device is through with it.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use crate::Device;
use crate::clock::Tick;
use crate::device::ATTEMPT_ENDED;
use crate::error::ServerError;
use crate::lifecycle::admission::DeviceClosure;
use crate::lifecycle::admission::grant::Grant;
use crate::lifecycle::attempt::resources::{AttemptEnd, AttemptResources, ReleaseDone, ReleaseReport};
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, native_error, operation};
use crate::lifecycle::lanes::Lane;
use crate::lifecycle::pool::PoolJob;
use crate::lifecycle::resource::GpuResourcePermit;
use crate::lifecycle::service::DeviceService;
use crate::lifecycle::streams::{RevokedStreams, StreamSet};
use crate::memory::Account;
use crate::process;
use crate::stream::StreamId;
use crate::sync::{Arc, Mutex, thread};

/// Pauses between looks at whether the device is through.
const PAUSE_MIN: Duration = Duration::from_micros(20);
const PAUSE_MAX: Duration = Duration::from_millis(5);

/// An admitted attempt on its device. Handles share it and keep nothing alive through it.
pub(crate) struct Admitted {
    attempt: u64,
    ordinal: usize,
    bytes: u64,
    state: Mutex<Option<Live>>,
}

/// In the order in which they are given back: the device's things, the grant, the permit (B-102).
struct Live {
    streams: StreamSet,
    account: Account,
    lane: Lane,
    context_taken: bool,
    /// When the first context was had: without one nothing was asked of the device.
    used_since: Option<Used>,
    device: Arc<DeviceService>,
    grant: Grant,
    gpu: GpuResourcePermit,
}

/// An attempt's first context.
#[derive(Clone, Copy)]
struct Used {
    since: Tick,
    /// Calls on the streams of everybody that the device had by then.
    shared_calls: u64,
}

/// What a context works with. None of it keeps the device installed: a context may be kept beyond its attempt.
#[derive(Clone, Debug)]
pub(crate) struct Means {
    pub(crate) device: Device,
    /// The root first.
    pub(crate) streams: Vec<StreamId>,
    pub(crate) account: Account,
    pub(crate) lane: usize,
}

impl Admitted {
    /// Take streams and a lane of the device that `grant` is on.
    ///
    /// # Errors
    ///
    /// What the device lacks although its ledger granted it, with the permit and the grant to be given back.
    #[expect(clippy::result_large_err, reason = "both parts go back to the caller, in their order")]
    pub(crate) fn install(
        attempt: u64,
        gpu: GpuResourcePermit,
        grant: Grant,
    ) -> Result<Arc<Self>, (QueryError, GpuResourcePermit, Grant)> {
        let parts = Self::parts(&gpu, &grant);
        let (device, streams, lane) = match parts {
            Ok(parts) => parts,
            Err(error) => return Err((error, gpu, grant)),
        };
        let (ordinal, bytes) = (grant.ordinal(), grant.bytes());
        let live = Live {
            streams,
            account: Account::granted(&format!("attempt {attempt}"), Some(bytes)),
            lane,
            context_taken: false,
            used_since: None,
            device,
            grant,
            gpu,
        };
        Ok(Arc::new(Self { attempt, ordinal, bytes, state: Mutex::new(Some(live)) }))
    }

    fn parts(gpu: &GpuResourcePermit, grant: &Grant) -> QueryResult<(Arc<DeviceService>, StreamSet, Lane)> {
        let service = gpu.generation().published()?;
        let ordinal = grant.ordinal();
        let device = service.device(ordinal).cloned().ok_or_else(|| lacking(ordinal, "the device itself"))?;
        if let Some(lost) = device.device().lost() {
            let context = format!("device {ordinal} was lost before the attempt could begin");
            return Err(native_error(operation::ADMISSION, &context, &lost).with_reason("device_lost"));
        }
        let streams = device.streams.checkout(NonZeroUsize::MIN.saturating_add(device.auxiliary_streams))?;
        let lane = device.lanes.lease().ok_or_else(|| lacking(ordinal, "an execution lane"))?;
        Ok((device, streams, lane))
    }

    /// Take everything back of an attempt that was never attached: the permit and the grant are the caller's again.
    pub(crate) fn uninstall(&self) -> (GpuResourcePermit, Grant) {
        let live = self.state.lock().take().expect("nothing else ends an attempt that was not attached");
        let Live { streams, gpu, grant, .. } = live;
        streams.give_back_unused();
        (gpu, grant)
    }

    pub(crate) fn attempt(&self) -> u64 {
        self.attempt
    }

    pub(crate) fn ordinal(&self) -> usize {
        self.ordinal
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the attempt has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.state.lock().is_none()
    }

    /// Take the attempt's one context (B-115).
    ///
    /// # Errors
    ///
    /// `backend_closing` once the attempt has ended, `context_in_use` while it is taken.
    pub(crate) fn take_context(&self) -> QueryResult<Means> {
        let mut state = self.state.lock();
        let live = state.as_mut().ok_or_else(|| over(self.attempt))?;
        if live.context_taken {
            let message = format!("the context of attempt {} is in use; drop it before another one", self.attempt);
            let error = QueryError::new(QueryErrorCode::Internal, operation::ATTEMPT, message);
            return Err(error.with_reason("context_in_use").with_fact("device_ordinal", self.ordinal));
        }
        live.context_taken = true;
        let device = live.device.device();
        live.used_since
            .get_or_insert_with(|| Used { since: device.clock().now(), shared_calls: device.shared_calls() });
        Ok(Means {
            device: live.device.device().clone(),
            streams: live.streams.ids().collect(),
            account: live.account.clone(),
            lane: live.lane.index(),
        })
    }

    /// The device's services while the attempt lasts.
    ///
    /// # Errors
    ///
    /// `backend_closing` once it has ended.
    pub(crate) fn device(&self) -> QueryResult<Arc<DeviceService>> {
        let state = self.state.lock();
        state.as_ref().map(|live| live.device.clone()).ok_or_else(|| over(self.attempt))
    }

    /// The context came back: a window that it left open is aborted on a lifecycle worker (B-115, B-205).
    pub(crate) fn return_context(self: &Arc<Self>) {
        let parts = self.state.lock().as_ref().map(|live| (live.device.pool.clone(), live.streams.window_abort()));
        let Some((pool, windows)) = parts else { return };
        let admitted = self.clone();
        let cleanup = async move {
            windows.run();
            if let Some(live) = admitted.state.lock().as_mut() {
                live.context_taken = false;
            }
        };
        if let Err(error) = pool.spawn(PoolJob::Cleanup, cleanup) {
            tracing::warn!(%error, "the cleanup of a context found no worker; the end of its attempt does it");
        }
    }
}

/// How the wait for the device ended.
enum Drained {
    /// Nothing was asked of the device.
    Unused,
    /// Nothing of the attempt runs any more.
    Yes(RevokedStreams),
    Lost(ServerError),
    /// The process is ending, and nobody waits any more.
    Leaked,
}

impl Live {
    /// Give everything of the device back and wait until it is through. Blocks, on a lifecycle worker.
    fn release(self) -> ReleaseReport {
        let drained = self.used_since.map_or(Drained::Unused, |used| self.drain(used));
        let worked = |used: Used| self.device.device().clock().now().0.saturating_sub(used.since.0);
        let mut report = ReleaseReport {
            device_ordinal: Some(self.device.ordinal()),
            granted_bytes: self.grant.bytes(),
            native_work: self.used_since.is_some(),
            physical_execution: self.used_since.map_or(Duration::ZERO, worked),
            error: None,
        };
        let (error, revoked) = match drained {
            Drained::Leaked => {
                // The process is ending: what the device still does, it does to memory that is not given back.
                std::mem::forget(self);
                return report;
            }
            Drained::Unused => (None, None),
            Drained::Yes(revoked) => (revoked.failure(), Some(revoked)),
            Drained::Lost(lost) => (Some(lost), None),
        };
        report.error = error.map(|error| {
            let context = format!("device {}: work of the attempt failed", self.device.ordinal());
            let reason = if error.is_device_lost() { "device_lost" } else { "native_failure" };
            native_error(operation::ATTEMPT, &context, &error).with_reason(reason)
        });
        if let Some(error) = report.error.as_ref().filter(|_| revoked.is_some()) {
            self.close_ledger(error);
        }
        let Self { streams, account, lane, device, grant, gpu, .. } = self;
        drop(account);
        match revoked {
            Some(revoked) => streams.give_back_revoked(revoked),
            None if !report.native_work => streams.give_back_unused(),
            None => drop(streams),
        }
        drop((lane, device));
        drop(grant);
        drop(gpu);
        report
    }

    /// A stream of the device that is there could not be waited for: it is out of use, and the device has too few for what its
    /// ledger may grant, so nothing more is admitted to it.
    fn close_ledger(&self, error: &QueryError) {
        let Ok(service) = self.gpu.generation().published() else { return };
        let (ordinal, reason) = (self.device.ordinal(), error.to_string());
        tracing::error!(device_ordinal = ordinal, reason, "a device's ledger closes: a stream could not be waited for");
        drop(service.admission.close_device_quietly(ordinal, DeviceClosure::Faulted { reason }));
    }

    /// Wait until the device is through with the attempt, or lost.
    fn drain(&self, used: Used) -> Drained {
        let started = Instant::now();
        let device = self.device.device();
        // No more work comes, its graphs are destroyed, its windows aborted; then its memory goes.
        let mut draining = self.streams.revoke();
        self.account.revoke(ATTEMPT_ENDED);
        // So what was given to the streams of everybody is there by now, and counted under the lock.
        if device.with_contract(|_| device.shared_calls()) != used.shared_calls {
            draining = draining.with_shared();
        }
        loop {
            if process::is_ending() {
                return Drained::Leaked;
            }
            if let Some(lost) = device.lost() {
                return Drained::Lost(lost);
            }
            let idle = draining.is_idle();
            if idle && self.account.used() == 0 {
                // Its graphs are not used any more, and go before the grant (B-206).
                device.reclaim();
                return Drained::Yes(draining);
            }
            // Memory that was taken back is freed at the device's next call.
            device.settle();
            thread::sleep((started.elapsed() / 16).clamp(PAUSE_MIN, PAUSE_MAX));
        }
    }
}

impl AttemptResources for Arc<Admitted> {
    fn release(self: Box<Self>, _ended: AttemptEnd, done: ReleaseDone) {
        let Some(live) = self.state.lock().take() else { return done(ReleaseReport::default()) };
        if live.used_since.is_none() {
            // Nothing was asked of the device, so there is nothing to wait for.
            return done(live.release());
        }
        let pool = live.device.pool.clone();
        let job = Arc::new(Mutex::new(Some((live, done))));
        let run = {
            let job = job.clone();
            move || {
                if let Some((live, done)) = job.lock().take() {
                    done(live.release());
                }
            }
        };
        let cleanup = {
            let run = run.clone();
            async move { run() }
        };
        if let Err(error) = pool.spawn(PoolJob::Cleanup, cleanup) {
            // The pool outlives every permit; should it not, a thread of its own does what must be done.
            tracing::error!(%error, attempt = self.attempt, "no worker for the cleanup of an attempt");
            let name = "graphreel-cleanup".to_owned();
            if thread::Builder::new().name(name).spawn(run.clone()).is_err() {
                run();
            }
        }
    }
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitted")
            .field("attempt", &self.attempt)
            .field("ordinal", &self.ordinal)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// The refusal of an attempt that has ended.
pub(crate) fn over(attempt: u64) -> QueryError {
    let message = format!("attempt {attempt} has ended; admit another one for more work");
    QueryError::new(QueryErrorCode::Cancelled, operation::ATTEMPT, message).with_reason("backend_closing")
}

fn lacking(ordinal: usize, what: &str) -> QueryError {
    let message = format!("device {ordinal} granted an attempt without {what}; its installation is broken, rebuild it");
    QueryError::new(QueryErrorCode::Internal, operation::ADMISSION, message)
        .with_reason("device_installation_exhausted")
        .with_fact("device_ordinal", ordinal)
}
