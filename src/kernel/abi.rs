//! How a compiled kernel takes its arguments where it is a C function: on CUDA, HIP and the simulator. The translators and the
//! hardware-graph server both read it here, so neither can drift.
//!
//! In order: the immediate struct by value, if there is one; then for each binding, in order of (group, binding), its
//! address, followed by the element count of its runtime-sized array, if it ends with one; last, in the indirect variant,
//! the address of the three workgroup counts.

use super::{BindingInfo, Reflection, Value};

/// Which code of a kernel a launch runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variant {
    /// The grid of the launch is the grid of the kernel.
    Direct,
    /// The launch has the largest grid, and the kernel takes its own from three `u32` in device memory: workgroups beyond them
    /// return first, and counts above the launched grid run nothing.
    Indirect,
}

/// One parameter of the C function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AbiParam {
    /// The immediate struct, by value, of this many bytes.
    Scalars(u32),
    /// The 64-bit address of the first bound byte of binding `0` (index in [`Reflection::bindings`]).
    Address(u32),
    /// The `u32` element count of that binding's runtime-sized array.
    Elements(u32),
    /// The 64-bit address of three `u32`: the workgroup counts of an indirect launch.
    Counts,
}

/// The most bytes of an immediate struct.
pub const SCALAR_BYTES_MAX: usize = 128;

/// Alignment in bytes that a bound address must have: a 16-byte vector is loaded in one piece.
pub const ADDRESS_ALIGNMENT: u64 = 16;

/// The parameters of one variant of a kernel, in order.
pub fn abi(reflection: &Reflection, variant: Variant) -> Vec<AbiParam> {
    let mut params = Vec::new();
    if !reflection.immediates.is_empty() {
        params.push(AbiParam::Scalars(reflection.immediate_bytes));
    }
    for (index, binding) in (0u32..).zip(&reflection.bindings) {
        params.push(AbiParam::Address(index));
        if binding.runtime_stride.is_some() {
            params.push(AbiParam::Elements(index));
        }
    }
    if variant == Variant::Indirect {
        params.push(AbiParam::Counts);
    }
    params
}

impl BindingInfo {
    /// Elements that the runtime-sized array has when `bytes` are bound; none where it has no such array. A caller refuses what
    /// no `u32` holds.
    pub fn elements(&self, bytes: u64) -> u64 {
        let Some(stride) = self.runtime_stride.filter(|stride| *stride > 0) else { return 0 };
        bytes.saturating_sub(self.runtime_offset.into()) / u64::from(stride)
    }
}

/// Scalars laid out as a kernel's immediate struct, padding zero.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub struct PackedScalars {
    bytes: [u8; SCALAR_BYTES_MAX],
    len: usize,
}

impl PackedScalars {
    /// `values` in order of the members.
    pub fn new(reflection: &Reflection, values: impl Iterator<Item = Value>) -> Self {
        let len = (reflection.immediate_bytes as usize).next_multiple_of(4).min(SCALAR_BYTES_MAX);
        let mut bytes = [0; SCALAR_BYTES_MAX];
        for (member, value) in reflection.immediates.iter().zip(values) {
            let start = member.offset as usize;
            if let Some(place) = bytes.get_mut(start..start + value.bytes().len()) {
                place.copy_from_slice(value.bytes());
            }
        }
        Self { bytes, len }
    }

    /// The bytes, padding included, in a multiple of 4.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{KernelSource, reflect};

    #[test]
    fn parameters_come_in_the_order_of_the_convention() {
        let wgsl = "
            struct Tail { head: vec4<f32>, rest: array<vec2<u32>> }
            struct P { a: f32, n: u32 }
            var<immediate> p: P;
            @group(1) @binding(0) var<storage, read_write> tail: Tail;
            @group(0) @binding(2) var<uniform> one: vec4<f32>;
            @compute @workgroup_size(1) fn main() { tail.rest[p.n].x = u32(p.a + one.x); }";
        let reflection = reflect(&KernelSource::from(wgsl)).expect("valid");
        let direct = [AbiParam::Scalars(8), AbiParam::Address(0), AbiParam::Address(1), AbiParam::Elements(1)];
        assert_eq!(abi(&reflection, Variant::Direct), direct);
        assert_eq!(abi(&reflection, Variant::Indirect).last(), Some(&AbiParam::Counts));
        let tail = &reflection.bindings[1];
        assert_eq!((tail.runtime_offset, tail.runtime_stride), (16, Some(8)));
        // A partial element is none; the head alone has none.
        assert_eq!([tail.elements(16), tail.elements(31), tail.elements(40)], [0, 1, 3]);
        assert_eq!(reflection.bindings[0].elements(64), 0);
    }
}
