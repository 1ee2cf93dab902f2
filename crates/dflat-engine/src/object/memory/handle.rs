//! The handle on a stored object's verified bytes.
//!
//! The payloads of a result are stored one behind the other in chunks of at most 64 KiB. A handle
//! has 16 bytes: a shared pointer to its chunk, its place there, and the difference of its row id
//! from the chunk's first. Payloads are padded to four bytes. A row id that is too far from the
//! chunk's first is stored in four bytes in front of its payload. So an object of a result takes
//! its payload and 16 to 23 bytes, and one that outlives its result keeps at most its chunk alive.

use std::fmt;

use dflat_model::{RowId, Table};

use super::super::{Malformed, verify, verify_incomplete};
use super::chunk::{Header, Piece};
use super::origin::Origin;

/// A stored object: immutable, verified, cheaply cloned.
#[derive(Clone)]
pub struct Object(pub(super) Piece);

impl Object {
    /// The id of the object's row.
    #[must_use]
    pub fn row_id(&self) -> RowId {
        self.0.row_id()
    }

    /// The verified payload.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.0.payload()
    }

    /// Where and when it was read.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.0.origin()
    }

    /// Whether the object was made for a table of this name, almost certainly: the names are
    /// compared by a hash of 32 bits.
    #[must_use]
    #[inline]
    pub fn is_of(&self, table: &Table) -> bool {
        self.0.table() == table.name_hash()
    }

    /// Whether both are handles on the same bytes.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.payload(), other.payload())
    }

    /// Whether it keeps other objects' bytes alive.
    #[must_use]
    pub fn is_attached(&self) -> bool {
        self.0.is_part()
    }

    /// A copy that keeps no other object's bytes alive.
    #[must_use]
    pub fn detach(&self) -> Self {
        Self::alone(self.0.table(), self.row_id(), self.origin(), self.payload())
    }

    /// Makes an object that shares no chunk, verified against the table's types.
    ///
    /// # Errors
    /// If the payload is malformed.
    pub fn new(
        table: &Table,
        row_id: RowId,
        origin: Origin,
        payload: &[u8],
    ) -> Result<Self, Malformed> {
        verify(&table.types, payload)?;
        Ok(Self::from_verified(table, row_id, origin, payload))
    }

    /// As [`new`](Self::new), but required fields may be absent.
    ///
    /// # Errors
    /// If the payload is malformed.
    pub fn new_incomplete(
        table: &Table,
        row_id: RowId,
        origin: Origin,
        payload: &[u8],
    ) -> Result<Self, Malformed> {
        verify_incomplete(&table.types, payload)?;
        Ok(Self::from_verified(table, row_id, origin, payload))
    }

    /// Makes an object that shares no chunk, of a payload that is known to be valid.
    pub(crate) fn from_verified(
        table: &Table,
        row_id: RowId,
        origin: Origin,
        payload: &[u8],
    ) -> Self {
        Self::alone(table.name_hash(), row_id, origin, payload)
    }

    pub(crate) fn alone(table: u32, base: RowId, origin: Origin, payload: &[u8]) -> Self {
        let header = Header {
            origin,
            base,
            table,
        };
        Self(Piece::alone(header, payload))
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object(row {}, {} bytes)", self.row_id(), self.0.len())
    }
}
