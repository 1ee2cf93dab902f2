//! The forward writer: root offset, then each table, its vtable and its children.
//!
//! A table's inline values are written first, its vtable directly behind them (the offset to it is
//! negative, which the format allows), then its children. The offset of a child is written into the
//! slot that was left for it. So nothing is moved afterwards, offsets to children are positive, as
//! the format demands, and the same values give the same bytes.

use std::cell::Cell;

use super::{DEPTH_MAX, ScalarType};
use crate::error::{Error, ErrorKind, Result};

/// The largest payload, in bytes: SQLite's default limit for a blob. The format's own is 2 GiB.
const SIZE_MAX_BYTES: usize = 1_000_000_000;

/// The largest buffer, in bytes, that a thread keeps for its next payloads.
const KEPT_BYTES_MAX: usize = 64 * 1024;

thread_local! {
    static KEPT: Cell<Option<Box<Writer>>> = const { Cell::new(None) };
}

/// The number of latest vtables that are compared with a new one, so that equal ones are shared:
/// enough for the few types that alternate in a vector, at 8 short comparisons a table.
const SHARED_VTABLES_MAX: usize = 8;

/// Writes payloads. Its buffers are kept from one payload to the next.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    /// The vtable of the open table: offsets from the table's start, 0 for absent fields.
    vtable: Vec<u16>,
    /// Start of the open table.
    table: usize,
    /// Positions of the vtables written.
    vtables: Vec<usize>,
    depth: usize,
    /// Why the payload cannot be stored, if it cannot.
    fault: Option<&'static str>,
    /// Whether that is so only because the payload lacks a required value.
    lacks: bool,
}

/// Space that was left for the offset of a child.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Slot(usize);

impl Slot {
    /// The slot of the n-th element, if this is the slot of a vector's first element.
    pub fn nth(self, n: usize) -> Self {
        Self(self.0 + 4 * n)
    }
}

impl Writer {
    /// A writer without a payload.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `write` with a writer that this thread keeps, so that a transaction that writes a
    /// single payload allocates no buffers.
    pub fn with_kept<R>(write: impl FnOnce(&mut Self) -> R) -> R {
        // Thread-local values may be gone if the thread is ending.
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        let mut writer = kept.unwrap_or_default();
        let written = write(&mut writer);
        if writer.bytes.capacity() <= KEPT_BYTES_MAX {
            let _ = KEPT.try_with(|kept| kept.set(Some(writer)));
        }
        written
    }

    /// Starts a payload; the root table comes next, with the slot returned.
    pub fn begin(&mut self) -> Slot {
        self.bytes.clear();
        self.vtables.clear();
        self.depth = 0;
        self.fault = None;
        self.lacks = false;
        self.bytes.extend_from_slice(&[0; 4]);
        Slot(0)
    }

    /// The finished payload.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if it is larger than 1 GB or nested deeper than
    /// [`DEPTH_MAX`], or if it was refused.
    pub fn finish(&self) -> Result<&[u8]> {
        self.checked(self.fault)
    }

    /// The finished payload of an update, and why it [lacks](Self::lack) a required value, if it
    /// does.
    ///
    /// # Errors
    /// As [`finish`](Self::finish), but the payload may lack required values.
    pub fn finish_update(&self) -> Result<(&[u8], Option<&'static str>)> {
        let lack = self.fault.filter(|_| self.lacks);
        let fault = self.fault.filter(|_| !self.lacks);
        Ok((self.checked(fault)?, lack))
    }

