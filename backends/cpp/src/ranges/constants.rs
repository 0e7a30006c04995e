//! The module's constants, scalar by scalar.

use naga::{Arena, Expression, Handle, Module};

use super::expression::integer;
use super::shape::Shapes;

/// The scalars of each global expression; none for those that are no integers, and nothing where it is not followed.
#[derive(Debug)]
pub(super) struct Constants {
    of: Vec<Vec<Option<i128>>>,
}

impl Constants {
    pub(super) fn new(module: &Module, shapes: &Shapes) -> Self {
        let expressions: &Arena<Expression> = &module.global_expressions;
        let mut constants = Self { of: Vec::with_capacity(expressions.len()) };
        // An expression comes after those that it is made of.
        for (_, expression) in expressions.iter() {
            let value = constants.value(module, shapes, expression);
            constants.of.push(value);
        }
        constants
    }

    pub(super) fn of(&self, expression: Handle<Expression>) -> &[Option<i128>] {
        self.of.get(expression.index()).map_or(&[], Vec::as_slice)
    }

    fn value(&self, module: &Module, shapes: &Shapes, expression: &Expression) -> Vec<Option<i128>> {
        match expression {
            Expression::Literal(literal) => vec![integer(*literal)],
            Expression::Constant(constant) => self.of(module.constants[*constant].init).to_vec(),
            Expression::ZeroValue(ty) => vec![Some(0); shapes.of(*ty).len()],
            Expression::Splat { size, value } => match self.of(*value) {
                [one] => vec![*one; *size as usize],
                _ => Vec::new(),
            },
            Expression::Compose { ty, components } if !shapes.of(*ty).is_empty() => {
                components.iter().flat_map(|component| self.of(*component)).copied().collect()
            }
            _ => Vec::new(),
        }
    }
}
