//! Bytes that many handles share: one allocation with payloads one behind the other.
//!
//! A [`Piece`] is a handle on one of them. A [`OpenChunk`] is a chunk with room left: whoever has it
//! adds payloads while others read those that were added before. This is the one place where memory
//! that is shared is written to. That is sound because nobody can ask for bytes that are written
//! later: a piece of a room is made after its bytes were written, names no others, and bytes that a
//! piece names are never written again.
#![expect(
    unsafe_code,
    reason = "an object that is written costs a span in a chunk instead of an allocation"
)]

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use dflat_model::RowId;
use triomphe::{Arc, HeaderWithLength, ThinArc, UniqueArc};

use super::{Origin, ScalarType};

/// What payloads are aligned to in a chunk, so that 16 bits tell where they stand.
const ALIGNMENT: usize = 4;

/// The bytes that tell a row id that is far.
const ROW_ID_BYTES: usize = size_of::<i32>();

/// The most bytes in front of a payload: padding, and a row id.
pub(super) const FRONT_MAX_BYTES: usize = ALIGNMENT - 1 + ROW_ID_BYTES;

/// The most bytes of a chunk, unless a single payload is larger.
pub(super) const CHUNK_MAX_BYTES: usize = 64 * 1024;

/// What the payloads of a chunk have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) origin: Origin,
    /// A row id that those of the payloads are near to.
    pub(super) base: RowId,
}

/// One allocation: reference count, header and bytes.
type Chunk = ThinArc<Header, MaybeUninit<Byte>>;

#[repr(transparent)]
struct Byte(UnsafeCell<u8>);

// SAFETY: what pieces name is never written again; the one room of a chunk alone writes the rest.
unsafe impl Sync for Byte {}

/// A payload in a chunk.
#[derive(Clone)]
pub(super) struct Piece {
    chunk: Chunk,
    span: PieceSpan,
}

/// Where a payload stands in its chunk, and its row id: from the highest bits, how far that is from
/// the chunk's, where the payload starts in units of [`ALIGNMENT`], and its length. As one number,
/// so that a handle is two, which are passed in registers.
#[derive(Clone, Copy)]
pub(super) struct PieceSpan(u64);

impl PieceSpan {
    /// In place of the row id's difference, if that is in the four bytes in front of the payload.
    const FAR: i16 = i16::MIN;

    /// The place of a payload that begins a chunk.
    pub(super) const fn first(len: usize) -> Self {
        Self(len as u32 as u64)
    }

    /// The place of a payload behind `filled` bytes, and what stands in front of it, if anything;
    /// `None` if that is too far behind the chunk's first.
    fn behind(filled: usize, len: usize, difference: i32) -> Option<(Self, Option<i32>)> {
        let near = i16::try_from(difference).ok();
        let near = near.filter(|near| *near != Self::FAR);
        let far = near.is_none().then_some(difference);
        let front = if far.is_some() { ROW_ID_BYTES } else { 0 };
        let start = u16::try_from((filled + front).div_ceil(ALIGNMENT)).ok()?;
        let delta = near.unwrap_or(Self::FAR).cast_unsigned();
        let bits = u64::from(delta) << 48 | u64::from(start) << 32 | u64::from(len as u32);
        Some((Self(bits), far))
    }

    const fn delta(self) -> i16 {
        (self.0 >> 48) as i16
    }

    const fn start(self) -> usize {
        (self.0 >> 32) as u16 as usize * ALIGNMENT
    }

    const fn len(self) -> usize {
        self.0 as u32 as usize
    }

    const fn end(self) -> usize {
        self.start() + self.len()
    }
}

/// How far a row id is from a chunk's.
fn difference(base: RowId, row_id: RowId) -> Option<i32> {
    i32::try_from(row_id.0.checked_sub(base.0)?).ok()
}

/// Adds a payload behind others of a chunk that is being collected.
pub(super) fn collect(
    bytes: &mut Vec<u8>,
    base: RowId,
    row_id: RowId,
    payload: &[u8],
) -> Option<PieceSpan> {
    let difference = difference(base, row_id)?;
    let (span, far) = PieceSpan::behind(bytes.len(), payload.len(), difference)?;
    let front = if far.is_some() { ROW_ID_BYTES } else { 0 };
    bytes.resize(span.start() - front, 0);
    if let Some(far) = far {
        far.append(bytes);
    }
    bytes.extend_from_slice(payload);
    Some(span)
}

