//! Variables of a module: how the kernel takes each, and how functions pass them on.

use graphreel::kernel::Lowered;
use graphreel::memory::Access;
use naga::proc::NameKey;
use naga::{GlobalVariable, Handle, MemoryDecorations, Module, StorageAccess, TypeInner};

use crate::code::{By, Expr, Param, Type};
use crate::ir::{self, Space};
use crate::layout::Layout;
use crate::names::Names;
use crate::refusal::{At, Result};

/// A variable of the module.
#[derive(Clone, Debug)]
pub(crate) struct Global {
    pub(crate) space: Space,
    pub(crate) name: String,
    /// What it is, or what it points to: the element, where it is a runtime-sized array.
    pub(crate) ty: Type,
    /// How a function takes it.
    pub(crate) by: By,
    /// The name of the length of its runtime-sized array, where it ends with one.
    pub(crate) length: Option<String>,
    /// Whether it is such an array, and nothing before it.
    pub(crate) is_array: bool,
    /// Whether others see each access as it is made.
    pub(crate) is_volatile: bool,
}

impl Global {
    /// The parameters by which a function takes it.
    pub(crate) fn params(&self) -> Vec<Param> {
        let mut params = vec![Param { ty: self.ty.clone(), by: self.by, name: self.name.clone() }];
        params.extend(self.length_param());
        params
    }

    pub(crate) fn length_param(&self) -> Option<Param> {
        let name = self.length.clone()?;
        Some(Param { ty: Type::Scalar("u32"), by: By::Value, name })
    }

    /// The variable itself, where it is a parameter.
    pub(crate) fn value(&self) -> Expr {
        let name = Expr::name(self.name.clone());
        match self.by {
            By::Pointer | By::ConstPointer if !self.is_array => Expr::Unary("*", Box::new(name)),
            _ => name,
        }
    }
}

/// All variables, in order.
pub(crate) fn globals(module: &Module, lowered: &Lowered, names: &Names, layout: &Layout<'_>) -> Result<Vec<Global>> {
    module
        .global_variables
        .iter()
        .map(|(handle, variable)| global(module, lowered, names, layout, handle, variable))
        .collect()
}

fn global(
    module: &Module,
    lowered: &Lowered,
    names: &Names,
    layout: &Layout<'_>,
    handle: Handle<GlobalVariable>,
    variable: &GlobalVariable,
) -> Result<Global> {
    let space = ir::space(variable.space).at(module.global_variables.get_span(handle))?;
    let name = names.of(NameKey::GlobalVariable(handle));
    let is_array = layout.is_runtime_sized(variable.ty);
    let ty = match module.types[variable.ty].inner {
        TypeInner::Array { base, .. } if is_array => layout.ty(base)?.in_memory(),
        _ => layout.ty(variable.ty)?,
    };
    let open = is_array || ends_open(module, layout, variable.ty);
    let length = open.then(|| names.fresh(&format!("{name}_len")));
    let by = match space {
        Space::Storage if is_written(lowered, layout, variable) => By::Pointer,
        Space::Storage | Space::Uniform => By::ConstPointer,
        Space::Immediate => By::ConstReference,
        Space::Workgroup | Space::Private | Space::Function => By::Reference,
    };
    let is_volatile = variable.memory_decorations != MemoryDecorations::empty();
    Ok(Global { space, name, ty, by, length, is_array, is_volatile })
}

/// Whether a struct's last member is a runtime-sized array.
fn ends_open(module: &Module, layout: &Layout<'_>, ty: Handle<naga::Type>) -> bool {
    match &module.types[ty].inner {
        TypeInner::Struct { members, .. } => members.last().is_some_and(|last| layout.is_runtime_sized(last.ty)),
        _ => false,
    }
}

/// Whether the kernel may write through it. One that is declared `read_write` and only read is read as fast as if it said so,
/// except that atomic loads want what atomic operations want.
fn is_written(lowered: &Lowered, layout: &Layout<'_>, variable: &GlobalVariable) -> bool {
    let place = variable.binding.map(|binding| (binding.group, binding.binding));
    let info = lowered.reflection.bindings.iter().find(|info| Some((info.group, info.binding)) == place);
    let declared =
        matches!(variable.space, naga::AddressSpace::Storage { access } if access.contains(StorageAccess::STORE));
    let atomic = layout.has_atomics(variable.ty);
    declared && (atomic || info.and_then(|info| info.access).is_some_and(Access::writes))
}
