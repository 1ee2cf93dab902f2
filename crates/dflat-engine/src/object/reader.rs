//! Bounds-checked reading in place.
//!
//! Every read checks the offsets that it follows, so that no input makes it panic or read outside
//! of the buffer.

use super::text::text;
use super::{Malformed, ScalarType};

type Read<T> = Result<T, Malformed>;

/// A FlatBuffers table in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct TableView<'a> {
    buffer: &'a [u8],
    position: usize,
    vtable: &'a [u8],
}

impl Default for TableView<'_> {
    /// A table without fields.
    fn default() -> Self {
        Self {
            buffer: &[],
            position: 0,
            vtable: &[],
        }
    }
}

/// A FlatBuffers vector in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct VectorView<'a> {
    buffer: &'a [u8],
    start: usize,
    len: usize,
}

/// The value of a union, whose type code is known.
#[derive(Clone, Copy, Debug)]
pub struct UnionView<'a> {
    /// The type code, never 0.
    pub code: u8,
    buffer: &'a [u8],
    position: usize,
}

#[inline]
fn scalar_at<T: ScalarType>(buffer: &[u8], position: usize) -> Read<T> {
    buffer.get(position..).and_then(T::read).ok_or(Malformed)
}

/// The position that the unsigned offset at `position` leads to.
#[inline]
pub(super) fn follow(buffer: &[u8], position: usize) -> Read<usize> {
    let offset = scalar_at::<u32>(buffer, position)?;
    if offset == 0 {
        return Err(Malformed);
    }
    position.checked_add(offset as usize).ok_or(Malformed)
}

#[inline]
fn text_at(buffer: &[u8], position: usize) -> Read<&str> {
    text(text_bytes_at(buffer, position)?)
}

#[inline]
pub(super) fn text_bytes_at(buffer: &[u8], position: usize) -> Read<&[u8]> {
    let len = scalar_at::<u32>(buffer, position)? as usize;
    let start = position + 4;
    start
        .checked_add(len)
        .and_then(|end| buffer.get(start..end))
        .ok_or(Malformed)
}

impl<'a> TableView<'a> {
    /// The root table of a payload.
    ///
    /// # Errors
    /// If the bytes are malformed.
    #[inline]
    pub fn root(buffer: &'a [u8]) -> Read<Self> {
        Self::at(buffer, follow(buffer, 0)?)
    }

    #[inline]
    pub(super) fn at(buffer: &'a [u8], position: usize) -> Read<Self> {
        let offset = scalar_at::<i32>(buffer, position)?;
        let vtable = usize::try_from(position as i64 - i64::from(offset)).map_err(|_| Malformed)?;
        let len = scalar_at::<u16>(buffer, vtable)? as usize;
        let vtable = buffer.get(vtable..vtable + len).ok_or(Malformed)?;
        Ok(Self {
            buffer,
            position,
            vtable,
        })
    }

    /// The position of the field's inline value; `None` if the field is absent.
    #[inline]
    pub(super) fn field(&self, voffset: u16) -> Option<usize> {
        match self.vtable.get(voffset as usize..).and_then(u16::read) {
            None | Some(0) => None,
            Some(offset) => Some(self.position + offset as usize),
        }
    }

    /// Whether the field is present.
    #[inline]
    #[must_use]
    pub fn has(&self, voffset: u16) -> bool {
        self.field(voffset).is_some()
    }

    /// Whether a field is present whose vtable offset is at least this.
    #[must_use]
    pub fn has_from(&self, voffset: u16) -> bool {
        let beyond = self.vtable.get(usize::from(voffset)..).unwrap_or_default();
        beyond.iter().any(|byte| *byte != 0)
    }

    /// A number or a boolean, or `None` if absent.
    ///
    /// # Errors
    /// If the bytes are malformed.
    #[inline]
    pub fn scalar<T: ScalarType>(&self, voffset: u16) -> Read<Option<T>> {
        match self.field(voffset) {
            None => Ok(None),
            Some(position) => scalar_at(self.buffer, position).map(Some),
        }
    }

