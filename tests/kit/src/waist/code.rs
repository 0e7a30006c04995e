//! A kernel of the suite, compiled for the driver under test, and the parameters that it takes.

use std::ffi::c_void;

use graphreel::graph::driver::{DevicePtr, LaunchShape};
use graphreel::graph::{Driver, DriverResult};
use graphreel::kernel::{AbiParam, PackedScalars, Reflection, Value, Variant, abi};

use super::Held;

/// A compiled variant of a kernel.
pub struct Code<'r, D: Driver> {
    pub(super) module: Held<'r, D, D::Module>,
    pub(super) function: D::Function,
    pub(super) reflection: Reflection,
    pub(super) shared_bytes: u32,
    pub(super) variant: Variant,
}

/// A range of device memory as a binding: its address and its length in bytes.
pub(super) type Bound = (DevicePtr, u64);

/// One parameter's value.
enum Param {
    Address(u64),
    Elements(u32),
}

/// The values of a kernel's parameters, in the order of its calling convention.
pub struct Params {
    scalars: Option<PackedScalars>,
    values: Vec<Param>,
}

impl<D: Driver> Code<'_, D> {
    /// Unload it now, whatever else runs: nothing of it does.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn unload_at_once(self) -> DriverResult {
        self.module.destroy_at_once()
    }

    /// What the kernel takes: `buffers` in order of (group, binding), `scalars` in order of the members.
    pub fn params(&self, buffers: &[Bound], scalars: &[Value]) -> Params {
        self.params_with_counts(buffers, scalars, None)
    }

    /// As [`Code::params`], with the address of the counts where this is the indirect variant.
    ///
    /// # Panics
    ///
    /// When the kernel takes something else.
    pub fn params_with_counts(&self, buffers: &[Bound], scalars: &[Value], counts: Option<DevicePtr>) -> Params {
        assert_eq!(buffers.len(), self.reflection.bindings.len(), "a buffer for each binding");
        assert_eq!(scalars.len(), self.reflection.immediates.len(), "a value for each scalar");
        assert_eq!(counts.is_some(), self.variant == Variant::Indirect, "counts for the indirect variant only");
        let mut params = Params { scalars: None, values: Vec::new() };
        for param in abi(&self.reflection, self.variant) {
            let value = match param {
                AbiParam::Scalars(_) => {
                    params.scalars = Some(PackedScalars::new(&self.reflection, scalars.iter().copied()));
                    continue;
                }
                AbiParam::Address(binding) => Param::Address(buffers[binding as usize].0.0.get()),
                AbiParam::Elements(binding) => {
                    let bytes = buffers[binding as usize].1;
                    {
                        let elements = self.reflection.bindings[binding as usize].elements(bytes);
                        Param::Elements(elements.try_into().expect("the suite binds little"))
                    }
                }
                AbiParam::Counts => Param::Address(counts.map_or(0, |counts| counts.0.get())),
            };
            params.values.push(value);
        }
        params
    }

    /// Put other scalars where these parameters lie, so that a driver that kept the address would see them.
    pub fn set_scalars(&self, params: &mut Params, scalars: &[Value]) {
        params.scalars = Some(PackedScalars::new(&self.reflection, scalars.iter().copied()));
    }

    /// A launch of this many workgroups.
    pub fn shape(&self, groups: [u32; 3]) -> LaunchShape {
        LaunchShape { groups, threads: self.reflection.workgroup_size, shared_bytes: self.shared_bytes }
    }
}

impl Params {
    /// The array that a launch takes.
    pub fn pointers(&self) -> Vec<*const c_void> {
        let scalars = self.scalars.iter().map(|scalars| scalars.bytes().as_ptr().cast());
        let values = self.values.iter().map(|value| match value {
            Param::Address(address) => std::ptr::from_ref(address).cast(),
            Param::Elements(count) => std::ptr::from_ref(count).cast(),
        });
        scalars.chain(values).collect()
    }
}
