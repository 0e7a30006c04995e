//! What an entry point takes and does, found from naga's IR: bindings, access as used, sizes, workgroup size, overrides.

use std::collections::BTreeMap;

use naga::proc::Layouter;
use naga::valid::{Capabilities, FunctionInfo, GlobalUse};
use naga::{AddressSpace, ArraySize, BuiltIn, GlobalVariable, Handle, Module, ShaderStage, StorageAccess, TypeInner};

use super::diagnosis::refusal;
use super::resolve::{CAPABILITIES, Resolved, named, parsed, resolved, single, validated};
use super::{KernelSource, ScalarType, ValueType};
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
    /// What the entry point does with its bytes, callees included; `None` when it asks for its length only, or names it
    /// without a use: it must be bound, and is neither read nor written.
    pub access: Option<Access>,
    /// Bytes that must be bound at least: one element of a runtime-sized array.
    pub min_bytes: u64,
    /// Stride in bytes of its trailing runtime-sized array, if it has one.
    pub runtime_stride: Option<u32>,
    /// First byte of that array.
    pub runtime_offset: u32,
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
    /// Its bindings, in order of (group, binding). Bindings that it never names are left out.
    pub bindings: Vec<BindingInfo>,
    /// The members of its immediate struct, in order. Empty when it takes no scalar.
    pub immediates: Vec<MemberInfo>,
    /// The size of the immediate struct in bytes, padding included; at most 128.
    pub immediate_bytes: u32,
    /// Its workgroup size, overrides resolved.
    pub workgroup_size: [u32; 3],
    /// Bytes of workgroup memory it uses, each variable rounded up to 16 as WebGPU counts them.
    pub workgroup_bytes: u32,
    /// Whether it takes `@builtin(num_workgroups)`.
    pub uses_num_workgroups: bool,
    /// Device features it needs: `f16`, `subgroups`, `f64`, `int16`, `int64`, `int64-atomics`, `f32-atomics`, `coherent`,
    /// `volatile`.
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

/// The most bytes of scalars that every backend can pass with a launch.
const IMMEDIATE_BYTES_MAX: u32 = 128;

/// What each optional feature is to the validator.
const FEATURES: [(&str, Capabilities); 9] = [
    ("f16", Capabilities::SHADER_FLOAT16),
    ("subgroups", Capabilities::SUBGROUP.union(Capabilities::SUBGROUP_BARRIER)),
    ("f64", Capabilities::FLOAT64),
    ("int16", Capabilities::SHADER_INT16),
    ("int64", Capabilities::SHADER_INT64),
    ("int64-atomics", Capabilities::SHADER_INT64_ATOMIC_ALL_OPS.union(Capabilities::SHADER_INT64_ATOMIC_MIN_MAX)),
    ("f32-atomics", Capabilities::SHADER_FLOAT32_ATOMIC),
    ("coherent", Capabilities::MEMORY_DECORATION_COHERENT),
    ("volatile", Capabilities::MEMORY_DECORATION_VOLATILE),
];

/// Reflect one entry point of `source`.
///
/// # Errors
///
/// [`InvalidKernel`] with the place in the source.
pub fn reflect(source: &KernelSource) -> Result<Reflection, InvalidKernel> {
    named(&source.wgsl, source.entry.as_deref(), || reflection(&resolved(source)?, &source.wgsl))
}

/// Every entry point of a WGSL text.
///
/// # Errors
///
/// [`InvalidKernel`] with the place in the source.
pub fn inspect(wgsl: &str) -> Result<Vec<EntryInfo>, InvalidKernel> {
    let (module, info) = named(wgsl, None, || parsed(wgsl))?;
    let entries = module.entry_points.iter().map(|entry| {
        let reflection = named(wgsl, Some(&entry.name), || {
            if entry.stage != ShaderStage::Compute {
                return Ok(None);
            }
            match single(&module, &info, &entry.name, &BTreeMap::new(), wgsl) {
                Ok(resolved) => reflection(&resolved, wgsl).map(Some),
                Err(KernelProblem::MissingOverride { .. }) => Ok(None),
                Err(problem) => Err(problem),
            }
        })?;
        let stage = format!("{:?}", entry.stage).to_lowercase();
        Ok(EntryInfo { stage, name: entry.name.clone(), reflection })
    });
    entries.collect()
}

/// Every `override` of a WGSL text, in the order of the text.
///
/// # Errors
///
/// [`InvalidKernel`] with the place in the source.
pub fn overrides(wgsl: &str) -> Result<Vec<OverrideInfo>, InvalidKernel> {
    let (module, _) = named(wgsl, None, || parsed(wgsl))?;
    let declared = module.overrides.iter().filter(|(_, declared)| declared.name.is_some() || declared.id.is_some());
    let info = declared.map(|(_, declared)| OverrideInfo {
        name: declared.name.clone(),
        id: declared.id,
        ty: match module.types[declared.ty].inner {
            TypeInner::Scalar(scalar) => scalar_name(scalar),
            _ => String::new(),
        },
        required: declared.init.is_none(),
    });
    Ok(info.collect())
}

