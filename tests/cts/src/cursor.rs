//! Reads the primitives of an expectation file: little-endian, each at a multiple of its size.

use half::f16;

use crate::error::{DecodeError, Flaw};

/// A place in a file.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// What follows the last item read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let start = self.at.next_multiple_of(N);
        let found = self.bytes.get(start..).and_then(|rest| rest.first_chunk::<N>());
        let Some(found) = found else {
            let need = start + N - self.bytes.len();
            return Err(DecodeError { at: self.at, flaw: Flaw::Truncated { need } });
        };
        self.at = start + N;
        Ok(*found)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn i8(&mut self) -> Result<i8, DecodeError> {
        self.array().map(i8::from_le_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn i16(&mut self) -> Result<i16, DecodeError> {
        self.array().map(i16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, DecodeError> {
        self.array().map(i32::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, DecodeError> {
        self.array().map(i64::from_le_bytes)
    }

    pub(crate) fn f16(&mut self) -> Result<f16, DecodeError> {
        self.array().map(f16::from_le_bytes)
    }

    pub(crate) fn f32(&mut self) -> Result<f32, DecodeError> {
        self.array().map(f32::from_le_bytes)
    }

    pub(crate) fn f64(&mut self) -> Result<f64, DecodeError> {
        self.array().map(f64::from_le_bytes)
    }

    pub(crate) fn bool(&mut self) -> Result<bool, DecodeError> {
        let at = self.at;
        match self.u8()? {
            0 => Ok(false),
            255 => Ok(true),
            other => Err(DecodeError { at, flaw: Flaw::Bool(other) }),
        }
    }

    /// A count and that many items. A count that no file can hold ends where the bytes do: every item has some.
    pub(crate) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count = self.u32()?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub(crate) fn string(&mut self) -> Result<String, DecodeError> {
        let at = self.at;
        let units = self.list(Self::u16)?;
        String::from_utf16(&units).map_err(|_| DecodeError { at, flaw: Flaw::Text })
    }
}
