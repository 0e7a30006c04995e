//! Where WGSL puts values in a storage buffer, and the bytes of values there. A bool is held as a `u32`.

use half::f16;

use crate::{Scalar, ScalarKind, Shape};

/// Size and alignment of a type in a storage buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) size: usize,
    pub(crate) align: usize,
}

impl Extent {
    /// Bytes from one element of an array to the next.
    pub(crate) fn stride(self) -> usize {
        self.size.next_multiple_of(self.align)
    }
}

/// The extent of `shape`; `None` where no buffer holds it.
pub(crate) fn extent(shape: Shape) -> Option<Extent> {
    let bytes = shape.kind().bytes()?;
    let vector = |width: u8| Extent {
        size: usize::from(width) * bytes,
        // Three components are aligned as four.
        align: usize::from(width).next_power_of_two() * bytes,
    };
    Some(match shape {
        Shape::Scalar(_) => vector(1),
        Shape::Vector(width, _) => vector(width),
        Shape::Matrix { columns, rows, .. } => {
            let column = vector(rows);
            Extent { size: usize::from(columns) * column.stride(), align: column.align }
        }
    })
}

/// Where each component of `shape` begins.
fn offsets(shape: Shape) -> impl Iterator<Item = usize> {
    let bytes = shape.kind().bytes().unwrap_or_default();
    let (rows, stride) = match shape {
        Shape::Matrix { rows, .. } => (usize::from(rows), usize::from(rows).next_power_of_two() * bytes),
        _ => (shape.components(), 0),
    };
    (0..shape.components()).map(move |index| index / rows * stride + index % rows * bytes)
}

/// Offsets of a struct's members, and the extent of the struct; `None` where a member has no place in a buffer.
pub(crate) fn structure(members: &[Shape]) -> Option<(Vec<usize>, Extent)> {
    let mut whole = Extent { size: 0, align: 1 };
    let mut offsets = Vec::new();
    for member in members {
        let extent = extent(*member)?;
        let offset = whole.size.next_multiple_of(extent.align);
        offsets.push(offset);
        whole = Extent { size: offset + extent.size, align: whole.align.max(extent.align) };
    }
    whole.size = whole.stride();
    Some((offsets, whole))
}

/// Write the components of a value of `shape` at the start of `bytes`, which has room for its extent.
pub(crate) fn write(shape: Shape, parts: &[Scalar], bytes: &mut [u8]) {
    for (offset, part) in offsets(shape).zip(parts) {
        let mut put = |found: &[u8]| bytes[offset..offset + found.len()].copy_from_slice(found);
        match part {
            Scalar::F32(value) => put(&value.to_le_bytes()),
            Scalar::F16(value) => put(&value.to_le_bytes()),
            Scalar::U32(value) => put(&value.to_le_bytes()),
            Scalar::I32(value) => put(&value.to_le_bytes()),
            Scalar::Bool(value) => put(&u32::from(*value).to_le_bytes()),
            other => unreachable!("a plan of {} has no extent", other.kind().name()),
        }
    }
}

