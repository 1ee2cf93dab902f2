//! Lists of typed objects, kept as untyped handles, so that the engine and the caller share one
//! list.
#![allow(
    unsafe_code,
    reason = "a slice of handles is read as one of objects, which are nothing else"
)]

use std::any::TypeId;
use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;

use super::Object;
use crate::codec::Handle;

/// The objects of a result.
pub(crate) enum Objects<T> {
    /// Objects of a type that is a handle and nothing else, as all generated types are.
    Handles(Arc<Vec<Handle>>),
    /// Objects of any other type.
    Converted(Arc<Vec<T>>),
}

impl<T: Object> Objects<T> {
    /// The objects of these handles. If the objects are nothing but their handles, the list is
    /// shared and not copied.
    pub(crate) fn new(handles: Arc<Vec<Handle>>) -> Self {
        if are_handles::<T>(&handles) {
            return Self::Handles(handles);
        }
        let objects = handles.iter().cloned().map(T::from_handle);
        Self::Converted(Arc::new(objects.collect()))
    }

    /// The handles of the objects: shared, if possible.
    pub(crate) fn to_handles(&self) -> Arc<Vec<Handle>> {
        match self {
            Self::Handles(handles) => Arc::clone(handles),
            Self::Converted(objects) => Arc::new(
                objects
                    .iter()
                    .map(|object| object.handle().clone())
                    .collect(),
            ),
        }
    }
}

thread_local! {
    /// The type that was examined last, and whether it is a handle.
    static LAST: Cell<Option<(TypeId, bool)>> = const { Cell::new(None) };
}

/// Whether objects of the type are nothing but these handles. A type is examined once while a
/// thread gets objects of it alone: examining a list, or an object, that lies elsewhere in memory
/// takes longer.
fn are_handles<T: Object>(handles: &Arc<Vec<Handle>>) -> bool {
    let this = TypeId::of::<T>();
    if let Some((last, is)) = LAST.get()
        && last == this
    {
        return is;
    }
    handles.first().is_some_and(|first| {
        let is = is_handle::<T>(first);
        LAST.set(Some((this, is)));
        is
    })
}

/// Whether an object of the type is its handle: as large, and at the same place.
fn is_handle<T: Object>(handle: &Handle) -> bool {
    let object = T::from_handle(handle.clone());
    let place: *const T = &raw const object;
    size_of::<T>() == size_of::<Handle>()
        && align_of::<T>() == align_of::<Handle>()
        && std::ptr::eq(place.cast(), object.handle())
}

impl<T> Clone for Objects<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Handles(handles) => Self::Handles(Arc::clone(handles)),
            Self::Converted(objects) => Self::Converted(Arc::clone(objects)),
        }
    }
}

impl<T> Deref for Objects<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            // SAFETY: a `T` was examined, and all its bytes are those of a handle, so that the
            // bytes of any handle are those of a `T`; no other code changes or drops the handles
            // while they are borrowed.
            Self::Handles(handles) => unsafe {
                std::slice::from_raw_parts(handles.as_ptr().cast(), handles.len())
            },
            Self::Converted(objects) => objects,
        }
    }
}
