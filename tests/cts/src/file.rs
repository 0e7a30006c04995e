//! An expectation file: lists of cases with inputs and what is accepted. Bad bytes give an error that says where.

use std::path::Path;

use crate::cursor::Cursor;
use crate::error::{DecodeError, Flaw, LoadError};
use crate::{Expectation, Interval, Scalar, ScalarKind, Shape, Value};

/// Deeper than expectations of any file are nested; a file of nothing but brackets must not exhaust the stack.
const DEPTH_MAX: u32 = 8;

/// One builtin, operator or conversion.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// Its lists, in the order of the file.
    pub lists: Vec<List>,
}

/// Cases of one kind of input.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// Its name, as `f32_vec2_non_const`.
    pub name: String,
    /// Its cases.
    pub cases: Vec<Case>,
}

/// One evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The operands.
    pub inputs: Vec<Value>,
    /// What is accepted.
    pub expected: Expectation,
}

impl List {
    /// Whether it holds what a device computes. Lists of values without a type, and lists that leave out what would not
    /// compile, are for constant evaluation.
    pub fn runs(&self) -> bool {
        let constant = self.name.ends_with("_const") && !self.name.ends_with("non_const");
        let untyped = match self.cases.first() {
            Some(case) => case.inputs.iter().any(|input| input.shape().kind().is_abstract()),
            None => self.name.starts_with("abstract"),
        };
        !constant && !untyped
    }
}

/// Decode the bytes of a file.
///
/// # Errors
///
/// [`DecodeError`] with the place, for anything but a whole file.
pub fn decode(bytes: &[u8]) -> Result<File, DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let lists = cursor.list(|cursor| {
        let name = cursor.string()?;
        let cases = cursor.list(case)?;
        Ok(List { name, cases })
    })?;
    let rest = cursor.rest();
    if rest.len() >= 8 || rest.iter().any(|byte| *byte != 0) || !bytes.len().is_multiple_of(8) {
        return Err(DecodeError { at: cursor.at(), flaw: Flaw::Trailing(rest.len()) });
    }
    Ok(File { lists })
}

/// Read and decode a file.
///
/// # Errors
///
/// [`LoadError`] with the path.
pub fn load(path: &Path) -> Result<File, LoadError> {
    let bytes = std::fs::read(path).map_err(|source| LoadError::Io { path: path.to_owned(), source })?;
    decode(&bytes).map_err(|source| LoadError::Decode { path: path.to_owned(), source })
}

fn case(cursor: &mut Cursor<'_>) -> Result<Case, DecodeError> {
    let inputs = if cursor.bool()? { cursor.list(value)? } else { vec![value(cursor)?] };
    Ok(Case { inputs, expected: expectation(cursor, 0)? })
}

fn tag(cursor: &mut Cursor<'_>, what: &'static str) -> Result<(u8, DecodeError), DecodeError> {
    let at = cursor.at();
    let tag = cursor.u8()?;
    Ok((tag, DecodeError { at, flaw: Flaw::Tag { what, tag } }))
}

fn width(cursor: &mut Cursor<'_>) -> Result<u8, DecodeError> {
    let at = cursor.at();
    let width = cursor.u8()?;
    if (2..=4).contains(&width) { Ok(width) } else { Err(DecodeError { at, flaw: Flaw::Width(width.into()) }) }
}

fn value(cursor: &mut Cursor<'_>) -> Result<Value, DecodeError> {
    let (form, unknown_form) = tag(cursor, "value")?;
    let (kind, unknown_kind) = tag(cursor, "scalar")?;
    let kind = match kind {
        0 => ScalarKind::AbstractFloat,
        1 => ScalarKind::F64,
        2 => ScalarKind::F32,
        3 => ScalarKind::F16,
        4 => ScalarKind::U32,
        5 => ScalarKind::U16,
        6 => ScalarKind::U8,
        7 => ScalarKind::I32,
        8 => ScalarKind::I16,
        9 => ScalarKind::I8,
        10 => ScalarKind::Bool,
        11 => ScalarKind::AbstractInt,
        _ => return Err(unknown_kind),
    };
    let shape = match form {
        0 => Shape::Scalar(kind),
        1 => Shape::Vector(width(cursor)?, kind),
        2 => {
            let (columns, rows) = (width(cursor)?, width(cursor)?);
            Shape::Matrix { columns, rows, kind }
        }
        _ => return Err(unknown_form),
    };
    let parts: Result<_, DecodeError> = (0..shape.components()).map(|_| scalar(cursor, kind)).collect();
    Ok(Value::new(shape, parts?).expect("as many components of the kind as the shape has were read"))
}

