//! Makes the objects of a query's result.

use dflat_model::{RowId, Table};

use super::super::{Malformed, verify, verify_incomplete};
use super::chunk::{CHUNK_MAX_BYTES, FRONT_MAX_BYTES, Header, Piece, PieceSpan, collect};
use super::handle::Object;
use super::origin::Origin;

/// The bytes and payloads that a batch reserves space for at first. The usual allocators serve
/// requests below 1 KiB from a cache of each thread, and many results need no more.
const BEGUN_BYTES: usize = 960;
const BEGUN_SPANS: usize = 16;

/// Collects rows into objects, with one allocation for each chunk rather than for each object.
pub struct ObjectBatch<'t> {
    table: &'t Table,
    origin: Origin,
    base: RowId,
    bytes: Vec<u8>,
    /// The payloads in `bytes`.
    spans: Vec<PieceSpan>,
    objects: Vec<Object>,
    /// Whether the first object is likely the only one. It is then made without the buffer.
    is_likely_one: bool,
    /// Whether required fields may be absent.
    incomplete: bool,
}

impl<'t> ObjectBatch<'t> {
    /// A batch for rows of a table.
    #[must_use]
    pub fn new(table: &'t Table, origin: Origin) -> Self {
        Self {
            table,
            origin,
            base: RowId(0),
            bytes: Vec::new(),
            spans: Vec::new(),
            objects: Vec::new(),
            is_likely_one: false,
            incomplete: false,
        }
    }

    /// Prepares for a result that likely has one object.
    pub(crate) fn expect_one(&mut self) {
        self.is_likely_one = true;
    }

    /// Accepts rows that lack required fields.
    pub(crate) fn accept_incomplete(&mut self) {
        self.incomplete = true;
    }

    /// Verifies a row and adds it.
    ///
    /// # Errors
    /// If the payload is malformed; the batch is unchanged then.
    pub fn push(&mut self, row_id: RowId, payload: &[u8]) -> Result<(), Malformed> {
        match self.incomplete {
            false => verify(&self.table.types, payload)?,
            true => verify_incomplete(&self.table.types, payload)?,
        }
        if std::mem::take(&mut self.is_likely_one) {
            let object = Object::from_verified(self.table, row_id, self.origin, payload);
            self.objects.reserve_exact(1);
            self.objects.push(object);
            return Ok(());
        }
        let is_full = self.bytes.len() + FRONT_MAX_BYTES + payload.len() > CHUNK_MAX_BYTES;
        let span = match self.spans.is_empty() || is_full {
            true => None,
            false => collect(&mut self.bytes, self.base, row_id, payload),
        };
        let span = span.unwrap_or_else(|| self.begin(row_id, payload));
        self.spans.push(span);
        Ok(())
    }

    /// Begins a chunk with a payload.
    fn begin(&mut self, row_id: RowId, payload: &[u8]) -> PieceSpan {
        self.seal();
        self.base = row_id;
        self.bytes.reserve(payload.len().max(BEGUN_BYTES));
        self.spans.reserve(BEGUN_SPANS);
        self.bytes.extend_from_slice(payload);
        PieceSpan::first(payload.len())
    }

    fn seal(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        // The chunk is a copy of the exact size; the buffer is used again.
        let header = Header {
            origin: self.origin,
            base: self.base,
            table: self.table.name_hash(),
        };
        if self.objects.is_empty() {
            // Most results have a single chunk.
            self.objects.reserve_exact(self.spans.len());
        }
        let pieces = Piece::of(header, &self.bytes, self.spans.drain(..));
        self.objects.extend(pieces.map(Object));
        self.bytes.clear();
    }

    /// The number of objects so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len() + self.spans.len()
    }

    /// Whether there are no objects so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the objects so far, in the order in which they were added.
    #[must_use]
    pub fn take(&mut self) -> Vec<Object> {
        self.seal();
        std::mem::take(&mut self.objects)
    }

    /// The objects, in the order in which they were added.
    #[must_use]
    pub fn finish(mut self) -> Vec<Object> {
        self.seal();
        self.objects.shrink_to_fit();
        self.objects
    }
}
