//! Types of WGSL and their layout in buffers: what initial bytes are made from, and what says where a float lies.

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Bool,
    I32,
    U32,
    F32,
    F16,
    I64,
    U64,
    I16,
    U16,
}

impl Scalar {
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::I16 => "i16",
            Self::U16 => "u16",
        }
    }

    pub(crate) const fn bits(self) -> u32 {
        match self {
            Self::Bool | Self::I32 | Self::U32 | Self::F32 => 32,
            Self::F16 | Self::I16 | Self::U16 => 16,
            Self::I64 | Self::U64 => 64,
        }
    }

    pub(crate) const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16)
    }

    pub(crate) const fn is_signed(self) -> bool {
        matches!(self, Self::I32 | Self::I64 | Self::I16)
    }

    pub(crate) fn is_int(self) -> bool {
        !self.is_float() && self != Self::Bool
    }
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Scalar(Scalar),
    /// Components, and what they are.
    Vector(u32, Scalar),
    /// Columns and rows, of `f32`.
    Matrix(u32, u32),
    Array(Box<Type>, u32),
    /// By its place in the module.
    Struct(usize),
}

/// One member of a struct.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// `@align`, a power of two that is a multiple of the type's own.
    pub(crate) align: Option<u32>,
    /// `@size`, no less than the type's own.
    pub(crate) size: Option<u32>,
}

/// The structs of a module, in order of declaration.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Structs(pub(crate) Vec<Vec<Member>>);

pub(crate) const BOOL: Type = Type::Scalar(Scalar::Bool);
pub(crate) const I32: Type = Type::Scalar(Scalar::I32);
pub(crate) const U32: Type = Type::Scalar(Scalar::U32);
pub(crate) const F32: Type = Type::Scalar(Scalar::F32);

impl Type {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Scalar(scalar) => scalar.text().to_owned(),
            Self::Vector(lanes, scalar) => format!("vec{lanes}<{}>", scalar.text()),
            Self::Matrix(columns, rows) => format!("mat{columns}x{rows}<f32>"),
            Self::Array(element, len) => format!("array<{}, {len}>", element.text()),
            Self::Struct(number) => format!("S{number}"),
        }
    }

    /// The scalar of a scalar, vector or matrix.
    pub(crate) fn scalar(&self) -> Option<Scalar> {
        match self {
            Self::Scalar(scalar) | Self::Vector(_, scalar) => Some(*scalar),
            Self::Matrix(..) => Some(Scalar::F32),
            Self::Array(..) | Self::Struct(_) => None,
        }
    }

    pub(crate) fn lanes(&self) -> u32 {
        if let Self::Vector(lanes, _) = self { *lanes } else { 1 }
    }

    /// The same form over another scalar.
    pub(crate) fn of(&self, scalar: Scalar) -> Self {
        match self {
            Self::Vector(lanes, _) => Self::Vector(*lanes, scalar),
            _ => Self::Scalar(scalar),
        }
    }
}

impl Structs {
    /// Whether a value of `whole` has a part of type `part`, itself included.
    pub(crate) fn contains(&self, whole: &Type, part: &Type) -> bool {
        whole == part
            || match whole {
                Type::Scalar(_) => false,
                Type::Vector(_, scalar) => *part == Type::Scalar(*scalar),
                Type::Matrix(_, rows) => self.contains(&Type::Vector(*rows, Scalar::F32), part),
                Type::Array(element, _) => self.contains(element, part),
                Type::Struct(number) => self.0[*number].iter().any(|member| self.contains(&member.ty, part)),
            }
    }

    pub(crate) fn align(&self, ty: &Type) -> u32 {
        match ty {
            Type::Scalar(scalar) => scalar.bits() / 8,
            Type::Vector(lanes, scalar) => scalar.bits() / 8 * if *lanes == 2 { 2 } else { 4 },
            Type::Matrix(_, rows) => self.align(&Type::Vector(*rows, Scalar::F32)),
            Type::Array(element, _) => self.align(element),
            Type::Struct(number) => {
                let aligns =
                    self.0[*number].iter().map(|member| member.align.unwrap_or_else(|| self.align(&member.ty)));
                aligns.max().unwrap_or(1)
            }
        }
    }

    pub(crate) fn size(&self, ty: &Type) -> u32 {
        match ty {
            Type::Scalar(scalar) => scalar.bits() / 8,
            Type::Vector(lanes, scalar) => scalar.bits() / 8 * lanes,
            Type::Matrix(columns, rows) => columns * self.stride(&Type::Vector(*rows, Scalar::F32)),
            Type::Array(element, len) => len * self.stride(element),
            Type::Struct(number) => {
                let (_, end) = self.offsets(*number);
                end.next_multiple_of(self.align(ty))
            }
        }
    }

    /// Bytes from one element of an array to the next.
    pub(crate) fn stride(&self, element: &Type) -> u32 {
        self.size(element).next_multiple_of(self.align(element))
    }

    /// The offset of each member, and where the last one ends.
    pub(crate) fn offsets(&self, number: usize) -> (Vec<u32>, u32) {
        let mut end = 0u32;
        let offsets = self.0[number].iter().map(|member| {
            let at = end.next_multiple_of(member.align.unwrap_or_else(|| self.align(&member.ty)));
            end = at + member.size.unwrap_or_else(|| self.size(&member.ty));
            at
        });
        (offsets.collect(), end)
    }

    /// Where each scalar of a value lies that begins at `base`.
    pub(crate) fn leaves(&self, ty: &Type, base: u32, to: &mut Vec<(u32, Scalar)>) {
        match ty {
            Type::Scalar(scalar) => to.push((base, *scalar)),
            Type::Vector(lanes, scalar) => {
                to.extend((0..*lanes).map(|lane| (base + lane * scalar.bits() / 8, *scalar)))
            }
            Type::Matrix(columns, rows) => {
                let column = Type::Vector(*rows, Scalar::F32);
                (0..*columns).for_each(|k| self.leaves(&column, base + k * self.stride(&column), to));
            }
            Type::Array(element, len) => {
                (0..*len).for_each(|k| self.leaves(element, base + k * self.stride(element), to));
            }
            Type::Struct(number) => {
                let (offsets, _) = self.offsets(*number);
                let members = self.0[*number].iter().zip(offsets);
                members.for_each(|(member, offset)| self.leaves(&member.ty, base + offset, to));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(ty: Type) -> Member {
        Member { name: "m".to_owned(), ty, align: None, size: None }
    }

    #[test]
    fn the_layout_is_that_of_wgsl() {
        let vec3 = Type::Vector(3, Scalar::F32);
        let mut structs = Structs(vec![vec![member(vec3.clone()), member(F32), member(U32)]]);
        assert_eq!((structs.offsets(0), structs.size(&Type::Struct(0))), ((vec![0, 12, 16], 20), 32));
        assert_eq!(structs.size(&Type::Array(Box::new(vec3), 2)), 32);
        assert_eq!(structs.size(&Type::Matrix(2, 3)), 32);
        structs.0[0][1].size = Some(20);
        structs.0[0][2].align = Some(32);
        assert_eq!(structs.offsets(0), (vec![0, 12, 32], 36));
        let mut leaves = Vec::new();
        structs.leaves(&Type::Struct(0), 4, &mut leaves);
        let f32s = [4, 8, 12, 16].map(|at| (at, Scalar::F32));
        assert_eq!(leaves, [&f32s[..], &[(36, Scalar::U32)]].concat());
    }
}
