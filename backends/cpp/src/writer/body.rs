//! The state of one function while it is written.

use naga::proc::NameKey;
use naga::valid::FunctionInfo;
use naga::{Expression, Handle, Span, TypeInner};

use super::Writer;
use super::plan::plan;
use crate::code::{Expr, Stmt, Type};
use crate::refusal::Result;

/// A loop that is open.
pub(crate) struct Frame {
    /// Where `continue` goes, if something comes after the body.
    pub(crate) label: Option<String>,
    pub(crate) continued: bool,
}

/// A function that is being written.
pub(crate) struct Body<'w> {
    pub(crate) writer: &'w Writer<'w>,
    pub(crate) function: &'w naga::Function,
    pub(crate) info: &'w FunctionInfo,
    /// Which function it is; the entry point has none.
    pub(crate) handle: Option<Handle<naga::Function>>,
    /// How each argument is reached.
    pub(crate) arguments: Vec<Expr>,
    /// How each variable of the module is reached.
    pub(crate) globals: Vec<Expr>,
    /// Which expressions get a variable when they are emitted.
    pub(crate) planned: Vec<bool>,
    /// The variable of each expression that has one by now.
    pub(crate) named: Vec<Option<String>>,
    /// Which of those were declared before their value is known.
    pub(crate) declared: Vec<bool>,
    pub(crate) frames: Vec<Frame>,
}

impl<'w> Body<'w> {
    pub(crate) fn new(
        writer: &'w Writer<'w>,
        function: &'w naga::Function,
        info: &'w FunctionInfo,
        handle: Option<Handle<naga::Function>>,
    ) -> Result<Self> {
        let count = function.expressions.len();
        Ok(Self {
            writer,
            function,
            info,
            handle,
            arguments: Vec::new(),
            globals: writer.globals.iter().map(super::global::Global::value).collect(),
            planned: plan(writer.module, function, info)?,
            named: vec![None; count],
            declared: vec![false; count],
            frames: Vec::new(),
        })
    }

    pub(crate) fn span(&self, handle: Handle<Expression>) -> Span {
        self.function.expressions.get_span(handle)
    }

    /// What an expression is, or what it points to.
    pub(crate) fn inner(&self, handle: Handle<Expression>) -> &'w TypeInner {
        let types = &self.writer.module.types;
        match self.info[handle].ty.inner_with(types) {
            TypeInner::Pointer { base, .. } => &types[*base].inner,
            inner => inner,
        }
    }

    /// The declared type of an expression, or of what it points to.
    pub(crate) fn declared_type(&self, handle: Handle<Expression>) -> Option<Handle<naga::Type>> {
        let ty = &self.info[handle].ty;
        match ty.inner_with(&self.writer.module.types) {
            TypeInner::Pointer { base, .. } => Some(*base),
            _ => ty.handle(),
        }
    }

    /// The type of an expression, or of what it points to.
    pub(crate) fn ty(&self, handle: Handle<Expression>) -> Result<Type> {
        self.writer.layout.resolved(&self.info[handle].ty)
    }

    /// The name of a local variable.
    pub(crate) fn local(&self, local: Handle<naga::LocalVariable>) -> String {
        self.writer.names.of(match self.handle {
            Some(function) => NameKey::FunctionLocal(function, local),
            None => NameKey::EntryPointLocal(0, local),
        })
    }

    fn variable(&self, handle: Handle<Expression>) -> String {
        match self.function.named_expressions.get(&handle) {
            Some(name) => self.writer.names.fresh(name),
            None => format!("_e{}", handle.index()),
        }
    }

    /// Give an expression its value: in a variable of its own, which is declared here unless it was before.
    pub(crate) fn define(&mut self, handle: Handle<Expression>, value: Expr, out: &mut Vec<Stmt>) -> Result<()> {
        if let (true, Some(name)) = (self.declared[handle.index()], &self.named[handle.index()]) {
            out.push(Stmt::Assign(Expr::name(name.clone()), value));
            return Ok(());
        }
        if self.info[handle].ref_count == 0 {
            // Only what has an effect is defined without a use.
            out.push(Stmt::Do(value));
            return Ok(());
        }
        let name = self.variable(handle);
        out.push(Stmt::Let(self.ty(handle)?, name.clone(), value));
        self.named[handle.index()] = Some(name);
        Ok(())
    }

    /// Declare the variable of an expression whose value comes later.
    pub(crate) fn declare(&mut self, handle: Handle<Expression>, out: &mut Vec<Stmt>) -> Result<()> {
        if self.declared[handle.index()] {
            return Ok(());
        }
        let (ty, name) = (self.ty(handle)?, self.variable(handle));
        out.push(Stmt::Var(ty.clone(), name.clone(), super::literal::zero(&ty)));
        self.named[handle.index()] = Some(name);
        self.declared[handle.index()] = true;
        Ok(())
    }

    /// The local variables, which are zero or hold what they are declared with.
    pub(crate) fn locals(&self) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        for (handle, local) in self.function.local_variables.iter() {
            let ty = self.writer.layout.ty(local.ty)?;
            let value = match local.init {
                Some(init) => self.value(init)?,
                None => super::literal::zero(&ty),
            };
            out.push(Stmt::Var(ty, self.local(handle), value));
        }
        Ok(out)
    }
}
