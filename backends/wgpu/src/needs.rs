//! What of a device Graphreel itself cannot do without, whatever the kernels ask for.
//!
//! An application's device may have any limits, also those of WebGL. Below these our own kernels do not compile or the pool
//! has no room, which wgpu would tell late and in its own words.

use graphreel::ServerError;
use graphreel::error::Result;

use crate::builtin::{FILL_GROUPS_MAX, FILL_WIDTH};
use crate::scalars::ENTRY_BYTES;

/// The smallest storage binding: room for one part of a fill, beside the largest alignment of an offset.
const BINDING_BYTES_MIN: u64 = 64 << 10;

/// The smallest buffer, for the pool's pages.
const BUFFER_BYTES_MIN: u64 = 1 << 20;

/// Whether a device with these limits is enough.
///
/// # Errors
///
/// `Unsupported` naming the first limit that is too low, its value and the need.
pub(crate) fn check(limits: &wgpu::Limits) -> Result<()> {
    let least = [
        ("max_bind_groups", u64::from(limits.max_bind_groups), 2),
        ("max_bindings_per_bind_group", limits.max_bindings_per_bind_group.into(), 4),
        ("max_storage_buffers_per_shader_stage", limits.max_storage_buffers_per_shader_stage.into(), 4),
        ("max_storage_buffer_binding_size", limits.max_storage_buffer_binding_size, BINDING_BYTES_MIN),
        ("max_uniform_buffers_per_shader_stage", limits.max_uniform_buffers_per_shader_stage.into(), 1),
        ("max_uniform_buffer_binding_size", limits.max_uniform_buffer_binding_size, ENTRY_BYTES.into()),
        (
            "max_dynamic_uniform_buffers_per_pipeline_layout",
            limits.max_dynamic_uniform_buffers_per_pipeline_layout.into(),
            1,
        ),
        ("max_buffer_size", limits.max_buffer_size, BUFFER_BYTES_MIN),
        ("max_compute_workgroup_size_x", limits.max_compute_workgroup_size_x.into(), FILL_WIDTH.into()),
        ("max_compute_workgroup_size_y", limits.max_compute_workgroup_size_y.into(), 1),
        ("max_compute_workgroup_size_z", limits.max_compute_workgroup_size_z.into(), 1),
        (
            "max_compute_invocations_per_workgroup",
            limits.max_compute_invocations_per_workgroup.into(),
            FILL_WIDTH.into(),
        ),
        (
            "max_compute_workgroups_per_dimension",
            limits.max_compute_workgroups_per_dimension.into(),
            FILL_GROUPS_MAX.into(),
        ),
    ];
    for (name, value, need) in least {
        if value < need {
            return Err(refuse(name, value, "at least", need));
        }
    }
    // A lower value is the stronger device here. Entries of scalars lie this far apart.
    let (value, need) = (limits.min_uniform_buffer_offset_alignment, ENTRY_BYTES);
    if value > need {
        return Err(refuse("min_uniform_buffer_offset_alignment", value.into(), "at most", need.into()));
    }
    Ok(())
}

fn refuse(name: &str, value: u64, bound: &str, need: u64) -> ServerError {
    let why = format!("{bound} {need} is needed; request the device with the adapter's own limits");
    ServerError::unsupported(format!("a wgpu device whose {name} is {value}"), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(change: impl FnOnce(&mut wgpu::Limits)) -> String {
        let mut limits = wgpu::Limits::downlevel_defaults();
        change(&mut limits);
        match check(&limits) {
            Err(error @ ServerError::Unsupported { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_too_low_is_named_with_its_value_and_the_need() {
        assert!(check(&wgpu::Limits::downlevel_defaults()).is_ok());
        assert!(check(&wgpu::Limits::default()).is_ok());
        let error = told(|limits| limits.max_bind_groups = 1);
        assert!(error.contains("max_bind_groups is 1") && error.contains("at least 2"), "{error}");
        let error = told(|limits| limits.max_buffer_size = 4096);
        assert!(error.contains("max_buffer_size is 4096") && error.contains("at least 1048576"), "{error}");
        let error = told(|limits| limits.max_compute_workgroup_size_x = 32);
        assert!(error.contains("max_compute_workgroup_size_x is 32") && error.contains("at least 64"), "{error}");
        let error = told(|limits| limits.min_uniform_buffer_offset_alignment = 512);
        assert!(error.contains("is 512") && error.contains("at most 256"), "{error}");
    }

    #[test]
    fn a_device_that_is_too_weak_is_refused_before_anything_is_made() {
        let Some(found) = crate::adapters().into_iter().next() else { return };
        let required_limits =
            wgpu::Limits { max_storage_buffers_per_shader_stage: 3, ..wgpu::Limits::downlevel_defaults() };
        let descriptor = wgpu::DeviceDescriptor { required_limits, ..wgpu::DeviceDescriptor::default() };
        let (device, queue) = pollster::block_on(found.adapter.request_device(&descriptor)).expect("less than it has");
        let refused = crate::WgpuServer::from_device(device, queue, graphreel::Config::default());
        let error = refused.map(drop).expect_err("it is too weak");
        assert!(matches!(error, ServerError::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains("max_storage_buffers_per_shader_stage is 3"), "{error}");
    }
}