impl Piece {
    /// A payload that has a chunk for itself.
    pub(super) fn alone(header: Header, payload: &[u8]) -> Self {
        let span = PieceSpan::first(payload.len());
        let chunk = OpenChunk::whole(header, payload);
        Self { chunk, span }
    }

    /// The payloads of a chunk that was collected.
    pub(super) fn of(
        header: Header,
        bytes: &[u8],
        spans: impl Iterator<Item = PieceSpan>,
    ) -> impl Iterator<Item = Self> {
        let chunk = OpenChunk::whole(header, bytes);
        spans.map(move |span| Self {
            chunk: chunk.clone(),
            span,
        })
    }

    pub(super) fn origin(&self) -> Origin {
        self.chunk.header.header.origin
    }

    pub(super) fn row_id(&self) -> RowId {
        let base = self.chunk.header.header.base;
        let delta = match self.span.delta() {
            PieceSpan::FAR => {
                let start = self.span.start();
                let far = self.read(start - ROW_ID_BYTES, start);
                i32::read(far).unwrap_or_default()
            }
            near => i32::from(near),
        };
        RowId(base.0 + i64::from(delta))
    }

    #[inline]
    pub(super) fn payload(&self) -> &[u8] {
        self.read(self.span.start(), self.span.end())
    }

    pub(super) const fn len(&self) -> usize {
        self.span.len()
    }

    /// Whether the chunk is larger than the payload.
    pub(super) fn is_part(&self) -> bool {
        self.chunk.slice.len() > self.span.len()
    }

    /// Bytes of the payload, or in front of it.
    #[inline]
    fn read(&self, start: usize, end: usize) -> &[u8] {
        let bytes = self.chunk.slice.get(start..end).unwrap_or_default();
        // SAFETY: the range is one of the chunk, which `self` keeps alive. It is the payload, or
        // what was written in front of it, before the piece was made. Nobody writes it again.
        unsafe { std::slice::from_raw_parts(first(bytes), bytes.len()) }
    }
}

/// The first of some bytes of a chunk, to read what is written or to write.
fn first(bytes: &[MaybeUninit<Byte>]) -> *mut u8 {
    UnsafeCell::raw_get(bytes.as_ptr().cast())
}

/// A chunk with room for more payloads.
pub(super) struct OpenChunk {
    chunk: Chunk,
    /// How many bytes pieces may name.
    filled: usize,
}

impl OpenChunk {
    /// OpenChunk for this many bytes.
    pub(super) fn new(header: Header, bytes: usize) -> Self {
        let header = HeaderWithLength::new(header, bytes);
        let chunk = UniqueArc::from_header_and_uninit_slice(header, bytes);
        Self {
            chunk: Arc::into_thin(chunk.shareable()),
            filled: 0,
        }
    }

    /// A chunk of just these bytes.
    fn whole(header: Header, bytes: &[u8]) -> Chunk {
        let mut room = Self::new(header, bytes.len());
        room.write(0, bytes);
        room.chunk
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.chunk.slice.len() - self.filled
    }

    /// Adds a payload; `None` if there is no room for it, or it is not of the chunk's origin, or
    /// its row id is too far from the chunk's.
    #[inline]
    pub(super) fn add(&mut self, origin: Origin, row_id: RowId, payload: &[u8]) -> Option<Piece> {
        let header = &self.chunk.header.header;
        if header.origin != origin {
            return None;
        }
        let difference = difference(header.base, row_id)?;
        let (span, far) = PieceSpan::behind(self.filled, payload.len(), difference)?;
        if span.end() > self.chunk.slice.len() {
            return None;
        }
        // Counted first: to count waits for what was written before.
        let chunk = self.chunk.clone();
        if let Some(far) = far {
            self.write(span.start() - ROW_ID_BYTES, &far.to_le_bytes());
        }
        self.write(span.start(), payload);
        self.filled = span.end();
        Some(Piece { chunk, span })
    }

    /// Writes behind what is filled.
    #[inline]
    fn write(&mut self, start: usize, bytes: &[u8]) {
        let room = self.chunk.slice.get(start..start + bytes.len());
        let room = room.filter(|_| start >= self.filled).unwrap_or_default();
        assert_eq!(
            room.len(),
            bytes.len(),
            "a payload stands where it has room"
        );
        // SAFETY: the range is one of the chunk, and begins behind what pieces name: nobody reads
        // it. There is one room of a chunk, and `self` is borrowed for writing: nobody else writes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), first(room), bytes.len()) }
    }
}
