//! Bytes of variables that each invocation has for itself. Compilers keep what does not fit in registers on a stack, and end with an
//! error that has no place where that is too large.

use naga::{Function, Module, Span, Statement};

use super::hoist::visit;
use crate::refusal::{Refusal, Result};

/// Half of what AMD's compiler takes, since values need some of it too. WGSL promises 8 KiB.
const BYTES_MAX: u64 = 128 << 10;

/// The bytes that are needed at once, and where most of them are declared.
#[derive(Clone, Copy, Default)]
struct Need {
    bytes: u64,
    largest: (u64, Span),
}

impl Need {
    fn declare(&mut self, module: &Module, ty: naga::Handle<naga::Type>, span: Span) {
        let bytes = u64::from(module.types[ty].inner.size(module.to_ctx()));
        self.bytes = self.bytes.saturating_add(bytes);
        if bytes > self.largest.0 {
            self.largest = (bytes, span);
        }
    }

    fn and(self, other: Self) -> Self {
        let largest = if self.largest.0 >= other.largest.0 { self.largest } else { other.largest };
        Self { bytes: self.bytes.saturating_add(other.bytes), largest }
    }
}

/// Refuse a kernel whose variables are too large for an invocation.
///
/// # Errors
///
/// [`Refusal`] at the largest of them.
pub(crate) fn check(module: &Module) -> Result<()> {
    let mut needs = Vec::with_capacity(module.functions.len());
    // A function stands after those that it calls.
    for (_, function) in module.functions.iter() {
        needs.push(need(module, function, &needs));
    }
    let mut whole = need(module, &module.entry_points[0].function, &needs);
    for (handle, variable) in module.global_variables.iter() {
        if variable.space == naga::AddressSpace::Private {
            whole.declare(module, variable.ty, module.global_variables.get_span(handle));
        }
    }
    if whole.bytes <= BYTES_MAX {
        return Ok(());
    }
    let text = format!(
        "variables of `private` and `function` take {} bytes of each invocation, of which this one takes {}, and at most \
         {BYTES_MAX} bytes are there; use workgroup or storage memory",
        whole.bytes, whole.largest.0
    );
    Err(Refusal { span: whole.largest.1, text })
}

/// What a function needs, with the callee that needs most.
fn need(module: &Module, function: &Function, needs: &[Need]) -> Need {
    let mut own = Need::default();
    for (handle, local) in function.local_variables.iter() {
        own.declare(module, local.ty, function.local_variables.get_span(handle));
    }
    let mut most = Need::default();
    visit(&function.body, |statement| {
        if let Statement::Call { function, .. } = statement {
            let callee = needs.get(function.index()).copied().unwrap_or_default();
            if callee.bytes > most.bytes {
                most = callee;
            }
        }
    });
    own.and(most)
}
