//! Objects as two words, which other languages keep.
#![expect(
    unsafe_code,
    reason = "a language interface keeps an object's count in words that Rust does not track"
)]

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::Deref;

use super::chunk::{Chunk, Piece, PieceSpan};
use super::handle::Object;

/// An object as two words that can be passed through C. The words from [`Object::into_raw`] hold
/// one count of the object's memory until [`Object::from_raw`] takes them back.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawObject {
    /// The memory that the object shares with others; NULL for no object.
    pub chunk: *const c_void,
    /// The place of the payload in this memory.
    pub span: u64,
}

// SAFETY: the words refer to a chunk whose count is atomic and whose readable bytes are never
// written again, as `Object` does, which is `Send` and `Sync`.
unsafe impl Send for RawObject {}
// SAFETY: as above.
unsafe impl Sync for RawObject {}

impl RawObject {
    /// No object.
    pub const NONE: Self = Self {
        chunk: std::ptr::null(),
        span: 0,
    };
}

/// An object that is borrowed from a [`RawObject`]: dropping it releases nothing.
pub struct LentObject(ManuallyDrop<Object>);

impl Deref for LentObject {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Object {
    /// The object as two words. Its count is released when [`from_raw`](Self::from_raw) takes the
    /// object back and drops it.
    #[must_use]
    pub fn into_raw(self) -> RawObject {
        let Piece { chunk, span } = self.0;
        RawObject {
            chunk: chunk.into_raw(),
            span: span.to_bits(),
        }
    }

    /// The object as two words without a count of their own: they are valid as long as this object
    /// or another handle on its memory. [`from_raw`](Self::from_raw) must not take them back;
    /// [`lend_raw`](Self::lend_raw) may borrow them meanwhile.
    #[must_use]
    pub fn as_raw(&self) -> RawObject {
        let Piece { chunk, span } = &self.0;
        RawObject {
            chunk: chunk.as_ptr(),
            span: span.to_bits(),
        }
    }

    /// The object of two words that [`into_raw`](Self::into_raw) returned.
    ///
    /// # Safety
    /// `raw` is a value that `into_raw` returned and that was not taken back since.
    #[must_use]
    pub unsafe fn from_raw(raw: RawObject) -> Self {
        // SAFETY: the caller promises that the pointer is that of a chunk, with one count for this
        // object. The span belongs to the same object, so it lies within the written bytes.
        let chunk = unsafe { Chunk::from_raw(raw.chunk) };
        Self(Piece {
            chunk,
            span: PieceSpan::from_bits(raw.span),
        })
    }

    /// The object of two words, which keep its count.
    ///
    /// # Safety
    /// `raw` is a value that `into_raw` or `as_raw` returned, and a count of its memory is held
    /// elsewhere while the result or bytes borrowed from it are in use.
    #[must_use]
    pub unsafe fn lend_raw(raw: RawObject) -> LentObject {
        // SAFETY: the count is not used up, because the object is never dropped.
        LentObject(ManuallyDrop::new(unsafe { Self::from_raw(raw) }))
    }
}

#[cfg(test)]
mod tests {
    use dflat_model::{CommitSeq, RowId};

    use super::super::origin::Origin;
    use super::*;

    #[test]
    fn object_keeps_its_bytes_as_two_words() {
        let origin = Origin {
            engine: 7,
            seq: CommitSeq(3),
            transaction: 0,
        };
        let object = Object::alone(7, RowId(41), origin, b"a payload");
        let raw = object.clone().into_raw();
        drop(object);
        // SAFETY: `raw` was made above and is taken back below.
        let lent = unsafe { Object::lend_raw(raw) };
        assert_eq!(lent.payload(), b"a payload");
        assert_eq!(lent.as_raw(), raw);
        let kept = lent.clone();
        // SAFETY: `raw` was made above, and `lent` is not used any more.
        let back = unsafe { Object::from_raw(raw) };
        assert_eq!((back.row_id(), back.origin()), (RowId(41), origin));
        drop(back);
        assert_eq!(kept.payload(), b"a payload");
    }
}
