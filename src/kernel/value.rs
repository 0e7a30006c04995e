//! Scalars and small vectors, as a launch passes them to a kernel.

use std::fmt;

/// A numeric type of WGSL that can be passed by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each is the WGSL type of that name")]
pub enum ScalarType {
    I32,
    U32,
    F32,
    F16,
    I64,
    U64,
    F64,
}

impl ScalarType {
    /// Its size in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F64 => "f64",
        })
    }
}

/// A scalar, or a vector of 2 to 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct ValueType {
    /// The component type.
    pub scalar: ScalarType,
    /// Components: 1 to 4.
    pub lanes: u8,
}

impl ValueType {
    /// Its size in bytes, without padding.
    pub const fn bytes(self) -> usize {
        self.scalar.bytes() * self.lanes as usize
    }
}

impl From<ScalarType> for ValueType {
    fn from(scalar: ScalarType) -> Self {
        Self { scalar, lanes: 1 }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lanes {
            1 => write!(f, "{}", self.scalar),
            lanes => write!(f, "vec{lanes}<{}>", self.scalar),
        }
    }
}

/// A value of a [`ValueType`]: its components in little-endian order, as WGSL lays them out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Value {
    ty: ValueType,
    bytes: [u8; 32],
}

impl Value {
    /// A value from its bytes; `None` unless there are just as many as the type has.
    pub fn from_bytes(ty: ValueType, bytes: &[u8]) -> Option<Self> {
        if !(1..=4).contains(&ty.lanes) || bytes.len() != ty.bytes() {
            return None;
        }
        let mut padded = [0; 32];
        padded[..bytes.len()].copy_from_slice(bytes);
        Some(Self { ty, bytes: padded })
    }

    /// Its type.
    pub const fn ty(&self) -> ValueType {
        self.ty
    }

    /// Its bytes, without padding.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.ty.bytes()]
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.ty.scalar.bytes();
        for (lane, bytes) in self.bytes().chunks_exact(size).enumerate() {
            if lane > 0 {
                f.write_str(", ")?;
            }
            match self.ty.scalar {
                ScalarType::I32 => write!(f, "{}", bytemuck::pod_read_unaligned::<i32>(bytes))?,
                ScalarType::U32 => write!(f, "{}", bytemuck::pod_read_unaligned::<u32>(bytes))?,
                ScalarType::F32 => write!(f, "{}", bytemuck::pod_read_unaligned::<f32>(bytes))?,
                ScalarType::F16 => write!(f, "f16:{:#06x}", bytemuck::pod_read_unaligned::<u16>(bytes))?,
                ScalarType::I64 => write!(f, "{}", bytemuck::pod_read_unaligned::<i64>(bytes))?,
                ScalarType::U64 => write!(f, "{}", bytemuck::pod_read_unaligned::<u64>(bytes))?,
                ScalarType::F64 => write!(f, "{}", bytemuck::pod_read_unaligned::<f64>(bytes))?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({self})", self.ty)
    }
}

/// A Rust number that a kernel can take by value. Arrays of 2 to 4 are vectors.
pub trait Scalar: bytemuck::Pod {
    /// The WGSL type.
    const TYPE: ScalarType;
}

macro_rules! scalar {
    ($($rust:ty => $wgsl:ident),*) => {$(
        impl Scalar for $rust {
            const TYPE: ScalarType = ScalarType::$wgsl;
        }
    )*};
}

scalar!(i32 => I32, u32 => U32, f32 => F32, i64 => I64, u64 => U64, f64 => F64);

impl<T: Scalar> From<T> for Value {
    fn from(value: T) -> Self {
        let mut bytes = [0; 32];
        bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
        Self { ty: ValueType { scalar: T::TYPE, lanes: 1 }, bytes }
    }
}

macro_rules! vector {
    ($($lanes:literal),*) => {$(
        impl<T: Scalar> From<[T; $lanes]> for Value {
            fn from(value: [T; $lanes]) -> Self {
                let mut bytes = [0; 32];
                bytes[..size_of::<T>() * $lanes].copy_from_slice(bytemuck::cast_slice(&value));
                Self { ty: ValueType { scalar: T::TYPE, lanes: $lanes }, bytes }
            }
        }
    )*};
}

vector!(2, 3, 4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_type_bytes_and_text() {
        let value = Value::from(0.5f32);
        assert_eq!((value.ty().to_string(), value.to_string()), ("f32".into(), "0.5".into()));
        assert_eq!(value.bytes(), 0.5f32.to_le_bytes());
        let vector = Value::from([1u32, 2, 3]);
        assert_eq!((vector.ty().to_string(), vector.to_string()), ("vec3<u32>".into(), "1, 2, 3".into()));
        assert_eq!(vector.bytes().len(), 12);
        assert_eq!(Value::from_bytes(value.ty(), &[0; 3]), None);
    }
}
