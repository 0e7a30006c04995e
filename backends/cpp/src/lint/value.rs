//! What the expressions of a function depend on.

use naga::{AddressSpace, Expression, GlobalVariable, Handle, ImageClass, StorageAccess, TypeInner};

use super::cause::{Cause, Note};
use super::graph::{Level, Node};
use super::operands;
use super::walk::Walk;

/// What a pointer leads to.
pub(super) enum Root {
    /// A variable that is followed, by its index; `whole` unless it is a part of it.
    Variable {
        /// Which one.
        index: usize,
        /// Whether it is all of it.
        whole: bool,
    },
    /// A variable of the module.
    Global(Handle<GlobalVariable>),
    /// An argument that points to a variable of the module.
    Argument(usize),
    /// No pointer, or one that nothing is known of.
    Unknown,
}

impl<'m> Walk<'m> {
    /// Compute what is there without a statement that computes it.
    pub(super) fn compute_leaves(&mut self) {
        for (handle, expression) in self.function.expressions.iter() {
            if let Expression::FunctionArgument(index) = expression {
                self.values[handle.index()] = self.given[*index as usize];
            }
        }
    }

    /// Compute one expression where it is emitted.
    pub(super) fn compute(&mut self, handle: Handle<Expression>) {
        let mut parts = Vec::new();
        operands::of_expression(&self.function.expressions[handle], |operand| parts.push(self.values[operand.index()]));
        let span = self.function.expressions.get_span(handle);
        let node = match &self.function.expressions[handle] {
            Expression::AccessIndex { base, index } => self.member(*base, *index).unwrap_or(parts[0]),
            Expression::Load { pointer } => self.load(*pointer, handle),
            Expression::ImageLoad { image, .. } if self.is_written_image(*image) => {
                self.source(Level::Invocation, Cause::Operation("textureLoad", span), &[])
            }
            Expression::RayQueryVertexPositions { .. }
            | Expression::RayQueryGetIntersection { .. }
            | Expression::CooperativeLoad { .. } => {
                self.source(Level::Invocation, Cause::Operation("a ray query", span), &parts)
            }
            // Of all else that is emitted the value follows from the operands. Exhaustive in `operands`.
            _ => self.graph.join(Note::None, &parts),
        };
        self.values[handle.index()] = node;
    }

    /// A member of an entry point's argument: each is a value of its own.
    fn member(&self, base: Handle<Expression>, index: u32) -> Option<Node> {
        let Expression::FunctionArgument(argument) = self.function.expressions[base] else { return None };
        self.members[argument as usize].get(index as usize).copied()
    }

    /// What is read through a pointer.
    fn load(&mut self, pointer: Handle<Expression>, load: Handle<Expression>) -> Node {
        let indices = self.values[pointer.index()];
        let span = self.function.expressions.get_span(load);
        match self.root(pointer) {
            Root::Variable { index, .. } => {
                let held = self.variables[index];
                self.graph.join(Note::None, &[indices, held])
            }
            Root::Global(global) => {
                let variable = &self.module.global_variables[global];
                let name = variable.name.as_deref().unwrap_or_default();
                match variable.space {
                    AddressSpace::Uniform | AddressSpace::Immediate | AddressSpace::Handle => indices,
                    AddressSpace::Storage { access } if !access.contains(StorageAccess::STORE) => indices,
                    AddressSpace::Private | AddressSpace::Function => {
                        self.source(Level::Invocation, Cause::Private(name, span), &[])
                    }
                    AddressSpace::Storage { .. }
                    | AddressSpace::WorkGroup
                    | AddressSpace::TaskPayload
                    | AddressSpace::RayPayload
                    | AddressSpace::IncomingRayPayload => {
                        self.source(Level::Invocation, Cause::Memory(name, span), &[])
                    }
                }
            }
            Root::Argument(argument) => {
                let name = self.function.arguments[argument].name.as_deref().unwrap_or_default();
                self.source(Level::Invocation, Cause::Private(name, span), &[])
            }
            Root::Unknown => self.source(Level::Invocation, Cause::Operation("*", span), &[indices]),
        }
    }

    /// What a pointer, or an image, leads to.
    pub(super) fn root(&self, pointer: Handle<Expression>) -> Root {
        let locals = self.function.local_variables.len();
        let (mut at, mut whole) = (pointer, true);
        loop {
            match &self.function.expressions[at] {
                Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => {
                    (at, whole) = (*base, false);
                }
                Expression::LocalVariable(local) => return Root::Variable { index: local.index(), whole },
                Expression::GlobalVariable(global) => return Root::Global(*global),
                Expression::FunctionArgument(argument) => {
                    let argument = *argument as usize;
                    let ty = self.function.arguments[argument].ty;
                    return match self.module.types[ty].inner.pointer_space() {
                        Some(AddressSpace::Function) => Root::Variable { index: locals + argument, whole },
                        _ => Root::Argument(argument),
                    };
                }
                _ => return Root::Unknown,
            }
        }
    }

    fn is_written_image(&self, image: Handle<Expression>) -> bool {
        let Root::Global(global) = self.root(image) else { return true };
        let mut ty = self.module.global_variables[global].ty;
        if let TypeInner::BindingArray { base, .. } = self.module.types[ty].inner {
            ty = base;
        }
        match self.module.types[ty].inner {
            TypeInner::Image { class: ImageClass::Storage { access, .. }, .. } => access.contains(StorageAccess::STORE),
            _ => false,
        }
    }
}
