//! The handle on a stored object's verified bytes, and the batch that makes many of them at once.
//!
//! The payloads of a result stand one behind the other in chunks of at most 64 KiB, each behind
//! four bytes that tell its row id from the chunk's first. A handle is a shared pointer to its
//! chunk and a place within: 16 bytes, so that an object of a result costs its payload and 20
//! bytes, and an object that outlives its result keeps at most its chunk alive.

use std::fmt;

use dflat_model::{CommitSeq, RowId, Table};
use triomphe::ThinArc;

use super::{Malformed, ScalarType, verify};

/// The most bytes of a chunk, unless a single payload is larger.
const CHUNK_MAX_BYTES: usize = 64 * 1024;

/// Where and when an object was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The engine that read it: row ids and commits of another mean nothing to this one.
    pub engine: u64,
    /// The latest commit that is certain to be reflected; 0 for what is not committed.
    pub seq: CommitSeq,
    /// The transaction that read it, or 0: until that ends, nobody else changes the object.
    pub transaction: u64,
}

/// A stored object: immutable, verified, cheaply cloned.
#[derive(Clone)]
pub struct Object {
    chunk: Chunk,
    /// Where the payload stands in the chunk: behind its row id, or at 0 if it stands alone.
    start: u32,
    len: u32,
}

/// What a batch begins with room for: what an allocator has at hand, and many results need no more.
const BEGUN_BYTES: usize = 960;
const BEGUN_PLACES: usize = 16;

/// One allocation: reference count, header and bytes.
type Chunk = ThinArc<Header, u8>;

struct Header {
    origin: Origin,
    /// The first payload's row id.
    base: i64,
}

/// The bytes that tell a payload's row id.
const ROW_ID_BYTES: usize = 4;

impl Object {
    /// The object's identity.
    #[must_use]
    pub fn row_id(&self) -> RowId {
        let before = (self.start as usize).checked_sub(ROW_ID_BYTES);
        let delta = before
            .and_then(|at| self.chunk.slice.get(at..))
            .and_then(i32::read);
        RowId(self.chunk.header.header.base + i64::from(delta.unwrap_or_default()))
    }

    /// The verified payload.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        let start = self.start as usize;
        self.chunk
            .slice
            .get(start..start + self.len as usize)
            .unwrap_or_default()
    }

    /// When it was read.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.chunk.header.header.origin
    }

    /// Whether both are handles on the same bytes.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.payload(), other.payload())
    }

    /// Whether it keeps other objects' bytes alive.
    #[must_use]
    pub fn is_attached(&self) -> bool {
        self.chunk.slice.len() > ROW_ID_BYTES + self.len as usize
    }

    /// A copy that keeps no other object's bytes alive.
    #[must_use]
    pub fn detach(&self) -> Self {
        Self::from_verified(self.row_id(), self.origin(), self.payload())
    }

    /// An object on its own, verified against the table's types.
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
        Ok(Self::from_verified(row_id, origin, payload))
    }

    /// An object on its own, of a payload that is known to be right.
    pub(crate) fn from_verified(row_id: RowId, origin: Origin, payload: &[u8]) -> Self {
        let header = Header {
            origin,
            base: row_id.0,
        };
        let chunk = ThinArc::from_header_and_slice(header, payload);
        Self {
            chunk,
            start: 0,
            len: payload.len() as u32,
        }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object(row {}, {} bytes)", self.row_id(), self.len)
    }
}

/// Collects rows into objects, allocating per chunk and not per object.
pub struct ObjectBatch<'t> {
    table: &'t Table,
    origin: Origin,
    base: i64,
    bytes: Vec<u8>,
    /// Start and length of the payloads in `bytes`.
    places: Vec<(u32, u32)>,
    objects: Vec<Object>,
    /// Whether the first object is likely the only one, so that it is made without a buffer.
    is_likely_one: bool,
}

impl<'t> ObjectBatch<'t> {
    /// A batch for rows of a table.
    #[must_use]
    pub fn new(table: &'t Table, origin: Origin) -> Self {
        Self {
            table,
            origin,
            base: 0,
            bytes: Vec::new(),
            places: Vec::new(),
            objects: Vec::new(),
            is_likely_one: false,
        }
    }

    /// Says that there will likely be one object.
    pub(crate) fn expect_one(&mut self) {
        self.is_likely_one = true;
    }

    /// Verifies a row and adds it.
    ///
    /// # Errors
    /// If the payload is malformed; the batch is as before.
    pub fn push(&mut self, row_id: RowId, payload: &[u8]) -> Result<(), Malformed> {
        verify(&self.table.types, payload)?;
        if std::mem::take(&mut self.is_likely_one) {
            let object = Object::from_verified(row_id, self.origin, payload);
            self.objects.reserve_exact(1);
            self.objects.push(object);
            return Ok(());
        }
        let size = ROW_ID_BYTES + payload.len();
        let mut delta = self.delta(row_id);
        if delta.is_none() || self.bytes.len() + size > CHUNK_MAX_BYTES {
            self.seal();
            self.base = row_id.0;
            delta = Some(0);
            self.bytes.reserve(size.max(BEGUN_BYTES));
            self.places.reserve(BEGUN_PLACES);
        }
        delta.unwrap_or_default().append(&mut self.bytes);
        self.places
            .push((self.bytes.len() as u32, payload.len() as u32));
        self.bytes.extend_from_slice(payload);
        Ok(())
    }

    /// The row id relative to the chunk's, if it fits and the chunk is begun.
    fn delta(&self, row_id: RowId) -> Option<i32> {
        if self.places.is_empty() {
            return None;
        }
        row_id
            .0
            .checked_sub(self.base)
            .and_then(|delta| i32::try_from(delta).ok())
    }

    fn seal(&mut self) {
        if self.places.is_empty() {
            return;
        }
        // Copied to its exact size; the collecting buffer is used again.
        let header = Header {
            origin: self.origin,
            base: self.base,
        };
        let chunk = ThinArc::from_header_and_slice(header, &self.bytes);
        self.bytes.clear();
        if self.objects.is_empty() {
            // Most results end here.
            self.objects.reserve_exact(self.places.len());
        }
        let objects = self.places.drain(..);
        self.objects.extend(objects.map(|(start, len)| Object {
            chunk: chunk.clone(),
            start,
            len,
        }));
    }

    /// The number of objects so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len() + self.places.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The objects so far, in the order they were added; none are left.
    #[must_use]
    pub fn take(&mut self) -> Vec<Object> {
        self.seal();
        std::mem::take(&mut self.objects)
    }

    /// The objects, in the order they were added.
    #[must_use]
    pub fn finish(mut self) -> Vec<Object> {
        self.seal();
        self.objects.shrink_to_fit();
        self.objects
    }
}