/// The components of a value of `shape` at the start of `bytes`, which hold its extent. A bool that is neither 0 nor 1
/// is the error.
pub(crate) fn read(shape: Shape, bytes: &[u8]) -> Result<Vec<Scalar>, u32> {
    let part = |offset: usize| {
        let word = || u32::from_le_bytes(std::array::from_fn(|index| bytes[offset + index]));
        Ok(match shape.kind() {
            ScalarKind::F32 => Scalar::F32(f32::from_bits(word())),
            ScalarKind::F16 => Scalar::F16(f16::from_le_bytes([bytes[offset], bytes[offset + 1]])),
            ScalarKind::U32 => Scalar::U32(word()),
            ScalarKind::I32 => Scalar::I32(word().cast_signed()),
            ScalarKind::Bool if word() <= 1 => Scalar::Bool(word() == 1),
            ScalarKind::Bool => return Err(word()),
            other => unreachable!("a plan of {} has no extent", other.name()),
        })
    };
    offsets(shape).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(shape: Shape) -> (usize, usize, usize) {
        let extent = extent(shape).expect("a shareable type");
        (extent.size, extent.align, extent.stride())
    }

    fn matrix(columns: u8, rows: u8, kind: ScalarKind) -> Shape {
        Shape::Matrix { columns, rows, kind }
    }

    #[test]
    fn extents_are_those_of_the_table_in_wgsl() {
        use ScalarKind::{Bool, F16, F32, I32};
        assert_eq!(of(Shape::Scalar(F16)), (2, 2, 2));
        assert_eq!(of(Shape::Scalar(Bool)), (4, 4, 4));
        assert_eq!(of(Shape::Vector(2, F16)), (4, 4, 4));
        assert_eq!(of(Shape::Vector(3, F16)), (6, 8, 8));
        assert_eq!(of(Shape::Vector(3, I32)), (12, 16, 16));
        assert_eq!(of(Shape::Vector(4, F32)), (16, 16, 16));
        assert_eq!(of(matrix(2, 2, F32)), (16, 8, 16));
        assert_eq!(of(matrix(3, 3, F32)), (48, 16, 48));
        assert_eq!(of(matrix(4, 3, F16)), (32, 8, 32));
        assert_eq!(of(matrix(3, 2, F16)), (12, 4, 12));
        assert_eq!(extent(Shape::Scalar(ScalarKind::F64)), None);
        assert_eq!(extent(Shape::Vector(2, ScalarKind::AbstractInt)), None);
    }

    #[test]
    fn members_lie_at_multiples_of_their_alignment() {
        let (f32, vec3) = (Shape::Scalar(ScalarKind::F32), Shape::Vector(3, ScalarKind::F32));
        let half = Shape::Scalar(ScalarKind::F16);
        assert_eq!(structure(&[vec3, f32]), Some((vec![0, 12], Extent { size: 16, align: 16 })));
        assert_eq!(structure(&[f32, vec3]), Some((vec![0, 16], Extent { size: 32, align: 16 })));
        assert_eq!(structure(&[half; 3]), Some((vec![0, 2, 4], Extent { size: 6, align: 2 })));
        assert_eq!(structure(&[half, f32]), Some((vec![0, 4], Extent { size: 8, align: 4 })));
        assert_eq!(structure(&[Shape::Scalar(ScalarKind::I8)]), None);
    }

    #[test]
    fn columns_of_three_rows_are_padded() {
        let shape = matrix(2, 3, ScalarKind::F32);
        let parts: Vec<Scalar> = (1..7u8).map(|value| Scalar::F32(f32::from(value))).collect();
        let mut bytes = [0xee; 32];
        write(shape, &parts, &mut bytes);
        assert_eq!(bytes[16..20], 4f32.to_le_bytes());
        assert_eq!(bytes[12..16], [0xee; 4], "the padding is not written");
        assert_eq!(read(shape, &bytes), Ok(parts));
    }

    #[test]
    fn what_is_written_is_read() {
        for parts in [
            vec![Scalar::F16(f16::from_bits(0x7e01)), Scalar::F16(f16::from_f32(0.5)), Scalar::F16(f16::ZERO)],
            vec![Scalar::I32(-1), Scalar::I32(i32::MIN), Scalar::I32(7)],
            vec![Scalar::U32(u32::MAX), Scalar::U32(0), Scalar::U32(7)],
            vec![Scalar::Bool(true), Scalar::Bool(false), Scalar::Bool(true)],
        ] {
            let shape = Shape::Vector(3, parts[0].kind());
            let mut bytes = [0; 16];
            write(shape, &parts, &mut bytes);
            let again = read(shape, &bytes).expect("bools are 0 or 1");
            let texts = |parts: &[Scalar]| parts.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(texts(&again), texts(&parts));
        }
        assert_eq!(read(Shape::Scalar(ScalarKind::Bool), &[2, 0, 0, 0]), Err(2));
    }
}