    /// A string, or `None` if absent.
    ///
    /// # Errors
    /// If the bytes are malformed.
    #[inline]
    pub fn text(&self, voffset: u16) -> Read<Option<&'a str>> {
        match self.field(voffset) {
            None => Ok(None),
            Some(position) => text_at(self.buffer, follow(self.buffer, position)?).map(Some),
        }
    }

    /// A string's bytes, not checked to be UTF-8, or `None` if absent: enough to compare strings.
    ///
    /// # Errors
    /// If the bytes are malformed.
    #[inline]
    pub fn text_bytes(&self, voffset: u16) -> Read<Option<&'a [u8]>> {
        match self.field(voffset) {
            None => Ok(None),
            Some(position) => text_bytes_at(self.buffer, follow(self.buffer, position)?).map(Some),
        }
    }

    /// The bytes of a struct of this size, or `None` if absent.
    ///
    /// # Errors
    /// If the bytes are malformed.
    #[inline]
    pub fn structure(&self, voffset: u16, size: usize) -> Read<Option<&'a [u8]>> {
        match self.field(voffset) {
            None => Ok(None),
            Some(position) => self
                .buffer
                .get(position..position + size)
                .map(Some)
                .ok_or(Malformed),
        }
    }

    /// The bytes from an offset within an inline value on, or `None` if the field is absent.
    ///
    /// # Errors
    /// If the bytes are malformed.
    #[inline]
    pub fn structure_from(&self, voffset: u16, offset: usize) -> Read<Option<&'a [u8]>> {
        match self.field(voffset) {
            None => Ok(None),
            Some(position) => self
                .buffer
                .get(position + offset..)
                .map(Some)
                .ok_or(Malformed),
        }
    }

    /// A nested table, or `None` if absent.
    ///
    /// # Errors
    /// If the bytes are malformed.
    #[inline]
    pub fn table(&self, voffset: u16) -> Read<Option<Self>> {
        match self.field(voffset) {
            None => Ok(None),
            Some(position) => Self::at(self.buffer, follow(self.buffer, position)?).map(Some),
        }
    }

    /// A vector of elements of this size, or `None` if absent.
    ///
    /// # Errors
    /// If the bytes are malformed.
    #[inline]
    pub fn vector(&self, voffset: u16, element_size: usize) -> Read<Option<VectorView<'a>>> {
        let Some(position) = self.field(voffset) else {
            return Ok(None);
        };
        let position = follow(self.buffer, position)?;
        let len = scalar_at::<u32>(self.buffer, position)? as usize;
        let start = position + 4;
        let end = len
            .checked_mul(element_size)
            .and_then(|size| start.checked_add(size));
        if end.is_none_or(|end| end > self.buffer.len()) {
            return Err(Malformed);
        }
        Ok(Some(VectorView {
            buffer: self.buffer,
            start,
            len,
        }))
    }

    /// A union, or `None` if it is absent or empty. The offset is that of the value.
    ///
    /// # Errors
    /// If the bytes are malformed.
    #[inline]
    pub fn union(&self, voffset: u16) -> Read<Option<UnionView<'a>>> {
        // The value first: without a value, the type code was not verified.
        let Some(position) = self.field(voffset) else {
            return Ok(None);
        };
        let code = self.scalar::<u8>(voffset - 2)?.unwrap_or(0);
        if code == 0 {
            return Ok(None);
        }
        let position = follow(self.buffer, position)?;
        Ok(Some(UnionView {
            code,
            buffer: self.buffer,
            position,
        }))
    }

    /// The whole payload.
    #[must_use]
    pub fn buffer(&self) -> &'a [u8] {
        self.buffer
    }
}

impl<'a> VectorView<'a> {
    /// The number of elements.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The position of an element; `None` if the index is out of range.
    #[inline]
    fn element(&self, index: usize, size: usize) -> Read<usize> {
        if index < self.len {
            Ok(self.start + index * size)
        } else {
            Err(Malformed)
        }
    }

    /// A number or a boolean.
    ///
    /// # Errors
    /// If the index is out of range.
    #[inline]
    pub fn scalar<T: ScalarType>(&self, index: usize) -> Read<T> {
        scalar_at(self.buffer, self.element(index, T::SIZE)?)
    }

    /// The bytes of a struct of this size.
    ///
    /// # Errors
    /// If the index is out of range.
    #[inline]
    pub fn structure(&self, index: usize, size: usize) -> Read<&'a [u8]> {
        let position = self.element(index, size)?;
        self.buffer.get(position..position + size).ok_or(Malformed)
    }

    /// A string.
    ///
    /// # Errors
    /// If the index is out of range or the bytes are malformed.
    #[inline]
    pub fn text(&self, index: usize) -> Read<&'a str> {
        text_at(self.buffer, follow(self.buffer, self.element(index, 4)?)?)
    }

    /// A string's bytes, not checked to be UTF-8.
    ///
    /// # Errors
    /// If the index is out of range or the bytes are malformed.
    #[inline]
    pub fn text_bytes(&self, index: usize) -> Read<&'a [u8]> {
        text_bytes_at(self.buffer, follow(self.buffer, self.element(index, 4)?)?)
    }

    /// A table.
    ///
    /// # Errors
    /// If the index is out of range or the bytes are malformed.
    #[inline]
    pub fn table(&self, index: usize) -> Read<TableView<'a>> {
        TableView::at(self.buffer, follow(self.buffer, self.element(index, 4)?)?)
    }

    /// A union's value, given its type code, which is not 0.
    ///
    /// # Errors
    /// If the index is out of range or the bytes are malformed.
    #[inline]
    pub fn union(&self, index: usize, code: u8) -> Read<UnionView<'a>> {
        let position = follow(self.buffer, self.element(index, 4)?)?;
        Ok(UnionView {
            code,
            buffer: self.buffer,
            position,
        })
    }

    /// The bytes of a vector of one-byte elements.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.buffer
            .get(self.start..self.start + self.len)
            .unwrap_or_default()
    }
}

impl<'a> UnionView<'a> {
    /// The value, if the member is a table.
    ///
    /// # Errors
    /// If the bytes are malformed.
    #[inline]
    pub fn table(&self) -> Read<TableView<'a>> {
        TableView::at(self.buffer, self.position)
    }

    /// The bytes of the value, if the member is a struct of this size.
    ///
    /// # Errors
    /// If the bytes are malformed.
    #[inline]
    pub fn structure(&self, size: usize) -> Read<&'a [u8]> {
        self.buffer
            .get(self.position..self.position + size)
            .ok_or(Malformed)
    }

    /// The bytes from an offset within the value on, if the member is a struct.
    ///
    /// # Errors
    /// If the bytes are malformed.
    #[inline]
    pub fn structure_from(&self, offset: usize) -> Read<&'a [u8]> {
        self.buffer.get(self.position + offset..).ok_or(Malformed)
    }

    /// The bytes of the value, if the member is a string.
    ///
    /// # Errors
    /// If the bytes are malformed.
    #[inline]
    pub fn text_bytes(&self) -> Read<&'a [u8]> {
        text_bytes_at(self.buffer, self.position)
    }

    /// The value, if the member is a string.
    ///
    /// # Errors
    /// If the bytes are malformed.
    #[inline]
    pub fn text(&self) -> Read<&'a str> {
        text_at(self.buffer, self.position)
    }
}
