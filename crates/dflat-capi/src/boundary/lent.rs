//! Objects, which the caller keeps as two words without an allocation.
#![expect(unsafe_code, reason = "the caller keeps the counts of objects")]

use dflat_engine::object::{LentObject, Object, RawObject};

/// An object for the caller: `dflat_view`. The payload is valid as long as the object is retained.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawView {
    payload: *const u8,
    length: usize,
    row_id: i64,
    object: RawObject,
}

// SAFETY: the pointer is one into the bytes of the object, which are never written.
unsafe impl Send for RawView {}
// SAFETY: as above.
unsafe impl Sync for RawView {}

impl RawView {
    /// No object.
    pub(crate) const NONE: Self = Self {
        payload: std::ptr::null(),
        length: 0,
        row_id: 0,
        object: RawObject::NONE,
    };
}

/// A view of an object that holds a count of it.
pub(crate) fn view_of(object: Object) -> RawView {
    let view = lent_view_of(&object);
    let _ = object.into_raw();
    view
}

/// A view of an object without a count, which is valid as long as a handle on the object is kept.
pub(crate) fn lent_view_of(object: &Object) -> RawView {
    let payload = object.payload();
    RawView {
        payload: payload.as_ptr(),
        length: payload.len(),
        row_id: object.row_id().0,
        object: object.as_raw(),
    }
}

/// Borrows the object of the caller; `None` if it is no object.
pub(crate) fn lend_object(raw: RawObject) -> Option<LentObject> {
    if raw.chunk.is_null() {
        return None;
    }
    // SAFETY: the header requires that an object is one that the library gave out, and that it is
    // not released during the call. The result does not outlive the call.
    Some(unsafe { Object::lend_raw(raw) })
}

/// Takes the object of the caller back; `None` if it is no object.
pub(crate) fn take_object(raw: RawObject) -> Option<Object> {
    if raw.chunk.is_null() {
        return None;
    }
    // SAFETY: the header requires that an object is released once for each count that the library
    // gave out or that was retained.
    Some(unsafe { Object::from_raw(raw) })
}
