//! Lists of typed objects, kept as untyped handles, so that the engine and the caller share one
//! list.
#![allow(
    unsafe_code,
    reason = "a slice of handles is read as one of objects, which are nothing else"
)]

use std::any::{Any, TypeId};
use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;

use super::Object;
use crate::codec::Handle;

/// The objects of a result, of type `T`.
pub(crate) struct Objects<T> {
    list: List,
    /// Reads a list that was converted.
    read: Read<T>,
}

type Read<T> = fn(&(dyn Any + Send + Sync)) -> &[T];

/// A list whose type is hidden, so that a program has one copy of the code that drops it.
#[derive(Clone)]
enum List {
    /// Objects of a type that is a handle and nothing else, as all generated types are.
    Handles(Arc<Vec<Handle>>),
    /// A `Vec<T>` of objects of any other type.
    Converted(Arc<dyn Any + Send + Sync>),
}

impl<T: Object> Objects<T> {
    /// The objects of these handles. If the objects are nothing but their handles, the list is
    /// shared and not copied.
    pub(crate) fn new(handles: Arc<Vec<Handle>>) -> Self {
        let list = if are_handles(TypeId::of::<T>(), &handles, is_handle::<T>) {
            List::Handles(handles)
        } else {
            converted::<T>(&handles)
        };
        let read: Read<T> = |list| list.downcast_ref::<Vec<T>>().map_or(&[], Vec::as_slice);
        Self { list, read }
    }

    /// The handles of the objects: shared, if possible.
    pub(crate) fn to_handles(&self) -> Arc<Vec<Handle>> {
        match &self.list {
            List::Handles(handles) => Arc::clone(handles),
            List::Converted(_) => {
                let handles = self.iter().map(|object| object.handle().clone());
                Arc::new(handles.collect())
            }
        }
    }
}

/// The objects of these handles.
#[cold]
fn converted<T: Object>(handles: &[Handle]) -> List {
    let mut objects = Vec::new();
    for_each(handles, &mut |handle| objects.push(T::from_handle(handle)));
    List::Converted(Arc::new(objects))
}

/// Calls `add` with each handle: a loop that is compiled once, and not for each type.
fn for_each(handles: &[Handle], add: &mut dyn FnMut(Handle)) {
    for handle in handles {
        add(handle.clone());
    }
}

thread_local! {
    /// The type that was examined last, and whether it is a handle.
    static LAST: Cell<Option<(TypeId, bool)>> = const { Cell::new(None) };
}

/// Whether objects of the type are nothing but these handles. A type is examined once while a
/// thread gets objects of it alone: examining a list, or an object, that lies elsewhere in memory
/// takes longer.
fn are_handles(this: TypeId, handles: &[Handle], examine: fn(Handle) -> bool) -> bool {
    if let Some((last, is)) = LAST.get()
        && last == this
    {
        return is;
    }
    handles.first().is_some_and(|first| {
        let is = examine(first.clone());
        LAST.set(Some((this, is)));
        is
    })
}

/// Whether an object of the type is its handle: as large, and at the same place.
fn is_handle<T: Object>(handle: Handle) -> bool {
    let object = T::from_handle(handle);
    let place: *const T = &raw const object;
    size_of::<T>() == size_of::<Handle>()
        && align_of::<T>() == align_of::<Handle>()
        && std::ptr::eq(place.cast(), object.handle())
}

impl<T> Clone for Objects<T> {
    fn clone(&self) -> Self {
        let list = self.list.clone();
        Self { list, ..*self }
    }
}

impl<T> Deref for Objects<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.list {
            // SAFETY: a `T` was examined, and all its bytes are those of a handle, so that the
            // bytes of any handle are those of a `T`; no other code changes or drops the handles
            // while they are borrowed.
            List::Handles(handles) => unsafe {
                std::slice::from_raw_parts(handles.as_ptr().cast(), handles.len())
            },
            List::Converted(objects) => (self.read)(&**objects),
        }
    }
}
