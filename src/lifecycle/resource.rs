//! The device-side things of one backend, and the only way to take hold of them (B-89 to B-96).
//!
//! Locks are taken slot first, then gate. A permit gives its generation back before its count, so that the close, which
//! waits for a count of zero, then finds nobody else with the generation.

use std::fmt;

use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::gate::{BackendLifecycle, GpuPermit, ObservationPermit, backend_closing};
use crate::lifecycle::journal::ConstructionResourceJournal;
use crate::lifecycle::lease::LiveBackendLease;
use crate::lifecycle::records::GpuBackendDeviceStartupRecord;
use crate::lifecycle::service::BackendService;
use crate::sync::{Arc, OnceLock, PoisonMutex, Weak};

/// What owns the generation while the backend is open. It is filled when it is made and emptied once, by the close.
pub(crate) struct ResourceCore {
    identity: u64,
    slot: PoisonMutex<Option<Arc<ResourceGeneration>>>,
}

/// All device-side things of one backend, with the lease. Fields go in this order, so the lease is the last.
pub(crate) struct ResourceGeneration {
    id: u64,
    pub(in crate::lifecycle) service: OnceLock<Arc<BackendService>>,
    startup_records: OnceLock<Arc<[GpuBackendDeviceStartupRecord]>>,
    pub(in crate::lifecycle) journal: ConstructionResourceJournal,
    pub(in crate::lifecycle) lease: LiveBackendLease,
}

/// A hold on the generation. Its fields go in this order: the generation before the count (B-91).
pub(crate) struct GpuResourcePermit {
    generation: Arc<ResourceGeneration>,
    _count: GpuPermit,
}

/// Both permits of a request. The GPU permit goes first (B-93).
#[derive(Debug)]
pub(crate) struct AcquiredResource {
    pub(crate) gpu: GpuResourcePermit,
    pub(crate) observation: ObservationPermit,
}

/// Take hold of the generation: observation permit, core, slot, and under the slot's lock the GPU permit (B-89). A failure
/// gives back what was taken before it.
///
/// # Errors
///
/// `backend_closing`; `resource_core_poisoned` when a thread panicked with the slot.
pub(crate) fn acquire_resource(
    core: &Weak<ResourceCore>,
    lifecycle: &BackendLifecycle,
) -> QueryResult<AcquiredResource> {
    let observation = lifecycle.try_begin_observation()?;
    let core = core.upgrade().ok_or_else(backend_closing)?;
    let slot = core.slot.lock().map_err(|_| poisoned())?;
    // The close sets its bit before it empties the slot, so a permit that is given here finds the generation (B-90).
    let count = lifecycle.try_begin_gpu_resource()?;
    let generation = slot.clone().ok_or_else(backend_closing)?;
    drop(slot);
    Ok(AcquiredResource { gpu: GpuResourcePermit { generation, _count: count }, observation })
}

/// Run `read` on the service, with both permits held (B-94).
///
/// # Errors
///
/// Those of [`acquire_resource`]; `resource_generation_unpublished` while the construction has not published a service.
pub(crate) fn with_service<T>(
    core: &Weak<ResourceCore>,
    lifecycle: &BackendLifecycle,
    read: impl FnOnce(&Arc<BackendService>) -> T,
) -> QueryResult<T> {
    let acquired = acquire_resource(core, lifecycle)?;
    match acquired.gpu.generation().service() {
        Some(service) => Ok(read(service)),
        None => Err(unpublished()),
    }
}

impl ResourceCore {
    /// A core around `generation`; around none for a backend without devices.
    pub(crate) fn new(identity: u64, generation: Option<Arc<ResourceGeneration>>) -> Self {
        Self { identity, slot: PoisonMutex::new(generation) }
    }

    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// The generation, for the construction that fills it; the close waits until it is given back.
    pub(in crate::lifecycle) fn generation(&self) -> Option<Arc<ResourceGeneration>> {
        self.slot.lock_recovered().clone()
    }

    /// Empty the slot, whatever happened to its holders (B-197). The caller has set the close bit before (B-90).
    pub(in crate::lifecycle) fn take_generation(&self) -> Option<Arc<ResourceGeneration>> {
        self.slot.lock_recovered().take()
    }

    /// What a caller's panic with the slot leaves behind.
    #[cfg(test)]
    pub(in crate::lifecycle) fn panic_with_slot(&self) {
        let _slot = self.slot.lock();
        panic!("a caller's mistake");
    }
}

