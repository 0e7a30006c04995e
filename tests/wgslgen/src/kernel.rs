//! A kernel with all that a run of it takes: text, bytes of its buffers and scalars, and the grid.

use fastrand::Rng;

use crate::check;
use crate::module::{Buffer, Module, Role};
use crate::shape::{Scalar, Type};

/// A random compute kernel. The entry point is `main`.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    pub(crate) seed: u64,
    pub(crate) module: Module,
}

/// Bytes of one binding, in order of bindings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferData {
    /// `@binding`, of group 0.
    pub binding: u32,
    /// What it holds before the run.
    pub bytes: Vec<u8>,
    /// Whether the kernel may write it.
    pub is_written: bool,
    /// Where its `f32` and `f16` begin, with their sizes in bytes: what WGSL leaves open is the sign of a zero.
    floats: Vec<(usize, usize)>,
}

impl BufferData {
    /// The bytes of a result with every zero positive, for two results to be compared.
    #[must_use]
    pub fn normal(&self, mut result: Vec<u8>) -> Vec<u8> {
        for (at, size) in &self.floats {
            if let Some(float) = result.get_mut(*at..at + size) {
                let (sign, rest) = float.split_last_mut().expect("a float has bytes");
                if *sign == 0x80 && rest.iter().all(|byte| *byte == 0) {
                    *sign = 0;
                }
            }
        }
        result
    }
}

impl Kernel {
    /// What [`generate`](fn@crate::generate) was given.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The WGSL.
    pub fn wgsl(&self) -> String {
        self.module.text()
    }

    /// Workgroups in x, y and z.
    pub fn groups(&self) -> [u32; 3] {
        self.module.groups
    }

    /// Invocations of a workgroup in x, y and z.
    pub fn workgroup_size(&self) -> [u32; 3] {
        self.module.workgroup
    }

    /// Values of overrides, by name. Those that are left out keep their defaults.
    pub fn overrides(&self) -> Vec<(String, f64)> {
        let text = self.module.text();
        let given = self.module.overrides.iter().filter(|(of, _)| text.contains(&format!("override {}:", of.name)));
        given.filter_map(|(of, value)| Some((of.name.clone(), (*value)?))).collect()
    }

    /// The immediate struct, as WGSL lays it out; empty where the kernel reads none of it.
    pub fn scalars(&self) -> Vec<u8> {
        if !self.module.takes_params() {
            return Vec::new();
        }
        let mut structs = self.module.structs.clone();
        let members = self.module.params.iter().map(|(name, ty)| crate::shape::Member {
            name: name.clone(),
            ty: ty.clone(),
            align: None,
            size: None,
        });
        structs.0.push(members.collect());
        let ty = Type::Struct(structs.0.len() - 1);
        let mut bytes = vec![0; structs.size(&ty) as usize];
        let mut leaves = Vec::new();
        structs.leaves(&ty, 0, &mut leaves);
        let mut random = Rng::with_seed(self.seed ^ 0x5ca1_ab1e);
        leaves.into_iter().for_each(|(at, scalar)| put(&mut random, scalar, &mut bytes[at as usize..]));
        bytes
    }

    /// The buffers that the kernel names, in order of bindings.
    pub fn buffers(&self) -> Vec<BufferData> {
        self.module.used().into_iter().map(|(binding, buffer)| self.data(binding, buffer)).collect()
    }

    fn data(&self, binding: usize, buffer: &Buffer) -> BufferData {
        let structs = &self.module.structs;
        let (header, len) = match buffer.role {
            Role::Input(len) | Role::Sums(len) => (0, len),
            Role::Uniform => (0, 1),
            Role::Output | Role::Own | Role::Scratch => (0, self.module.slots()),
            Role::Tail => (16u32.next_multiple_of(structs.align(&buffer.ty)), self.module.slots()),
        };
        let mut leaves: Vec<(u32, Scalar)> = (0..header.min(16) / 4).map(|word| (word * 4, Scalar::U32)).collect();
        let stride = structs.stride(&buffer.ty);
        (0..len).for_each(|k| structs.leaves(&buffer.ty, header + k * stride, &mut leaves));
        // A runtime-sized struct is bound in whole multiples of its alignment.
        let align = if buffer.role == Role::Tail { 16 } else { 4 };
        let mut random = Rng::with_seed(self.seed.wrapping_mul(31).wrapping_add(binding as u64));
        let mut bytes: Vec<u8> =
            std::iter::repeat_with(|| random.u8(..)).take((header + len * stride) as usize).collect();
        bytes.resize(bytes.len().next_multiple_of(align), 0);
        leaves.iter().for_each(|(at, scalar)| put(&mut random, *scalar, &mut bytes[*at as usize..]));
        let floats = leaves.iter().filter(|(_, scalar)| scalar.is_float());
        let floats = floats.map(|(at, scalar)| (*at as usize, scalar.bits() as usize / 8)).collect();
        let is_written = !matches!(buffer.role, Role::Input(_) | Role::Uniform);
        BufferData { binding: binding as u32, bytes, is_written, floats }
    }

    /// Why its results might differ between implementations, or why it would not compile; nothing for what
    /// [`generate`](fn@crate::generate) and [`shrink`](fn@crate::shrink) give.
    ///
    /// # Errors
    ///
    /// The reason.
    pub fn check(&self) -> Result<(), String> {
        check::check(&self.module)
    }
}

/// Write a value that is worth computing with.
fn put(random: &mut Rng, scalar: Scalar, to: &mut [u8]) {
    let edges = [0, 1, 2, 3, 5, 31, 32, 33, 255, 0x7f, 0x80, 0x7fff_ffff, 0x8000_0000, u64::MAX, u64::MAX - 1, 1 << 63];
    let wide = match random.u32(0..4) {
        0 => edges[random.usize(..edges.len())],
        1 => random.u64(0..40),
        2 => 0u64.wrapping_sub(random.u64(0..40)),
        _ => random.u64(..),
    };
    match scalar {
        Scalar::F32 => {
            let value = random.i16(-1024..=1024);
            to[..4].copy_from_slice(&(f32::from(value) / 4.0).to_le_bytes());
        }
        Scalar::F16 => to[..2].copy_from_slice(&half(random.i16(-32..=32)).to_le_bytes()),
        whole => {
            let size = whole.bits() as usize / 8;
            to[..size].copy_from_slice(&wide.to_le_bytes()[..size]);
        }
    }
}

/// The `f16` of so many halves.
fn half(halves: i16) -> u16 {
    let magnitude = halves.unsigned_abs();
    if magnitude == 0 {
        return 0;
    }
    let top = magnitude.ilog2() as u16;
    let mantissa = (magnitude << (10 - top)) & 0x3ff;
    let sign = if halves < 0 { 0x8000 } else { 0 };
    // One half has the exponent -1, which is biased by 15.
    sign | ((top + 14) << 10) | mantissa
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn halves_are_encoded() {
        assert_eq!([0, 1, 2, 3, 32, -1].map(half), [0, 0x3800, 0x3c00, 0x3e00, 0x4c00, 0xb800]);
    }
}
