//! Functions other than the entry point.

use naga::proc::NameKey;
use naga::{Handle, TypeInner};

use super::Writer;
use super::body::Body;
use super::literal::zero;
use crate::code::{By, Expr, Function, Param, Stmt};
use crate::refusal::Result;

impl Writer<'_> {
    /// One function: its own parameters, then the variables of the module that it and its callees use.
    pub(crate) fn function(&self, handle: Handle<naga::Function>) -> Result<Function> {
        let function = &self.module.functions[handle];
        let info = &self.info[handle];
        let mut body = Body::new(self, function, info, Some(handle))?;
        let mut params = Vec::new();
        for (index, argument) in (0..).zip(&function.arguments) {
            let name = self.names.of(NameKey::FunctionArgument(handle, index));
            let is_pointer = matches!(
                self.module.types[argument.ty].inner,
                TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. }
            );
            let by = if is_pointer { By::Reference } else { By::Value };
            params.push(Param { ty: self.layout.ty(argument.ty)?, by, name: name.clone() });
            body.arguments.push(Expr::name(name));
        }
        for (global, _) in self.module.global_variables.iter() {
            if !info[global].is_empty() {
                params.extend(self.globals[global.index()].params());
            }
        }
        let mut stmts = body.locals()?;
        stmts.extend(body.block(&function.body)?);
        let result = function.result.as_ref().map(|result| self.layout.ty(result.ty)).transpose()?;
        if let Some(ty) = result.as_ref().filter(|_| !returns(&stmts)) {
            // Nothing comes by here but what left a loop that has a bound; compilers want it.
            stmts.push(Stmt::Return(Some(zero(ty))));
        }
        if result.is_none() {
            super::entry::trim(&mut stmts);
        }
        let large = self.large.get(handle.index()).copied().unwrap_or(false);
        let prefix = if large { "WG_FUNCTION_LARGE" } else { "WG_FUNCTION" };
        let name = self.names.of(NameKey::Function(handle));
        Ok(Function { prefix: prefix.to_owned(), result, name, params, body: stmts })
    }
}

/// Whether the end of these statements is never reached, because all ways through them return.
fn returns(stmts: &[Stmt]) -> bool {
    match stmts.last() {
        Some(Stmt::Return(_)) => true,
        Some(Stmt::Block(inner)) => returns(inner),
        Some(Stmt::If(_, accept, reject)) => returns(accept) && returns(reject),
        Some(Stmt::Switch(_, cases)) => cases.iter().all(|case| returns(&case.body)),
        _ => false,
    }
}
