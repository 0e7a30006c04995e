//! How values lie in slots, one for each scalar with no padding, and how they lie in the bytes of a buffer.

use naga::proc::Alignment;
use naga::{ArraySize, Handle, Module, Scalar, Type, TypeInner, VectorSize};

use super::kind::Kind;
use super::refusal::{Refusal, unsupported};

/// The most slots of one type: far above what WGSL lets a shader use, far below what overflows.
const SLOTS_MAX: u64 = 1 << 24;

/// Slots of each type of a module.
#[derive(Debug)]
pub(super) struct Layout<'m> {
    module: &'m Module,
    slots: Vec<u32>,
}

/// Where the scalars of a value lie in a buffer, told apart from where they lie in slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Scalars of `width` bytes with nothing between them.
    Run { width: u32, count: u32 },
    /// The same again and again.
    Repeat { count: u32, bytes: u32, slots: u32, of: Box<Shape> },
    /// Parts at offsets in bytes and slots.
    Parts(Vec<(u32, u32, Shape)>),
}

impl Shape {
    /// Call `visit` with offset in bytes, offset in slots, width and count of each run.
    pub(super) fn runs(&self, byte: u64, slot: u32, visit: &mut impl FnMut(u64, u32, u32, u32)) {
        match self {
            Self::Run { width, count } => visit(byte, slot, *width, *count),
            Self::Repeat { count, bytes, slots, of } => {
                for k in 0..*count {
                    of.runs(byte + u64::from(k) * u64::from(*bytes), slot + k * slots, visit);
                }
            }
            Self::Parts(parts) => {
                for (bytes, slots, shape) in parts {
                    shape.runs(byte + u64::from(*bytes), slot + slots, visit);
                }
            }
        }
    }
}

/// A part of a value: where it begins and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) slots: u32,
    pub(super) bytes: u32,
    /// Its slots.
    pub(super) len: u32,
}

/// What lies at every index of a vector, matrix or array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Elements {
    /// Slots from one to the next, which is what one has.
    pub(super) slots: u32,
    /// Bytes from one to the next.
    pub(super) bytes: u32,
    /// How many; none where only the bound buffer says it.
    pub(super) count: Option<u32>,
}

/// The kind of a scalar of a valid module.
pub(super) fn kind(scalar: Scalar) -> Result<Kind, Refusal> {
    Kind::of(scalar).ok_or_else(|| unsupported(format!("a value of type {scalar:?}")))
}

/// Bytes from one column of a matrix to the next.
pub(super) fn column_stride(rows: VectorSize, scalar: Scalar) -> u32 {
    Alignment::from(rows) * u32::from(scalar.width)
}

impl<'m> Layout<'m> {
    pub(super) fn new(module: &'m Module) -> Result<Self, Refusal> {
        let mut layout = Self { module, slots: Vec::with_capacity(module.types.len()) };
        for (_, ty) in module.types.iter() {
            let slots = layout.slots_of(&ty.inner)?;
            layout.slots.push(slots);
        }
        Ok(layout)
    }

    /// Slots of a type. A runtime-sized array has those of one element, since no value has its type.
    pub(super) fn slots(&self, ty: Handle<Type>) -> u32 {
        self.slots[ty.index()]
    }

