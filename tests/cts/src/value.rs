//! Values and their types, as expectation files have them and as WGSL lays them out.

use std::fmt;

use half::f16;

/// The type of one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarKind {
    /// A constant float without a type yet.
    AbstractFloat,
    /// `f64`, which WGSL does not have.
    F64,
    /// `f32`.
    F32,
    /// `f16`.
    F16,
    /// `u32`.
    U32,
    /// 16 unsigned bits, which WGSL does not have.
    U16,
    /// 8 unsigned bits, which WGSL does not have.
    U8,
    /// `i32`.
    I32,
    /// 16 signed bits, which WGSL does not have.
    I16,
    /// 8 signed bits, which WGSL does not have.
    I8,
    /// `bool`, which buffers hold as a `u32`.
    Bool,
    /// A constant integer without a type yet.
    AbstractInt,
}

impl ScalarKind {
    /// Its name; WGSL's where WGSL has the type.
    pub fn name(self) -> &'static str {
        match self {
            Self::AbstractFloat => "abstract_float",
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::U32 => "u32",
            Self::U16 => "u16",
            Self::U8 => "u8",
            Self::I32 => "i32",
            Self::I16 => "i16",
            Self::I8 => "i8",
            Self::Bool => "bool",
            Self::AbstractInt => "abstract_int",
        }
    }

    /// Whether only constant expressions have it.
    pub fn is_abstract(self) -> bool {
        matches!(self, Self::AbstractFloat | Self::AbstractInt)
    }

    /// Bytes of a component in a buffer; `None` where no buffer of WebGPU holds it. A bool is held as a `u32`.
    pub fn bytes(self) -> Option<usize> {
        match self {
            Self::F32 | Self::U32 | Self::I32 | Self::Bool => Some(4),
            Self::F16 => Some(2),
            _ => None,
        }
    }
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// One component.
    Scalar(ScalarKind),
    /// 2 to 4 components.
    Vector(u8, ScalarKind),
    /// 2 to 4 columns of 2 to 4 rows.
    Matrix {
        /// Columns.
        columns: u8,
        /// Rows.
        rows: u8,
        /// The type of a component.
        kind: ScalarKind,
    },
}

impl Shape {
    /// The type of its components.
    pub fn kind(self) -> ScalarKind {
        match self {
            Self::Scalar(kind) | Self::Vector(_, kind) | Self::Matrix { kind, .. } => kind,
        }
    }

    /// How many components it has.
    pub fn components(self) -> usize {
        match self {
            Self::Scalar(_) => 1,
            Self::Vector(width, _) => usize::from(width),
            Self::Matrix { columns, rows, .. } => usize::from(columns) * usize::from(rows),
        }
    }

    /// A scalar of this type widened to `lanes` components; anything for 1 lane. `None` for vectors and matrices.
    pub fn widened(self, lanes: u8) -> Option<Self> {
        match (self, lanes) {
            (_, 1) => Some(self),
            (Self::Scalar(kind), 2..=4) => Some(Self::Vector(lanes, kind)),
            _ => None,
        }
    }

    /// The same shape of components of `kind`.
    pub fn of(self, kind: ScalarKind) -> Self {
        match self {
            Self::Scalar(_) => Self::Scalar(kind),
            Self::Vector(width, _) => Self::Vector(width, kind),
            Self::Matrix { columns, rows, .. } => Self::Matrix { columns, rows, kind },
        }
    }
}

/// As WGSL writes the type.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(kind) => f.write_str(kind.name()),
            Self::Vector(width, kind) => write!(f, "vec{width}<{}>", kind.name()),
            Self::Matrix { columns, rows, kind } => write!(f, "mat{columns}x{rows}<{}>", kind.name()),
        }
    }
}

/// One component. Two are equal when their types and values are: 0 and -0 are, and no NaN is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant holds what the kind of its name is")]
pub enum Scalar {
    AbstractFloat(f64),
    F64(f64),
    F32(f32),
    F16(f16),
    U32(u32),
    U16(u16),
    U8(u8),
    I32(i32),
    I16(i16),
    I8(i8),
    Bool(bool),
    AbstractInt(i64),
}

