//! Values that are known before a kernel runs: computed once, kept once.

use std::collections::HashMap;
use std::rc::Rc;

use naga::{Arena, Expression, Handle, Literal, Type, TypeInner};

use super::kind::Bits;
use super::layout::Layout;

/// Slots up to which a constant lies among those of every invocation. Larger ones lie in a table that all share.
const POOL_SLOTS_MAX: usize = 16;

/// A value as its slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// So many zeros: a zero of a large type is not written out.
    Zero(u32),
    Slots(Rc<[u64]>),
}

impl Known {
    fn len(&self) -> usize {
        match self {
            Self::Zero(n) => *n as usize,
            Self::Slots(slots) => slots.len(),
        }
    }

    fn append_to(&self, slots: &mut Vec<u64>) {
        match self {
            Self::Zero(n) => slots.extend(std::iter::repeat_n(0, *n as usize)),
            Self::Slots(known) => slots.extend_from_slice(known),
        }
    }

    fn part(&self, from: u32, n: u32) -> Option<Self> {
        Some(match self {
            Self::Zero(_) => Self::Zero(n),
            Self::Slots(slots) => Self::Slots(slots.get(from as usize..(from + n) as usize)?.into()),
        })
    }
}

/// Where a constant is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// In slots of every invocation.
    Pool(u32),
    /// In the table.
    Table(u32),
    /// Nowhere: it is all zeros.
    Zero,
}

/// The constants of a program.
#[derive(Debug)]
pub(super) struct Constants {
    /// Zero, then the small constants.
    pub(super) pool: Vec<u64>,
    pub(super) table: Vec<u64>,
    kept: HashMap<Vec<u64>, Kept>,
}

impl Constants {
    pub(super) fn new() -> Self {
        Self { pool: vec![0], table: Vec::new(), kept: HashMap::from([(vec![0], Kept::Pool(0))]) }
    }

    /// Keep a value, once.
    pub(super) fn keep(&mut self, known: &Known) -> Kept {
        if let Known::Zero(n) = known
            && *n as usize > POOL_SLOTS_MAX
        {
            return Kept::Zero;
        }
        let mut slots = Vec::with_capacity(known.len());
        known.append_to(&mut slots);
        if let Some(kept) = self.kept.get(&slots) {
            return *kept;
        }
        let (into, place): (_, fn(u32) -> Kept) =
            if slots.len() > POOL_SLOTS_MAX { (&mut self.table, Kept::Table) } else { (&mut self.pool, Kept::Pool) };
        let kept = place(u32::try_from(into.len()).expect("a text has fewer constants"));
        into.extend_from_slice(&slots);
        self.kept.insert(slots, kept);
        kept
    }
}

/// The values of an arena's expressions that are known; operands come before what is made of them.
pub(super) fn evaluate(
    layout: &Layout<'_>,
    expressions: &Arena<Expression>,
    constants: &[Known],
    type_of: impl Fn(Handle<Expression>) -> TypeInner,
) -> Vec<Option<Known>> {
    let mut found: Vec<Option<Known>> = Vec::with_capacity(expressions.len());
    for (_, expression) in expressions.iter() {
        let known = one(layout, expression, constants, &found, &type_of);
        found.push(known);
    }
    found
}

fn one(
    layout: &Layout<'_>,
    expression: &Expression,
    constants: &[Known],
    found: &[Option<Known>],
    type_of: &impl Fn(Handle<Expression>) -> TypeInner,
) -> Option<Known> {
    let of = |handle: Handle<Expression>| found.get(handle.index()).cloned().flatten();
    match expression {
        Expression::Literal(literal) => Some(Known::Slots([bits(*literal)?].into())),
        Expression::Constant(handle) => constants.get(handle.index()).cloned(),
        Expression::ZeroValue(ty) => Some(Known::Zero(layout.slots(*ty))),
        Expression::Compose { ty, components } => compose(layout, *ty, components, of),
        Expression::Splat { size, value } => match of(*value)? {
            Known::Zero(_) => Some(Known::Zero(*size as u32)),
            Known::Slots(slots) => Some(Known::Slots(vec![*slots.first()?; *size as usize].into())),
        },
        Expression::Swizzle { size, vector, pattern } => {
            let mut slots = Vec::new();
            of(*vector)?.append_to(&mut slots);
            let picked = pattern.iter().take(*size as usize).map(|component| slots.get(*component as usize).copied());
            Some(Known::Slots(picked.collect::<Option<Vec<_>>>()?.into()))
        }
        Expression::AccessIndex { base, index } => {
            let whole = of(*base)?;
            let part = layout.part(&type_of(*base), *index)?;
            whole.part(part.slots, part.len)
        }
        _ => None,
    }
}

fn compose(
    layout: &Layout<'_>,
    ty: Handle<Type>,
    components: &[Handle<Expression>],
    of: impl Fn(Handle<Expression>) -> Option<Known>,
) -> Option<Known> {
    let mut slots = Vec::with_capacity(layout.slots(ty) as usize);
    for component in components {
        of(*component)?.append_to(&mut slots);
    }
    Some(Known::Slots(slots.into()))
}

fn bits(literal: Literal) -> Option<u64> {
    Some(match literal {
        Literal::F64(value) => value.bits(),
        Literal::F32(value) => value.bits(),
        Literal::F16(value) => value.bits(),
        Literal::U16(value) => value.bits(),
        Literal::I16(value) => value.bits(),
        Literal::U32(value) => value.bits(),
        Literal::I32(value) => value.bits(),
        Literal::U64(value) => value.bits(),
        Literal::I64(value) => value.bits(),
        Literal::Bool(value) => value.bits(),
        // Of abstract numbers a valid function has none.
        Literal::AbstractInt(_) | Literal::AbstractFloat(_) => return None,
    })
}