impl ResourceGeneration {
    /// A generation with nothing but its journal and its lease.
    pub(crate) fn new(id: u64, journal: ConstructionResourceJournal, lease: LiveBackendLease) -> Self {
        Self { id, service: OnceLock::new(), startup_records: OnceLock::new(), journal, lease }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn journal(&self) -> &ConstructionResourceJournal {
        &self.journal
    }

    #[cfg(test)]
    pub(crate) fn lease(&self) -> &LiveBackendLease {
        &self.lease
    }

    pub(crate) fn service(&self) -> Option<&Arc<BackendService>> {
        self.service.get()
    }

    /// The service, which a request needs.
    ///
    /// # Errors
    ///
    /// `resource_generation_unpublished`.
    pub(crate) fn published(&self) -> QueryResult<&Arc<BackendService>> {
        self.service().ok_or_else(unpublished)
    }

    #[cfg(test)]
    pub(crate) fn startup_records(&self) -> Option<&Arc<[GpuBackendDeviceStartupRecord]>> {
        self.startup_records.get()
    }

    /// Publish the service, once.
    ///
    /// # Errors
    ///
    /// `duplicate_resource_generation_install`.
    pub(crate) fn publish_service(&self, service: Arc<BackendService>) -> QueryResult {
        self.service.set(service).map_err(|_| duplicate("service", "duplicate_resource_generation_install"))
    }

    /// Publish the startup records, once.
    ///
    /// # Errors
    ///
    /// `duplicate_startup_record_install`.
    pub(crate) fn publish_startup_records(&self, records: Arc<[GpuBackendDeviceStartupRecord]>) -> QueryResult {
        self.startup_records.set(records).map_err(|_| duplicate("startup records", "duplicate_startup_record_install"))
    }
}

impl GpuResourcePermit {
    pub(crate) fn generation(&self) -> &ResourceGeneration {
        &self.generation
    }
}

fn poisoned() -> QueryError {
    let message = "a thread panicked while it held the backend's resources; close the backend and build another";
    QueryError::new(QueryErrorCode::Internal, operation::RESOURCE, message).with_reason("resource_core_poisoned")
}

fn unpublished() -> QueryError {
    let message = "the backend's construction has not published its service; wait until it returns";
    let error = QueryError::new(QueryErrorCode::Internal, operation::RESOURCE, message);
    error.with_reason("resource_generation_unpublished")
}

fn duplicate(what: &str, reason: &'static str) -> QueryError {
    let message = format!("the {what} of a backend were installed twice; this is a defect, report it");
    QueryError::new(QueryErrorCode::Internal, operation::BUILD, message).with_reason(reason)
}

impl fmt::Debug for ResourceCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceCore").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl fmt::Debug for ResourceGeneration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceGeneration").field("id", &self.id).finish_non_exhaustive()
    }
}