fn scalar_name(scalar: naga::Scalar) -> String {
    use naga::ScalarKind;
    let letter = match scalar.kind {
        ScalarKind::Sint | ScalarKind::AbstractInt => 'i',
        ScalarKind::Uint => 'u',
        ScalarKind::Float | ScalarKind::AbstractFloat => 'f',
        ScalarKind::Bool => return "bool".to_owned(),
    };
    format!("{letter}{}", u32::from(scalar.width) * 8)
}

/// Reflect the one entry point of a resolved module, which was made of `wgsl`.
pub(super) fn reflection(resolved: &Resolved, wgsl: &str) -> Result<Reflection, KernelProblem> {
    let Resolved { module, info } = resolved;
    let declared = Declared { module, wgsl };
    let entry = &module.entry_points[0];
    let used = info.get_entry_point(0);
    let mut layouter = Layouter::default();
    layouter.update(module.to_ctx()).map_err(|error| KernelProblem::Unsupported(error.to_string()))?;

    let mut found = Reflection {
        entry: entry.name.as_str().into(),
        bindings: Vec::new(),
        immediates: Vec::new(),
        immediate_bytes: 0,
        workgroup_size: entry.workgroup_size,
        workgroup_bytes: 0,
        uses_num_workgroups: uses_num_workgroups(module),
        needs: needs(module),
    };
    for (handle, variable) in module.global_variables.iter() {
        if used[handle].is_empty() {
            continue;
        }
        match variable.space {
            AddressSpace::Private | AddressSpace::Function => {}
            AddressSpace::WorkGroup => {
                let bytes = declared.bytes(handle)?.checked_next_multiple_of(16);
                let total = bytes.and_then(|bytes| found.workgroup_bytes.checked_add(bytes));
                found.workgroup_bytes = total.ok_or_else(|| declared.too_large(handle))?;
            }
            AddressSpace::Storage { .. } | AddressSpace::Uniform => {
                found.bindings.push(binding(declared, used, handle, &layouter)?);
            }
            AddressSpace::Immediate => {
                found.immediates = immediates(declared, handle)?;
                found.immediate_bytes = declared.bytes(handle)?;
            }
            _ => {
                let what = opaque(&module.types[variable.ty].inner);
                return Err(declared.refused(handle, &format!(
                    "variable `{}` is a {what}; a kernel takes buffers (`var<storage>`, `var<uniform>`) and scalars (`var<immediate>`)",
                    name_of(variable)
                )));
            }
        }
    }
    found.bindings.sort_by_key(|binding| (binding.group, binding.binding));
    Ok(found)
}

/// What a variable that is no buffer is.
fn opaque(ty: &TypeInner) -> &'static str {
    match ty {
        TypeInner::Image { .. } => "texture",
        TypeInner::Sampler { .. } => "sampler",
        TypeInner::AccelerationStructure { .. } => "acceleration structure",
        TypeInner::BindingArray { .. } => "binding array",
        _ => "variable of another address space",
    }
}

fn name_of(variable: &GlobalVariable) -> &str {
    variable.name.as_deref().unwrap_or("(unnamed)")
}

/// The variables of a module beside the text that declares them, for refusals that tell the place.
#[derive(Clone, Copy)]
struct Declared<'a> {
    module: &'a Module,
    wgsl: &'a str,
}

impl Declared<'_> {
    fn refused(self, variable: Handle<GlobalVariable>, message: &str) -> KernelProblem {
        refusal(self.module.global_variables.get_span(variable), message, self.wgsl)
    }

    fn too_large(self, variable: Handle<GlobalVariable>) -> KernelProblem {
        let name = name_of(&self.module.global_variables[variable]);
        self.refused(variable, &format!("variable `{name}` is larger than 4 GiB"))
    }

    /// The size of a variable's type, one element of a runtime-sized array included.
    fn bytes(self, variable: Handle<GlobalVariable>) -> Result<u32, KernelProblem> {
        let ty = self.module.global_variables[variable].ty;
        let size = self.module.types[ty].inner.try_size(self.module.to_ctx());
        size.ok_or_else(|| self.too_large(variable))
    }
}

fn binding(
    declared: Declared<'_>,
    used: &FunctionInfo,
    handle: Handle<GlobalVariable>,
    layouter: &Layouter,
) -> Result<BindingInfo, KernelProblem> {
    let module = declared.module;
    let variable = &module.global_variables[handle];
    let at = variable.binding.ok_or_else(|| {
        declared.refused(handle, &format!("variable `{}` needs `@group` and `@binding`", name_of(variable)))
    })?;
    let (space, declared_write) = match variable.space {
        AddressSpace::Storage { access } => (BindingSpace::Storage, access.contains(StorageAccess::STORE)),
        _ => (BindingSpace::Uniform, false),
    };
    Ok(BindingInfo {
        group: at.group,
        binding: at.binding,
        name: name_of(variable).to_owned(),
        space,
        declared_write,
        access: access(used[handle], holds_atomic(module, variable.ty)),
        min_bytes: declared.bytes(handle)?.into(),
        runtime_stride: runtime_stride(module, variable.ty),
        runtime_offset: runtime_offset(module, variable.ty),
        align: layouter[variable.ty].alignment * 1,
    })
}