fn scalar(cursor: &mut Cursor<'_>, kind: ScalarKind) -> Result<Scalar, DecodeError> {
    Ok(match kind {
        ScalarKind::AbstractFloat => Scalar::AbstractFloat(cursor.f64()?),
        ScalarKind::F64 => Scalar::F64(cursor.f64()?),
        ScalarKind::F32 => Scalar::F32(cursor.f32()?),
        ScalarKind::F16 => Scalar::F16(cursor.f16()?),
        ScalarKind::U32 => Scalar::U32(cursor.u32()?),
        ScalarKind::U16 => Scalar::U16(cursor.u16()?),
        ScalarKind::U8 => Scalar::U8(cursor.u8()?),
        ScalarKind::I32 => Scalar::I32(cursor.i32()?),
        ScalarKind::I16 => Scalar::I16(cursor.i16()?),
        ScalarKind::I8 => Scalar::I8(cursor.i8()?),
        ScalarKind::Bool => Scalar::Bool(cursor.bool()?),
        ScalarKind::AbstractInt => Scalar::AbstractInt(cursor.i64()?),
    })
}

fn interval(cursor: &mut Cursor<'_>) -> Result<Interval, DecodeError> {
    let (kind, unknown) = tag(cursor, "interval")?;
    let kind = match kind {
        0 => ScalarKind::AbstractFloat,
        1 => ScalarKind::F32,
        2 => ScalarKind::F16,
        _ => return Err(unknown),
    };
    if !cursor.bool()? {
        return Ok(Interval { kind, bounds: None });
    }
    let at = cursor.at();
    let mut bound = || scalar(cursor, kind).map(|bound| bound.float().expect("an interval is of floats"));
    let (lower, upper) = (bound()?, bound()?);
    if lower > upper || lower.is_nan() || upper.is_nan() {
        return Err(DecodeError { at, flaw: Flaw::Bounds });
    }
    Ok(Interval { kind, bounds: Some((lower, upper)) })
}

fn vector(cursor: &mut Cursor<'_>) -> Result<Expectation, DecodeError> {
    let at = cursor.at();
    let intervals = cursor.list(interval)?;
    if !(2..=4).contains(&intervals.len()) {
        let width = u16::try_from(intervals.len()).unwrap_or(u16::MAX);
        return Err(DecodeError { at, flaw: Flaw::Width(width) });
    }
    Ok(Expectation::Vector(intervals))
}

fn matrix(cursor: &mut Cursor<'_>) -> Result<Expectation, DecodeError> {
    let at = cursor.at();
    let (columns, rows) = (cursor.u16()?, cursor.u16()?);
    let intervals = cursor.list(interval)?;
    let narrow = |width: u16| match u8::try_from(width) {
        Ok(narrow) if (2..=4).contains(&narrow) => Ok(narrow),
        _ => Err(DecodeError { at, flaw: Flaw::Width(width) }),
    };
    let (narrow_columns, narrow_rows) = (narrow(columns)?, narrow(rows)?);
    if intervals.len() != usize::from(columns) * usize::from(rows) {
        return Err(DecodeError { at, flaw: Flaw::Matrix { columns, rows, count: intervals.len() } });
    }
    Ok(Expectation::Matrix { columns: narrow_columns, rows: narrow_rows, intervals })
}

fn expectation(cursor: &mut Cursor<'_>, depth: u32) -> Result<Expectation, DecodeError> {
    if depth >= DEPTH_MAX {
        return Err(DecodeError { at: cursor.at(), flaw: Flaw::Depth });
    }
    let (form, unknown) = tag(cursor, "expectation")?;
    match form {
        0 => value(cursor).map(Expectation::Value),
        1 => interval(cursor).map(Expectation::Interval),
        2 => vector(cursor),
        3 => matrix(cursor),
        5 => comparator(cursor, depth),
        _ => Err(unknown),
    }
}

fn comparator(cursor: &mut Cursor<'_>, depth: u32) -> Result<Expectation, DecodeError> {
    let (form, unknown) = tag(cursor, "comparator")?;
    match form {
        0 => cursor.list(|cursor| expectation(cursor, depth + 1)).map(Expectation::AnyOf),
        1 if cursor.bool()? => Ok(Expectation::SkipUndefined(Some(Box::new(expectation(cursor, depth + 1)?)))),
        1 => Ok(Expectation::SkipUndefined(None)),
        2 => cursor.string().map(Expectation::Pass),
        _ => Err(unknown),
    }
}

#[cfg(test)]
mod tests;