/// It shows which generation, never its resources (B-96).
impl fmt::Debug for GpuResourcePermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GpuResourcePermit").field("generation", &self.generation.id()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core() -> (Arc<ResourceCore>, BackendLifecycle) {
        let lease = LiveBackendLease::unleased(&[0]).unwrap();
        let generation = ResourceGeneration::new(7, ConstructionResourceJournal::default(), lease);
        (Arc::new(ResourceCore::new(3, Some(Arc::new(generation)))), BackendLifecycle::new())
    }

    fn counts(lifecycle: &BackendLifecycle) -> (u64, u64) {
        let now = lifecycle.snapshot();
        (now.active_gpu_permits, now.active_observation_permits)
    }

    /// B-89, B-95: each step that fails gives back what was taken before it.
    #[test]
    fn a_failed_acquisition_leaves_no_permit() {
        let (core, lifecycle) = core();
        let weak = Arc::downgrade(&core);
        let acquired = acquire_resource(&weak, &lifecycle).unwrap();
        assert_eq!((counts(&lifecycle), core.identity()), ((1, 1), 3));
        drop(acquired);
        assert_eq!(counts(&lifecycle), (0, 0));

        let generation = core.take_generation().unwrap();
        assert_eq!(acquire_resource(&weak, &lifecycle).unwrap_err().reason(), Some("backend_closing"), "empty slot");
        assert_eq!(counts(&lifecycle), (0, 0));
        *core.slot.lock_recovered() = Some(generation);
        drop(acquire_resource(&weak, &lifecycle).unwrap());

        let slot = core.slot.lock().unwrap();
        lifecycle.close();
        let error = acquire_resource(&weak, &lifecycle).unwrap_err();
        assert_eq!(error.reason(), Some("backend_closing"), "a closing backend is refused before any lock");
        drop(slot);
        drop(core);
        assert_eq!(acquire_resource(&weak, &BackendLifecycle::new()).unwrap_err().reason(), Some("backend_closing"));
    }

    /// B-89, B-95, B-197.
    #[test]
    fn a_poisoned_slot_is_an_error_and_can_be_emptied() {
        let (core, lifecycle) = core();
        let holder = core.clone();
        assert!(crate::sync::thread::spawn(move || holder.panic_with_slot()).join().is_err());
        let error = acquire_resource(&Arc::downgrade(&core), &lifecycle).unwrap_err();
        assert_eq!((error.code(), error.reason()), (QueryErrorCode::Internal, Some("resource_core_poisoned")));
        assert_eq!((error.operation(), counts(&lifecycle)), (operation::RESOURCE, (0, 0)));
        assert!(core.take_generation().is_some());
    }

    /// B-91, B-93: of both permits the generation goes first, then the GPU count, then the observation's.
    #[test]
    fn a_permit_lets_go_of_the_generation_before_its_count() {
        let (core, lifecycle) = core();
        let AcquiredResource { gpu, observation } = acquire_resource(&Arc::downgrade(&core), &lifecycle).unwrap();
        let generation = core.take_generation().unwrap();
        assert_eq!((gpu.generation().id(), Arc::strong_count(&generation)), (7, 2));
        assert_eq!(generation.lease().ordinals(), [0]);
        drop(gpu);
        assert_eq!((counts(&lifecycle), Arc::strong_count(&generation)), ((0, 1), 1));
        drop(observation);
        assert_eq!(counts(&lifecycle), (0, 0));
    }

    /// B-94, B-95, B-71.
    #[test]
    fn a_service_is_read_once_it_is_published_and_is_published_once() {
        let (core, lifecycle) = core();
        let weak = Arc::downgrade(&core);
        let error = with_service(&weak, &lifecycle, |_| ()).unwrap_err();
        assert_eq!((error.code(), error.reason()), (QueryErrorCode::Internal, Some("resource_generation_unpublished")));
        assert_eq!(counts(&lifecycle), (0, 0));
        let acquired = acquire_resource(&weak, &lifecycle).unwrap();
        let generation = acquired.gpu.generation();
        generation.publish_service(Arc::default()).unwrap();
        let error = generation.publish_service(Arc::default()).unwrap_err();
        assert_eq!(error.reason(), Some("duplicate_resource_generation_install"));
        assert!(generation.startup_records().is_none());
        generation.publish_startup_records(Arc::from([])).unwrap();
        let error = generation.publish_startup_records(Arc::from([])).unwrap_err();
        assert_eq!(error.reason(), Some("duplicate_startup_record_install"));
        assert!(generation.startup_records().is_some());
        drop(acquired);
        assert_eq!(with_service(&weak, &lifecycle, |_| counts(&lifecycle)).unwrap(), (1, 1));
        assert_eq!(counts(&lifecycle), (0, 0));
    }

    /// B-94: a read that panics gives both permits back.
    #[test]
    fn a_read_that_panics_leaves_no_permit() {
        let (core, lifecycle) = core();
        let weak = Arc::downgrade(&core);
        acquire_resource(&weak, &lifecycle).unwrap().gpu.generation().publish_service(Arc::default()).unwrap();
        let read = std::panic::AssertUnwindSafe(|| with_service(&weak, &lifecycle, |_| panic!("a reader's mistake")));
        assert!(std::panic::catch_unwind(read).is_err());
        assert_eq!(counts(&lifecycle), (0, 0));
        assert!(acquire_resource(&weak, &lifecycle).is_ok(), "no lock was held");
    }

    /// B-96, B-198.
    #[test]
    fn a_permit_shows_its_generation_and_nothing_of_it() {
        fn shared<T: Send + Sync>(_: &T) {}
        let (core, lifecycle) = core();
        let acquired = acquire_resource(&Arc::downgrade(&core), &lifecycle).unwrap();
        shared(&acquired);
        assert_eq!(format!("{:?}", acquired.gpu), "GpuResourcePermit { generation: 7 }");
    }
}