    fn checked(&self, fault: Option<&'static str>) -> Result<&[u8]> {
        if let Some(fault) = fault {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("cannot encode: {fault}"),
            ));
        }
        if self.bytes.len() > SIZE_MAX_BYTES {
            let message = format!("cannot encode: {} bytes are too many", self.bytes.len());
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        Ok(&self.bytes)
    }

    /// Makes [`Writer::finish`] fail with this reason.
    pub fn refuse(&mut self, fault: &'static str) {
        self.fault = self.fault.filter(|_| !self.lacks).or(Some(fault));
        self.lacks = false;
    }

    /// Makes [`Writer::finish`] fail with this reason, because a required value is absent.
    pub fn lack(&mut self, reason: &'static str) {
        if self.fault.is_none() {
            self.fault = Some(reason);
            self.lacks = true;
        }
    }

    /// Opens a table at `slot`. Its inline values follow, then [`Writer::end_table`], then its
    /// children, then [`Writer::leave`].
    ///
    /// Returns false and opens nothing if tables would be nested too deeply: the caller must leave
    /// this table out, and [`Writer::finish`] fails.
    #[must_use]
    pub fn begin_table(&mut self, slot: Slot) -> bool {
        if self.depth == DEPTH_MAX {
            self.refuse("objects are nested more than 64 deep");
            return false;
        }
        self.depth += 1;
        self.point(slot, 4);
        self.table = self.bytes.len();
        self.vtable.clear();
        self.bytes.extend_from_slice(&[0; 4]);
        true
    }

    /// Aligns the end of the bytes, and enters it in the vtable as the field's position.
    #[inline]
    fn note(&mut self, voffset: u16, align: usize) {
        self.align(align, 0);
        let slot = usize::from(voffset / 2).saturating_sub(2);
        if self.vtable.len() <= slot {
            self.vtable.resize(slot + 1, 0);
        }
        match (
            u16::try_from(self.bytes.len() - self.table),
            self.vtable.get_mut(slot),
        ) {
            (Ok(offset), Some(entry)) => *entry = offset,
            _ => self.refuse("a table's inline values take more than 64 KiB"),
        }
    }

    /// Writes an inline number or boolean.
    #[inline]
    pub fn scalar<T: ScalarType>(&mut self, voffset: u16, value: T) {
        self.note(voffset, T::SIZE);
        value.append(&mut self.bytes);
    }

    /// Leaves space for an inline struct, zeroed.
    #[inline]
    pub fn structure(&mut self, voffset: u16, size: usize, align: usize) -> &mut [u8] {
        self.note(voffset, align);
        self.zeroed(size)
    }

    /// Leaves space for the offset of a child.
    #[inline]
    pub fn slot(&mut self, voffset: u16) -> Slot {
        self.note(voffset, 4);
        let slot = Slot(self.bytes.len());
        self.bytes.extend_from_slice(&[0; 4]);
        slot
    }

    /// Closes the inline part of the open table; its children follow.
    pub fn end_table(&mut self) {
        let size = (self.bytes.len() - self.table) as u16;
        while self.vtable.last() == Some(&0) {
            self.vtable.pop();
        }
        let position = self
            .shared_vtable(size)
            .unwrap_or_else(|| self.append_vtable(size));
        let offset = self.table as i64 - position as i64;
        if let Some(place) = self.bytes.get_mut(self.table..) {
            (offset as i32).write(place);
        }
    }

    /// Ends the innermost open table, after its children.
    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// A vtable written before that equals the open table's.
    fn shared_vtable(&self, size: u16) -> Option<usize> {
        let len = 4 + 2 * self.vtable.len();
        self.vtables
            .iter()
            .rev()
            .take(SHARED_VTABLES_MAX)
            .copied()
            .find(|position| {
                let Some(bytes) = self.bytes.get(*position..*position + len) else {
                    return false;
                };
                let mut words = bytes.chunks_exact(2).map(u16::read);
                words.next().flatten() == Some(len as u16)
                    && words.next().flatten() == Some(size)
                    && words.eq(self.vtable.iter().copied().map(Some))
            })
    }

    fn append_vtable(&mut self, size: u16) -> usize {
        self.align(2, 0);
        let position = self.bytes.len();
        let len = (4 + 2 * self.vtable.len()) as u16;
        len.append(&mut self.bytes);
        size.append(&mut self.bytes);
        for offset in &self.vtable {
            offset.append(&mut self.bytes);
        }
        self.vtables.push(position);
        position
    }

    /// Writes a string for `slot`.
    pub fn text(&mut self, slot: Slot, text: &str) {
        self.point(slot, 4);
        self.len_prefix(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }

    /// Writes a vector of numbers or booleans for `slot`.
    pub fn scalars<T: ScalarType>(&mut self, slot: Slot, values: impl ExactSizeIterator<Item = T>) {
        self.begin_vector(slot, values.len(), T::SIZE);
        for value in values {
            value.append(&mut self.bytes);
        }
    }

    /// Writes a vector of bytes for `slot`.
    pub fn byte_vector(&mut self, slot: Slot, bytes: &[u8]) {
        self.begin_vector(slot, bytes.len(), 1);
        self.bytes.extend_from_slice(bytes);
    }

    /// Leaves space for a vector of structs for `slot`, zeroed.
    pub fn structures(&mut self, slot: Slot, len: usize, size: usize, align: usize) -> &mut [u8] {
        self.begin_vector(slot, len, align);
        self.zeroed(len * size)
    }

    /// Leaves space for a struct that is a union's member for `slot`, zeroed.
    pub fn boxed_structure(&mut self, slot: Slot, size: usize, align: usize) -> &mut [u8] {
        self.point(slot, align);
        self.zeroed(size)
    }

    /// Leaves space for a vector of offsets for `slot`; the result is the slot of its first
    /// element. A slot that is never filled is an empty union.
    pub fn slots(&mut self, slot: Slot, len: usize) -> Slot {
        self.begin_vector(slot, len, 4);
        let first = Slot(self.bytes.len());
        self.zeroed(len * 4);
        first
    }

    fn begin_vector(&mut self, slot: Slot, len: usize, align: usize) {
        // The elements are aligned, and the length is directly before them.
        self.align(align.max(4), 4);
        self.point(slot, 1);
        self.len_prefix(len);
    }

    fn len_prefix(&mut self, len: usize) {
        // A longer vector exceeds the size that `finish` accepts.
        (len as u32).append(&mut self.bytes);
    }

    fn zeroed(&mut self, size: usize) -> &mut [u8] {
        let start = self.bytes.len();
        self.bytes.resize(start + size, 0);
        self.bytes.get_mut(start..).unwrap_or_default()
    }

    /// Pads so that the position `ahead` bytes further is aligned.
    #[inline]
    fn align(&mut self, align: usize, ahead: usize) {
        let padding = (self.bytes.len() + ahead).wrapping_neg() & (align - 1);
        if padding > 0 {
            self.bytes.resize(self.bytes.len() + padding, 0);
        }
    }

    /// Aligns the end of the bytes, and writes the offset to it into `slot`.
    #[inline]
    fn point(&mut self, slot: Slot, align: usize) {
        self.align(align, 0);
        let offset = self.bytes.len().wrapping_sub(slot.0) as u32;
        if let Some(place) = self.bytes.get_mut(slot.0..) {
            offset.write(place);
        }
    }
}
