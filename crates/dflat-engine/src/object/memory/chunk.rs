//! Chunks: single allocations that hold the payloads of many objects, one behind the other.
//!
//! A [`Piece`] is a handle on one payload of a chunk. An [`OpenChunk`] is a chunk with space left;
//! its owner adds payloads while other threads read those added before. No other shared memory is
//! written to. Writing is sound because no handle reaches unwritten bytes: a piece is made after
//! its bytes were written, reaches only these, and they are never written again.
#![expect(
    unsafe_code,
    reason = "a written object takes space in a shared chunk instead of an allocation"
)]

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use dflat_model::RowId;
use triomphe::{Arc, HeaderWithLength, ThinArc, UniqueArc};

use super::super::ScalarType;
use super::origin::Origin;

/// The alignment of payloads in a chunk, in bytes: 16 bits then hold a start within 256 KiB.
const ALIGNMENT: usize = 4;

/// The bytes of a row id's difference that is stored in front of its payload.
const ROW_ID_BYTES: usize = size_of::<i32>();

/// The largest number of bytes in front of a payload: padding and the difference of its row id.
pub(super) const FRONT_MAX_BYTES: usize = ALIGNMENT - 1 + ROW_ID_BYTES;

/// The largest size of a chunk, in bytes, unless a single payload is larger. An object that
/// outlives the others of its chunk keeps at most this much in memory.
pub(super) const CHUNK_MAX_BYTES: usize = 64 * 1024;

/// The values that all payloads of a chunk share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) origin: Origin,
    /// The row id to which the stored row ids of the payloads are relative.
    pub(super) base: RowId,
    /// The hash of the name of the objects' table.
    pub(super) table: u32,
}

/// One allocation: reference count, header and bytes.
pub(super) type Chunk = ThinArc<Header, MaybeUninit<Byte>>;

#[repr(transparent)]
pub(super) struct Byte(UnsafeCell<u8>);

// SAFETY: bytes that a piece reaches are never written again; all others are written only by the
// one `OpenChunk` of the chunk.
unsafe impl Sync for Byte {}

/// A payload in a chunk.
#[derive(Clone)]
pub(super) struct Piece {
    pub(super) chunk: Chunk,
    pub(super) span: PieceSpan,
}

/// The place of a payload in its chunk, and its row id, in one number so that a handle fits in two
/// registers: the difference of its row id from the chunk's (16 bits, the highest), its start in
/// units of [`ALIGNMENT`] (16 bits), and its length (32 bits).
#[derive(Clone, Copy)]
pub(super) struct PieceSpan(u64);

impl PieceSpan {
    /// Stands for a difference of row ids that is stored in the four bytes in front of the payload.
    const FAR: i16 = i16::MIN;

    /// The span of a payload that begins a chunk.
    pub(super) const fn first(len: usize) -> Self {
        Self(len as u32 as u64)
    }

    /// The span of a payload behind `filled` bytes, and the difference of row ids to store in front
    /// of it, if any; `None` if the payload would start too far behind the chunk's first.
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

    /// The number, to be passed through C.
    pub(super) const fn to_bits(self) -> u64 {
        self.0
    }

    /// The span of a number that [`to_bits`](Self::to_bits) returned.
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits)
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

    /// The payloads of a collected chunk.
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

    pub(super) fn table(&self) -> u32 {
        self.chunk.header.header.table
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
        // SAFETY: the range lies in the chunk, which `self` keeps alive. Its bytes, the payload or
        // the difference in front of it, were written before the piece was made, and are never
        // written again.
        unsafe { std::slice::from_raw_parts(first(bytes), bytes.len()) }
    }
}

/// A pointer to the first of some bytes of a chunk.
fn first(bytes: &[MaybeUninit<Byte>]) -> *mut u8 {
    UnsafeCell::raw_get(bytes.as_ptr().cast())
}

/// A chunk with space for more payloads.
pub(super) struct OpenChunk {
    chunk: Chunk,
    /// The number of bytes, from the start, that pieces may reach.
    filled: usize,
}

impl OpenChunk {
    /// An empty chunk for this many bytes.
    pub(super) fn new(header: Header, bytes: usize) -> Self {
        let header = HeaderWithLength::new(header, bytes);
        let chunk = UniqueArc::from_header_and_uninit_slice(header, bytes);
        Self {
            chunk: Arc::into_thin(chunk.shareable()),
            filled: 0,
        }
    }

    /// A full chunk with these bytes.
    fn whole(header: Header, bytes: &[u8]) -> Chunk {
        let mut room = Self::new(header, bytes.len());
        room.write(0, bytes);
        room.chunk
    }

    /// The number of bytes left.
    pub(super) fn left(&self) -> usize {
        self.chunk.slice.len() - self.filled
    }

    /// Adds a payload; `None` if it does not fit, has another origin than the chunk, or a row id
    /// too far from the chunk's.
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
        // The reference is counted first: counting it after the writes below would wait for them.
        let chunk = self.chunk.clone();
        if let Some(far) = far {
            self.write(span.start() - ROW_ID_BYTES, &far.to_le_bytes());
        }
        self.write(span.start(), payload);
        self.filled = span.end();
        Some(Piece { chunk, span })
    }

    /// Writes behind the filled bytes.
    #[inline]
    fn write(&mut self, start: usize, bytes: &[u8]) {
        let room = self.chunk.slice.get(start..start + bytes.len());
        let room = room.filter(|_| start >= self.filled).unwrap_or_default();
        assert_eq!(
            room.len(),
            bytes.len(),
            "a payload stands where it has room"
        );
        // SAFETY: the range lies in the chunk, behind the bytes that pieces reach, so no thread
        // reads it. A chunk has one `OpenChunk`, and `self` is borrowed mutably, so no other thread
        // writes it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), first(room), bytes.len()) }
    }
}
