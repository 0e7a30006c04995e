//! From WGSL text to a module with one entry point and no override left: what reflection, lowering and the backends read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use naga::back::PipelineConstants;
use naga::back::pipeline_constants::{PipelineConstantError, process_overrides};
use naga::compact::{KeepUnused, compact};
use naga::proc::IndexableLength;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{ArraySize, Module, Override, Scalar, ScalarKind, ShaderStage, TypeInner, WithSpan};

use super::{KernelSource, bounds, diagnosis, unplaced};
use crate::error::{InvalidKernel, KernelProblem};

/// Everything a kernel of buffers and scalars may need of a device. What is left out (textures' extensions, ray queries,
/// binding arrays, cooperative matrices, mesh shaders) the validator then refuses at its place in the source.
pub(super) const CAPABILITIES: Capabilities = Capabilities::IMMEDIATES
    .union(Capabilities::FLOAT64)
    .union(Capabilities::SHADER_INT64)
    .union(Capabilities::SHADER_INT16)
    .union(Capabilities::SHADER_FLOAT16)
    .union(Capabilities::SHADER_FLOAT16_IN_FLOAT32)
    .union(Capabilities::SUBGROUP)
    .union(Capabilities::SUBGROUP_BARRIER)
    .union(Capabilities::SHADER_INT64_ATOMIC_ALL_OPS)
    .union(Capabilities::SHADER_INT64_ATOMIC_MIN_MAX)
    .union(Capabilities::SHADER_FLOAT32_ATOMIC)
    .union(Capabilities::MEMORY_DECORATION_COHERENT)
    .union(Capabilities::MEMORY_DECORATION_VOLATILE);

/// A valid module of one compute entry point, with constants in place of its overrides.
pub(super) struct Resolved {
    pub(super) module: Module,
    pub(super) info: ModuleInfo,
}

/// Parse and validate a text, all its entry points with their overrides open: what a reader of naga's IR begins with.
///
/// # Errors
///
/// [`InvalidKernel`] with the place in the source.
pub fn parse(wgsl: &str) -> Result<(Module, ModuleInfo), InvalidKernel> {
    named(wgsl, None, || parsed(wgsl))
}

/// Parse and validate a text.
pub(super) fn parsed(wgsl: &str) -> Result<(Module, ModuleInfo), KernelProblem> {
    bounds::check(wgsl)?;
    let module = naga::front::wgsl::parse_str(wgsl).map_err(|error| diagnosis::of_parse(&error, wgsl))?;
    let info = validated(&module, CAPABILITIES)
        .map_err(|error| diagnosis::of_validation(&unplaced::placed(error, &module), wgsl))?;
    Ok((module, info))
}

/// Validate a module for a device that has `capabilities`.
pub(super) fn validated(
    module: &Module,
    capabilities: Capabilities,
) -> Result<ModuleInfo, Box<WithSpan<naga::valid::ValidationError>>> {
    Validator::new(ValidationFlags::all(), capabilities).validate(module).map_err(Box::new)
}

/// Run `work` over the text, with the name of `entry` or of its only one in the error. A panic of naga is a refusal too: no text brings a process down.
pub(super) fn named<T>(
    wgsl: &str,
    entry: Option<&str>,
    work: impl FnOnce() -> Result<T, KernelProblem>,
) -> Result<T, InvalidKernel> {
    let outcome = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(KernelProblem::Unsupported(format!(
            "the WGSL compiler gave up on this source ({text}); write it more simply"
        )))
    });
    outcome.map_err(|problem| {
        let kernel = entry.map(str::to_owned).or_else(|| only_entry(wgsl));
        InvalidKernel { kernel, problem }
    })
}