impl Scalar {
    /// Its type.
    pub fn kind(self) -> ScalarKind {
        match self {
            Self::AbstractFloat(_) => ScalarKind::AbstractFloat,
            Self::F64(_) => ScalarKind::F64,
            Self::F32(_) => ScalarKind::F32,
            Self::F16(_) => ScalarKind::F16,
            Self::U32(_) => ScalarKind::U32,
            Self::U16(_) => ScalarKind::U16,
            Self::U8(_) => ScalarKind::U8,
            Self::I32(_) => ScalarKind::I32,
            Self::I16(_) => ScalarKind::I16,
            Self::I8(_) => ScalarKind::I8,
            Self::Bool(_) => ScalarKind::Bool,
            Self::AbstractInt(_) => ScalarKind::AbstractInt,
        }
    }

    /// Its value where it is a float, which an `f64` holds exactly.
    pub fn float(self) -> Option<f64> {
        match self {
            Self::AbstractFloat(value) | Self::F64(value) => Some(value),
            Self::F32(value) => Some(f64::from(value)),
            Self::F16(value) => Some(f64::from(value)),
            _ => None,
        }
    }
}

/// The value, and for floats the bits where several have one text.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AbstractFloat(value) | Self::F64(value) => write!(f, "{value:?}"),
            Self::F32(value) => write!(f, "{value:?} ({:#010x})", value.to_bits()),
            Self::F16(value) => write!(f, "{:?} ({:#06x})", f32::from(*value), value.to_bits()),
            Self::U32(value) => write!(f, "{value}"),
            Self::U16(value) => write!(f, "{value}"),
            Self::U8(value) => write!(f, "{value}"),
            Self::I32(value) => write!(f, "{value}"),
            Self::I16(value) => write!(f, "{value}"),
            Self::I8(value) => write!(f, "{value}"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::AbstractInt(value) => write!(f, "{value}"),
        }
    }
}

/// One value: its type and its components, those of a matrix column by column.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    shape: Shape,
    parts: Vec<Scalar>,
}

impl Value {
    /// A value of `shape`; `None` where the components do not make one.
    pub fn new(shape: Shape, parts: Vec<Scalar>) -> Option<Self> {
        let fits = parts.len() == shape.components() && parts.iter().all(|part| part.kind() == shape.kind());
        fits.then_some(Self { shape, parts })
    }

    /// Its type.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Its components, those of a matrix column by column.
    pub fn parts(&self) -> &[Scalar] {
        &self.parts
    }
}

impl From<Scalar> for Value {
    fn from(scalar: Scalar) -> Self {
        Self { shape: Shape::Scalar(scalar.kind()), parts: vec![scalar] }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.parts.iter().map(ToString::to_string).collect();
        write!(f, "{}({})", self.shape, parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_components_of_its_type() {
        let two = Shape::Vector(2, ScalarKind::I32);
        assert!(Value::new(two, vec![Scalar::I32(1), Scalar::I32(2)]).is_some());
        assert!(Value::new(two, vec![Scalar::I32(1)]).is_none());
        assert!(Value::new(two, vec![Scalar::I32(1), Scalar::U32(2)]).is_none());
        assert_eq!(Shape::Matrix { columns: 4, rows: 3, kind: ScalarKind::F32 }.components(), 12);
    }

    #[test]
    fn only_scalars_are_widened() {
        let scalar = Shape::Scalar(ScalarKind::F16);
        assert_eq!(scalar.widened(3), Some(Shape::Vector(3, ScalarKind::F16)));
        assert_eq!(scalar.widened(5), None);
        assert_eq!(Shape::Vector(2, ScalarKind::F16).widened(2), None);
        assert_eq!(Shape::Vector(2, ScalarKind::F16).widened(1), Some(Shape::Vector(2, ScalarKind::F16)));
    }

    #[test]
    fn a_text_tells_floats_apart_that_print_alike() {
        assert_eq!(Value::from(Scalar::F32(-0.0)).to_string(), "f32(-0.0 (0x80000000))");
        assert_eq!(Scalar::F16(f16::from_bits(0x7e01)).to_string(), "NaN (0x7e01)");
    }
}
