//! A launch's arguments as the C function takes them.

use std::ffi::c_void;

use super::driver::{DevicePtr, LaunchShape};
use crate::caps::Caps;
use crate::error::{Result, ServerError};
use crate::kernel::{AbiParam, PackedScalars, Reflection};

/// The most buffers of one launch.
pub(super) const BINDINGS_MAX: usize = 32;

/// Addresses and counts of as many buffers, the scalars, and the counts of an indirect launch.
const PARAMS_MAX: usize = 2 * BINDINGS_MAX + 2;

/// Parameter values, and where each of them lies.
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    scalars: PackedScalars,
    values: [u64; PARAMS_MAX],
    /// For each parameter, whether it is the scalars.
    is_scalars: [bool; PARAMS_MAX],
    len: usize,
}

/// A buffer argument: its address and bound bytes.
pub(super) type Placed = (DevicePtr, u64);

impl Arguments {
    /// The values of `params` for these buffers, scalars and counts.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a runtime-sized array of 2^32 elements or more.
    pub(super) fn new(
        params: &[AbiParam],
        reflection: &Reflection,
        buffers: &[Placed],
        scalars: PackedScalars,
        counts: Option<DevicePtr>,
    ) -> Result<Self> {
        let mut made = Self { scalars, values: [0; PARAMS_MAX], is_scalars: [false; PARAMS_MAX], len: params.len() };
        for (index, param) in params.iter().enumerate().take(PARAMS_MAX) {
            made.values[index] = match *param {
                AbiParam::Scalars(_) => {
                    made.is_scalars[index] = true;
                    0
                }
                AbiParam::Address(buffer) => buffers[buffer as usize].0.0.get(),
                AbiParam::Elements(buffer) => elements(reflection, buffer as usize, buffers[buffer as usize].1)?,
                AbiParam::Counts => counts.map_or(0, |counts| counts.0.get()),
            };
        }
        Ok(made)
    }

    /// One pointer for each parameter, as both vendors take them; valid as long as `self` stays where it is.
    pub(super) fn pointers(&self) -> ([*const c_void; PARAMS_MAX], usize) {
        let mut pointers = [std::ptr::null(); PARAMS_MAX];
        for (index, pointer) in pointers.iter_mut().enumerate().take(self.len) {
            *pointer = if self.is_scalars[index] {
                self.scalars.bytes().as_ptr().cast()
            } else {
                std::ptr::from_ref(&self.values[index]).cast()
            };
        }
        (pointers, self.len)
    }
}

fn elements(reflection: &Reflection, buffer: usize, bytes: u64) -> Result<u64> {
    let info = &reflection.bindings[buffer];
    let count = info.elements(bytes);
    if count > u64::from(u32::MAX) {
        return Err(ServerError::unsupported(
            format!("binding {bytes} bytes as `{}` of kernel `{}`", info.name, reflection.entry),
            "an array has fewer than 2^32 elements; bind a part of the buffer",
        ));
    }
    Ok(count)
}

/// The shape of a launch of `groups` workgroups.
///
/// # Errors
///
/// `InvalidGrid` where the device cannot run that many invocations in one dimension.
pub(super) fn shape(
    reflection: &Reflection,
    groups: [u32; 3],
    shared_bytes: u32,
    items_max: u64,
    caps: &Caps,
) -> Result<LaunchShape> {
    let threads = reflection.workgroup_size;
    let fits = |(groups, threads): (&u32, &u32)| u64::from(*groups) * u64::from(*threads) <= items_max;
    if !groups.iter().zip(&threads).all(fits) {
        return Err(ServerError::InvalidGrid {
            what: format!("kernel `{}`", reflection.entry).into(),
            groups: groups.map(u64::from),
            max: caps.groups_max.min(u32::try_from(items_max).unwrap_or(u32::MAX)),
            remedy: "this device runs fewer invocations in one dimension; launch fewer workgroups and loop in the kernel",
        });
    }
    Ok(LaunchShape { groups, threads, shared_bytes })
}