/// The name of the only compute entry point, told from the words of a text that may not even parse.
fn only_entry(wgsl: &str) -> Option<String> {
    let code: Vec<&str> = wgsl.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let mut marked = code.split("@compute").skip(1);
    let (Some(entry), None) = (marked.next(), marked.next()) else { return None };
    let mut words = entry.split('{').next()?.split_whitespace();
    words.find(|word| *word == "fn")?;
    let name: String = words.next()?.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

/// The module of the source's one entry point.
pub(super) fn resolved(source: &KernelSource) -> Result<Resolved, KernelProblem> {
    if let Some(native) = source.native() {
        return Err(KernelProblem::Unsupported(native.refusal("this backend")));
    }
    let (module, info) = parsed(&source.wgsl)?;
    let entry = entry_of(&module, source.entry.as_deref())?;
    single(&module, &info, &entry, &source.overrides, &source.wgsl)
}

/// The module cut down to `entry`, which it has, with `overrides` folded.
pub(super) fn single(
    module: &Module,
    info: &ModuleInfo,
    entry: &str,
    overrides: &BTreeMap<String, f64>,
    wgsl: &str,
) -> Result<Resolved, KernelProblem> {
    let constants = constants(module, overrides, wgsl)?;
    let module = &with_named_sizes(module);
    let (folded, _) = process_overrides(module, info, Some((ShaderStage::Compute, entry)), &constants)
        .map_err(|error| override_problem(error, module, wgsl))?;
    let mut module = folded.into_owned();
    fold_sizes(&mut module)?;
    compact(&mut module, KeepUnused::No);
    let info = validated(&module, CAPABILITIES).map_err(|error| diagnosis::of_validation(&error, wgsl))?;
    Ok(Resolved { module, info })
}

/// The names of the compute entry points.
fn compute_entries(module: &Module) -> Vec<String> {
    let compute = module.entry_points.iter().filter(|entry| entry.stage == ShaderStage::Compute);
    compute.map(|entry| entry.name.clone()).collect()
}

fn entry_of(module: &Module, wanted: Option<&str>) -> Result<String, KernelProblem> {
    let mut found = compute_entries(module);
    match wanted {
        Some(name) if found.iter().any(|entry| entry == name) => Ok(name.to_owned()),
        None if found.len() == 1 => Ok(found.remove(0)),
        None if found.len() > 1 => Err(KernelProblem::AmbiguousEntry { found }),
        _ => Err(KernelProblem::UnknownEntry { found }),
    }
}

/// The name under which callers and messages know an override.
fn label(declared: &Override) -> String {
    declared.name.clone().or_else(|| declared.id.map(|id| id.to_string())).unwrap_or_default()
}

/// The values by the key that naga looks for: the number where there is an `@id`, else the name. Ours may be given by either.
fn constants(module: &Module, given: &BTreeMap<String, f64>, wgsl: &str) -> Result<PipelineConstants, KernelProblem> {
    let mut constants = PipelineConstants::default();
    for (name, &value) in given {
        let number = name.parse::<u16>().ok();
        let found = module.overrides.iter().find(|(_, declared)| {
            declared.name.as_ref() == Some(name) || (declared.id.is_some() && declared.id == number)
        });
        let Some((handle, declared)) = found else {
            let named = module.overrides.iter().filter(|(_, o)| o.name.is_some() || o.id.is_some());
            let found = named.map(|(_, declared)| label(declared)).collect();
            return Err(KernelProblem::UnknownOverride { name: name.clone(), found });
        };
        if let TypeInner::Scalar(scalar) = module.types[declared.ty].inner {
            check_value(name, value, scalar).map_err(|refused| at(refused, module.overrides.get_span(handle), wgsl))?;
        }
        let key = declared.id.map_or_else(|| name.clone(), |id| id.to_string());
        if constants.insert(key, value).is_some() {
            return Err(KernelProblem::Unsupported(format!(
                "override `{}` was given two values, one by name and one by `@id`; give one",
                label(declared)
            )));
        }
    }
    Ok(constants)
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refused(String);

fn at(refused: Refused, span: naga::Span, wgsl: &str) -> KernelProblem {
    diagnosis::of_validation(&WithSpan::new(refused).with_span(span, "declared here"), wgsl)
}

/// Whether a value can be given to an override of a type: naga's own check does not say which one failed.
fn check_value(name: &str, value: f64, scalar: Scalar) -> Result<(), Refused> {
    let whole = value.trunc();
    let fits = match (scalar.kind, scalar.width) {
        (ScalarKind::Bool, _) => true,
        (ScalarKind::Sint, 2) => (f64::from(i16::MIN)..=f64::from(i16::MAX)).contains(&whole),
        (ScalarKind::Uint, 2) => (0.0..=f64::from(u16::MAX)).contains(&whole),
        (ScalarKind::Sint, _) => (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&whole),
        (ScalarKind::Uint, _) => (0.0..=f64::from(u32::MAX)).contains(&whole),
        // 65,520 is where rounding to the nearest f16 gives infinity.
        (_, 2) => value.abs() < 65520.0,
        (_, 4) => (value as f32).is_finite(),
        _ => value.is_finite(),
    };
    if fits {
        Ok(())
    } else {
        Err(Refused(format!("the value {value} given to override `{name}` does not fit its type")))
    }
}

fn override_problem(error: PipelineConstantError, module: &Module, wgsl: &str) -> KernelProblem {
    match error {
        PipelineConstantError::MissingValue(key) => {
            let id = key.parse::<u16>().ok();
            let declared = module.overrides.iter().find(|(_, o)| o.id.is_some() && o.id == id);
            KernelProblem::MissingOverride { name: declared.map_or(key, |(_, declared)| label(declared)) }
        }
        PipelineConstantError::ValidationError(error) => diagnosis::of_validation(&error, wgsl),
        PipelineConstantError::NegativeWorkgroupSize => {
            let refused = Refused("the workgroup size must be at least 1 in each dimension".to_owned());
            diagnosis::of_validation(&WithSpan::new(refused), wgsl)
        }
        other => diagnosis::of_validation(&WithSpan::new(other), wgsl),
    }
}

/// The module with a name on each override that stands for the size of an array such as `array<f32, N * 2>`. naga 30 takes an
/// override without a name for unreachable when a later one is read first, and panics.
fn with_named_sizes(module: &Module) -> Cow<'_, Module> {
    let unnamed = |declared: &Override| declared.name.is_none() && declared.id.is_none();
    if !module.overrides.iter().any(|(_, declared)| unnamed(declared)) {
        return Cow::Borrowed(module);
    }
    let mut module = module.clone();
    for (handle, declared) in module.overrides.iter_mut().filter(|(_, declared)| unnamed(declared)) {
        // No identifier of WGSL has a space, so none can be this name.
        declared.name = Some(format!("array size {}", handle.index()));
    }
    Cow::Owned(module)
}

/// Give arrays that an override sizes their size, so that no later reader needs the overrides.
fn fold_sizes(module: &mut Module) -> Result<(), KernelProblem> {
    let mut sized = Vec::new();
    for (handle, ty) in module.types.iter() {
        let TypeInner::Array { base, size: size @ ArraySize::Pending(_), stride } = ty.inner else { continue };
        let length = match size.resolve(module.to_ctx()) {
            Ok(IndexableLength::Known(length)) => std::num::NonZeroU32::new(length),
            _ => None,
        };
        let length = length.ok_or_else(|| {
            KernelProblem::Unsupported("the size of an array is not a positive constant after its overrides".to_owned())
        })?;
        let inner = TypeInner::Array { base, size: ArraySize::Constant(length), stride };
        sized.push((handle, naga::Type { name: ty.name.clone(), inner }));
    }
    for (handle, mut ty) in sized {
        // The arena holds each type once. An array type of the same size may be there already; a name keeps them apart, and
        // nothing can tell, since an array that an override sizes is never assigned whole.
        while module.types.get(&ty).is_some() {
            ty.name = Some(format!("{}_sized", ty.name.unwrap_or_default()));
        }
        module.types.replace(handle, ty);
    }
    Ok(())
}
