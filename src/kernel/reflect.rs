//! What an entry point takes and does, found from naga's IR: bindings, access as used, sizes, workgroup size, overrides.

use super::{KernelSource, ValueType};
use crate::error::{InvalidKernel, KernelProblem};
use crate::memory::Access;
use crate::sync::Arc;

/// The address space of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BindingSpace {
    /// `var<storage>`.
    Storage,
    /// `var<uniform>`.
    Uniform,
}

/// One buffer binding of an entry point.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BindingInfo {
    /// `@group`.
    pub group: u32,
    /// `@binding`.
    pub binding: u32,
    /// The variable's name.
    pub name: String,
    /// Its address space.
    pub space: BindingSpace,
    /// Whether it was declared `read_write` (what it is declared, not what the entry point does).
    pub declared_write: bool,
    /// What the entry point does with it, callees included; `None` when it does not use it.
    pub access: Option<Access>,
    /// Bytes that must be bound at least: one element of a runtime-sized array.
    pub min_bytes: u64,
    /// Stride in bytes of its trailing runtime-sized array, if it has one.
    pub runtime_stride: Option<u32>,
    /// Alignment of its type in bytes.
    pub align: u32,
}

/// One member of the `var<immediate>` struct, or the one value that it is.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MemberInfo {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: ValueType,
    /// Its offset in bytes.
    pub offset: u32,
}

/// One `override` of a source.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OverrideInfo {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its `@id`, if it has one.
    pub id: Option<u16>,
    /// Its type in WGSL.
    pub ty: String,
    /// Whether it must be given a value.
    pub required: bool,
}

/// What one entry point takes and does, with its overrides resolved.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Reflection {
    /// The entry point's name.
    pub entry: Arc<str>,
    /// Its bindings, in order of (group, binding). Bindings that it does not use are left out.
    pub bindings: Vec<BindingInfo>,
    /// The members of its immediate struct, in order. Empty when it takes no scalar.
    pub immediates: Vec<MemberInfo>,
    /// The size of the immediate struct in bytes, padding included; at most 128.
    pub immediate_bytes: u32,
    /// Its workgroup size, overrides resolved.
    pub workgroup_size: [u32; 3],
    /// Bytes of workgroup memory it uses.
    pub workgroup_bytes: u32,
    /// Whether it reads `@builtin(num_workgroups)`.
    pub uses_num_workgroups: bool,
    /// Device features it needs, by WGSL name: `f16`, `subgroups`, `f64`, `int64`, `int64-atomics`, `f32-atomics`.
    pub needs: Vec<String>,
}

/// One entry point of a source, as `graphreel check` prints it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct EntryInfo {
    /// The stage: only `compute` ones can be launched.
    pub stage: String,
    /// The entry point's name.
    pub name: String,
    /// What it takes; `None` where it is not a compute entry point, or needs an override value.
    pub reflection: Option<Reflection>,
}

/// Reflect one entry point of `source`.
///
/// # Errors
///
/// [`InvalidKernel`] with the place in the source.
pub fn reflect(source: &KernelSource) -> Result<Reflection, InvalidKernel> {
    todo!("reflect {source:?}")
}

/// Every entry point of a WGSL text.
///
/// # Errors
///
/// [`InvalidKernel`] with the place in the source.
pub fn inspect(wgsl: &str) -> Result<Vec<EntryInfo>, InvalidKernel> {
    todo!("inspect {wgsl}")
}
