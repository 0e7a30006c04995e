//! Which scalars a type is made of: those that are followed, one by one.

use naga::{Handle, Module, Scalar, Type, TypeInner};

/// The most scalars of a type that are followed; of larger ones nothing is known.
const SCALARS_MAX: usize = 16;

/// The scalars of each type of a module. Arrays and matrices count as none, so that a struct with one in it is followed
/// but for that.
#[derive(Debug)]
pub(super) struct Shapes {
    of: Vec<Vec<Scalar>>,
}

impl Shapes {
    pub(super) fn new(module: &Module) -> Self {
        let mut shapes = Self { of: Vec::with_capacity(module.types.len()) };
        // A type comes after those that it is made of.
        for (_, ty) in module.types.iter() {
            let shape = shapes.inner(&ty.inner);
            shapes.of.push(shape);
        }
        shapes
    }

    pub(super) fn of(&self, ty: Handle<Type>) -> &[Scalar] {
        self.of.get(ty.index()).map_or(&[], Vec::as_slice)
    }

    pub(super) fn inner(&self, inner: &TypeInner) -> Vec<Scalar> {
        match inner {
            TypeInner::Scalar(scalar) => vec![*scalar],
            TypeInner::Vector { size, scalar } => vec![*scalar; *size as usize],
            TypeInner::Struct { members, .. } => {
                let scalars: Vec<_> = members.iter().flat_map(|member| self.of(member.ty)).copied().collect();
                if scalars.len() > SCALARS_MAX { Vec::new() } else { scalars }
            }
            _ => Vec::new(),
        }
    }

    /// The first scalar and the number of scalars of a part of a type; none where the type is not followed.
    pub(super) fn part(&self, inner: &TypeInner, index: u32) -> Option<(usize, usize)> {
        match inner {
            TypeInner::Vector { .. } | TypeInner::ValuePointer { size: Some(_), .. } => Some((index as usize, 1)),
            TypeInner::Struct { members, .. } if !self.inner(inner).is_empty() => {
                let before = members.get(..index as usize)?.iter().map(|member| self.of(member.ty).len()).sum();
                Some((before, self.of(members.get(index as usize)?.ty).len()))
            }
            _ => None,
        }
    }
}
