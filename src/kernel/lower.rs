//! One entry point in the form a backend wants: the same code, with the address spaces of its variables changed.
//!
//! wgpu orders work by the access that a binding declares, so a binding that is only read should say so; but it keeps one
//! usage for all of a buffer, so reading and writing bindings of one buffer may meet in a dispatch only when every one is
//! `read_write`. And not every device has immediates. None of that is the kernel author's business.

use naga::valid::ModuleInfo;
use naga::{AddressSpace, Module, ResourceBinding, StorageAccess};

use super::reflect::{Reflection, reflection};
use super::resolve::{CAPABILITIES, named, resolved, validated};
use super::{KernelSource, diagnosis};
use crate::error::{InvalidKernel, KernelProblem};

/// How a launch's scalars reach the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalars {
    /// As `var<immediate>`, as it is written.
    Immediate,
    /// In a uniform buffer, for devices without immediates. Same layout.
    Uniform {
        /// `@group` of the buffer.
        group: u32,
        /// `@binding` of the buffer: one that the source does not use.
        binding: u32,
    },
}

/// What storage variables declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StorageAccessAs {
    /// As it is written.
    Declared,
    /// What the entry point does: `read_write` only for what it may write.
    Used,
    /// `read_write`, every one.
    ReadWrite,
}

/// What to change. The layout of every buffer stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lowering {
    /// How scalars are passed.
    pub scalars: Scalars,
    /// What every `var<storage>` declares.
    pub storage: StorageAccessAs,
    /// Turn every `var<uniform>` of the source into `var<storage>`: one that is read, unless `storage` says otherwise.
    pub uniform_as_storage: bool,
}

/// What [`lower`] gives.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// A valid module with one entry point, no overrides, and nothing that the entry point does not reach.
    pub module: Module,
    /// What the validator knows of it: the type of every expression, and who uses what.
    pub info: ModuleInfo,
    /// What the source declares and does, as [`reflect`](super::reflect()) gives it: the lowering is not seen in it.
    pub reflection: Reflection,
}

/// Lower one entry point of `source`.
///
/// # Errors
///
/// [`InvalidKernel`] with the place in the source, or when the place for the scalars is taken.
pub fn lower(source: &KernelSource, lowering: Lowering) -> Result<Lowered, InvalidKernel> {
    named(&source.wgsl, source.entry.as_deref(), || {
        let resolved = resolved(source)?;
        let reflection = reflection(&resolved, &source.wgsl)?;
        let mut module = resolved.module;
        if let Scalars::Uniform { group, binding } = lowering.scalars {
            let taken = reflection.bindings.iter().find(|info| (info.group, info.binding) == (group, binding));
            if let (Some(info), false) = (taken, reflection.immediates.is_empty()) {
                return Err(KernelProblem::Unsupported(format!(
                    "`{}` is at @group({group}) @binding({binding}), where this backend puts the scalars; move it",
                    info.name
                )));
            }
        }
        move_variables(&mut module, lowering, &reflection);
        let info = validated(&module, CAPABILITIES).map_err(|error| diagnosis::of_validation(&error, &source.wgsl))?;
        Ok(Lowered { module, info, reflection })
    })
}

fn move_variables(module: &mut Module, lowering: Lowering, reflection: &Reflection) {
    let (read, read_write) = (StorageAccess::LOAD, StorageAccess::LOAD | StorageAccess::STORE);
    for (_, variable) in module.global_variables.iter_mut() {
        let place = variable.binding.as_ref().map(|binding| (binding.group, binding.binding));
        let info = reflection.bindings.iter().find(|info| Some((info.group, info.binding)) == place);
        let used = info.and_then(|info| info.access).map(|access| if access.writes() { read_write } else { read });
        match (variable.space, lowering.scalars) {
            (AddressSpace::Storage { access: declared }, _) => {
                let access = match lowering.storage {
                    StorageAccessAs::Declared => declared,
                    // What is neither read nor written keeps its word: atomics are `read_write` by their type.
                    StorageAccessAs::Used => used.unwrap_or(declared),
                    StorageAccessAs::ReadWrite => read_write,
                };
                variable.space = AddressSpace::Storage { access };
            }
            (AddressSpace::Uniform, _) if lowering.uniform_as_storage => {
                let all_written = lowering.storage == StorageAccessAs::ReadWrite;
                variable.space = AddressSpace::Storage { access: if all_written { read_write } else { read } };
            }
            (AddressSpace::Immediate, Scalars::Uniform { group, binding }) => {
                variable.space = AddressSpace::Uniform;
                variable.binding = Some(ResourceBinding { group, binding });
            }
            _ => {}
        }
    }
}
