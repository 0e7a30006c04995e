//! Which backend a deployment's configuration means, as the factory that the backend facade builds over.

use graphreel::lifecycle::config::BackendChoice;
use graphreel::lifecycle::{BackendKind, QueryError, QueryErrorCode, QueryResult, ServerFactory};

use crate::catalog::{BACKENDS, absence, built, why_none};

/// The factory of the backend that `choice` means. [`BackendChoice::Auto`] is the first of [`BACKENDS`] that has a device,
/// and never the simulator.
///
/// # Errors
///
/// `backend_unavailable`, with why there is none in one line.
pub fn factory(choice: BackendChoice) -> QueryResult<Box<dyn ServerFactory>> {
    match choice {
        BackendChoice::Kind(kind) => of_kind(kind).ok_or_else(|| unavailable(kind.as_str(), &absence(kind.as_str()))),
        _ => {
            let real = BACKENDS.into_iter().filter(|name| *name != BackendKind::Sim.as_str());
            let mut found = real.filter_map(BackendKind::from_name).filter_map(of_kind);
            found
                .find(|factory| has_device(&**factory))
                .ok_or_else(|| unavailable("auto", &format!("{}; `backend = \"sim\"` names the simulator", why_none())))
        }
    }
}

/// The factory of a kind; `None` where it is not in this build, and for CUDA and HIP where there is no device.
fn of_kind(kind: BackendKind) -> Option<Box<dyn ServerFactory>> {
    if !built().contains(&kind.as_str()) {
        return None;
    }
    match kind {
        #[cfg(feature = "cuda")]
        BackendKind::Cuda => {
            let found = graphreel_cuda::devices().is_ok_and(|devices| !devices.is_empty());
            found.then(|| -> Box<dyn ServerFactory> { Box::new(graphreel_cuda::CudaFactory::default()) })
        }
        #[cfg(feature = "hip")]
        BackendKind::Hip => {
            let found = graphreel_hip::devices().is_ok_and(|devices| !devices.is_empty());
            found.then(|| -> Box<dyn ServerFactory> { Box::new(graphreel_hip::HipFactory::default()) })
        }
        #[cfg(feature = "wgpu")]
        BackendKind::Wgpu => Some(Box::new(graphreel_wgpu::WgpuFactory)),
        #[cfg(feature = "sim")]
        BackendKind::Sim => Some(Box::new(graphreel_sim::SimFactory::default())),
        _ => None,
    }
}

/// Of CUDA and HIP [`of_kind`] asked for any device: the first may be one that cannot be used.
fn has_device(factory: &dyn ServerFactory) -> bool {
    matches!(factory.kind(), BackendKind::Cuda | BackendKind::Hip) || factory.inventory().facts(0).is_ok()
}

fn unavailable(name: &str, why: &str) -> QueryError {
    let message = format!("backend `{name}` has no device here: {why}");
    QueryError::new(QueryErrorCode::InvalidConfiguration, "gpu_backend_core.build", message)
        .with_reason("backend_unavailable")
        .with_fact("field", "backend")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_not_here_says_why() {
        for kind in [BackendKind::Cuda, BackendKind::Hip] {
            let Err(error) = factory(BackendChoice::Kind(kind)) else { continue };
            assert_eq!((error.reason(), error.fact_value("field")), (Some("backend_unavailable"), Some("backend")));
            assert!(error.message().ends_with(&absence(kind.as_str())), "{error}");
        }
    }

    #[cfg(feature = "sim")]
    #[test]
    fn the_simulator_is_had_by_its_name_alone() {
        let sim = factory(BackendChoice::Kind(BackendKind::Sim)).expect("it needs nothing");
        assert_eq!(sim.kind(), BackendKind::Sim);
        match factory(BackendChoice::Auto) {
            Ok(found) => assert_ne!(found.kind(), BackendKind::Sim),
            Err(error) => assert!(error.message().contains("\"sim\""), "{error}"),
        }
    }
}