    /// Slots of a type that may have no handle; its parts were seen before.
    pub(super) fn slots_of(&self, inner: &TypeInner) -> Result<u32, Refusal> {
        let slots = match inner {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => kind(*scalar).map(|_| 1)?,
            TypeInner::Vector { size, scalar } => kind(*scalar).map(|_| *size as u64)?,
            TypeInner::Matrix { columns, rows, .. } => *columns as u64 * *rows as u64,
            TypeInner::Array { base, size, .. } => {
                let count = match size {
                    ArraySize::Constant(count) => count.get(),
                    ArraySize::Dynamic => 1,
                    ArraySize::Pending(_) => return Err(unsupported("an array whose size is not known")),
                };
                u64::from(count) * u64::from(self.slots(*base))
            }
            TypeInner::Struct { members, .. } => members.iter().map(|member| u64::from(self.slots(member.ty))).sum(),
            TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } => 1,
            TypeInner::CooperativeMatrix { .. }
            | TypeInner::Image { .. }
            | TypeInner::Sampler { .. }
            | TypeInner::AccelerationStructure { .. }
            | TypeInner::RayQuery { .. }
            | TypeInner::BindingArray { .. } => {
                return Err(unsupported("a type that is no number, vector, matrix, array or struct"));
            }
        };
        if slots > SLOTS_MAX {
            return Err(unsupported(format!("a type of {slots} scalars; the simulator takes {SLOTS_MAX}")));
        }
        Ok(u32::try_from(slots).expect("bounded above"))
    }

    /// Where the scalars of a type lie in a buffer.
    pub(super) fn shape(&self, inner: &TypeInner) -> Result<Shape, Refusal> {
        Ok(match inner {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => {
                Shape::Run { width: kind(*scalar)?.width(), count: 1 }
            }
            TypeInner::Vector { size, scalar } => Shape::Run { width: kind(*scalar)?.width(), count: *size as u32 },
            TypeInner::Matrix { columns, rows, scalar } => {
                let column = Shape::Run { width: kind(*scalar)?.width(), count: *rows as u32 };
                repeat(*columns as u32, column_stride(*rows, *scalar), *rows as u32, column)
            }
            TypeInner::Array { base, size: ArraySize::Constant(count), stride } => {
                let element = self.shape(&self.module.types[*base].inner)?;
                repeat(count.get(), *stride, self.slots(*base), element)
            }
            TypeInner::Struct { members, .. } => {
                let mut slot = 0;
                let mut parts = Vec::with_capacity(members.len());
                for member in members {
                    parts.push((member.offset, slot, self.shape(&self.module.types[member.ty].inner)?));
                    slot += self.slots(member.ty);
                }
                Shape::Parts(parts)
            }
            _ => return Err(unsupported("a value of a type that has no layout in a buffer")),
        })
    }

    /// The elements of a type that an index goes into.
    pub(super) fn elements(&self, inner: &TypeInner) -> Option<Elements> {
        Some(match inner {
            TypeInner::Vector { size, scalar } => {
                Elements { slots: 1, bytes: u32::from(scalar.width), count: Some(*size as u32) }
            }
            TypeInner::Matrix { columns, rows, scalar } => {
                let bytes = column_stride(*rows, *scalar);
                Elements { slots: *rows as u32, bytes, count: Some(*columns as u32) }
            }
            TypeInner::Array { base, size, stride } => {
                let count = match size {
                    ArraySize::Constant(count) => Some(count.get()),
                    ArraySize::Pending(_) | ArraySize::Dynamic => None,
                };
                Elements { slots: self.slots(*base), bytes: *stride, count }
            }
            _ => return None,
        })
    }

    /// A member or a constant element of a type.
    pub(super) fn part(&self, inner: &TypeInner, index: u32) -> Option<Part> {
        if let TypeInner::Struct { members, .. } = inner {
            let before = members.iter().take(index as usize).map(|member| self.slots(member.ty)).sum();
            let member = members.get(index as usize)?;
            return Some(Part { slots: before, bytes: member.offset, len: self.slots(member.ty) });
        }
        let elements = self.elements(inner)?;
        Some(Part { slots: index * elements.slots, bytes: index * elements.bytes, len: elements.slots })
    }
}

/// A repetition, joined to one run where nothing lies between.
fn repeat(count: u32, bytes: u32, slots: u32, of: Shape) -> Shape {
    match of {
        Shape::Run { width, count: inner } if width * inner == bytes => Shape::Run { width, count: inner * count },
        of => Shape::Repeat { count, bytes, slots, of: Box::new(of) },
    }
}