/// What is done with a variable. naga tells an atomic load from an atomic store, yet either may meet the other of another
/// invocation, so both count as atomics do.
fn access(used: GlobalUse, atomic: bool) -> Option<Access> {
    let (read, write) = (used.contains(GlobalUse::READ), used.contains(GlobalUse::WRITE));
    match (read, write) {
        _ if used.contains(GlobalUse::ATOMIC) || (atomic && (read || write)) => Some(Access::ReadWrite),
        (true, true) => Some(Access::ReadWrite),
        (true, false) => Some(Access::Read),
        (false, true) => Some(Access::Write),
        (false, false) => None,
    }
}

fn holds_atomic(module: &Module, ty: Handle<naga::Type>) -> bool {
    match &module.types[ty].inner {
        TypeInner::Atomic(_) => true,
        TypeInner::Array { base, .. } => holds_atomic(module, *base),
        TypeInner::Struct { members, .. } => members.iter().any(|member| holds_atomic(module, member.ty)),
        _ => false,
    }
}

fn runtime_stride(module: &Module, ty: Handle<naga::Type>) -> Option<u32> {
    match &module.types[ty].inner {
        TypeInner::Array { size: ArraySize::Dynamic, stride, .. } => Some(*stride),
        TypeInner::Struct { members, .. } => members.last().and_then(|member| runtime_stride(module, member.ty)),
        _ => None,
    }
}

/// Where the runtime-sized array begins that a type is or ends with; it is the last member and nests no deeper.
fn runtime_offset(module: &Module, ty: Handle<naga::Type>) -> u32 {
    match &module.types[ty].inner {
        TypeInner::Struct { members, .. } => {
            members.last().filter(|last| runtime_stride(module, last.ty).is_some()).map_or(0, |last| last.offset)
        }
        _ => 0,
    }
}

fn immediates(declared: Declared<'_>, handle: Handle<GlobalVariable>) -> Result<Vec<MemberInfo>, KernelProblem> {
    let module = declared.module;
    let variable = &module.global_variables[handle];
    let bytes = declared.bytes(handle)?;
    if bytes > IMMEDIATE_BYTES_MAX {
        return Err(declared.refused(handle, &format!(
            "immediate `{}` has {bytes} bytes and at most {IMMEDIATE_BYTES_MAX} can be passed; put the rest in a buffer",
            name_of(variable)
        )));
    }
    let refused = |what: &str| {
        declared.refused(handle, &format!(
            "immediate `{what}` must be a number, a vector of numbers, or a struct of those; put anything else in a buffer"
        ))
    };
    let TypeInner::Struct { members, .. } = &module.types[variable.ty].inner else {
        let ty = value_type(&module.types[variable.ty].inner).ok_or_else(|| refused(name_of(variable)))?;
        return Ok(vec![MemberInfo { name: name_of(variable).to_owned(), ty, offset: 0 }]);
    };
    let members = members.iter().map(|member| {
        let name = member.name.clone().unwrap_or_default();
        let ty = value_type(&module.types[member.ty].inner)
            .ok_or_else(|| refused(&format!("{}.{name}", name_of(variable))))?;
        Ok(MemberInfo { name, ty, offset: member.offset })
    });
    members.collect()
}

/// The type as one that a launch can pass by value.
fn value_type(ty: &TypeInner) -> Option<ValueType> {
    use naga::ScalarKind::{Float, Sint, Uint};
    let (scalar, lanes) = match *ty {
        TypeInner::Scalar(scalar) => (scalar, 1),
        TypeInner::Vector { size, scalar } => (scalar, size as u8),
        _ => return None,
    };
    let scalar = match (scalar.kind, scalar.width) {
        (Sint, 4) => ScalarType::I32,
        (Uint, 4) => ScalarType::U32,
        (Float, 4) => ScalarType::F32,
        (Float, 2) => ScalarType::F16,
        (Sint, 8) => ScalarType::I64,
        (Uint, 8) => ScalarType::U64,
        (Float, 8) => ScalarType::F64,
        _ => return None,
    };
    Some(ValueType { scalar, lanes })
}

fn uses_num_workgroups(module: &Module) -> bool {
    let is = |binding: &Option<naga::Binding>| matches!(binding, Some(naga::Binding::BuiltIn(BuiltIn::NumWorkGroups)));
    module.entry_points[0].function.arguments.iter().any(|argument| match &module.types[argument.ty].inner {
        TypeInner::Struct { members, .. } => members.iter().any(|member| is(&member.binding)),
        _ => is(&argument.binding),
    })
}

/// The optional features without which the module is not valid: the same check that a device without them makes.
fn needs(module: &Module) -> Vec<String> {
    let optional = FEATURES.iter().fold(Capabilities::empty(), |all, (_, feature)| all | *feature);
    if validated(module, CAPABILITIES - optional).is_ok() {
        return Vec::new();
    }
    let needed = FEATURES.iter().filter(|(_, feature)| validated(module, CAPABILITIES - *feature).is_err());
    needed.map(|(name, _)| (*name).to_owned()).collect()
}
