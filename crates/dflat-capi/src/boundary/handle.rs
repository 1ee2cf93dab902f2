//! Handles: values on the heap, which the caller keeps by pointers.
//!
//! Each handle begins with a tag, so that a handle of another kind is refused. The addresses of all
//! handles are known, so that a handle that was released before is refused by the functions that
//! release, unless a new handle has got its address. The caller may use and release a handle on any
//! thread, so the values of handles are `Send` and `Sync`.
#![expect(unsafe_code, reason = "the caller keeps boxes by their pointers")]

use std::collections::HashMap;
use std::ffi::c_void;
use std::hash::{BuildHasherDefault, Hasher};
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use dflat_engine::Result;

use super::code::invalid;

/// A kind of handle.
pub(crate) trait Kind: Sized {
    /// Distinguishes the kind from the others.
    const TAG: u64;
    /// Its name in messages.
    const NAME: &'static str;
}

/// The tag of a handle that was released.
const RELEASED: u64 = 0;

#[repr(C)]
struct Handle<T> {
    tag: u64,
    value: T,
}

/// Hashes addresses, which the program does not choose. A hash that resists chosen keys took a
/// third of the instructions of making and releasing a result, which each delivery does.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte.into());
        }
    }

    fn write_usize(&mut self, address: usize) {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        self.0 = (self.0 ^ address as u64).wrapping_mul(ODD);
    }

    fn finish(&self) -> u64 {
        // The lowest bits of a product with an aligned address are 0.
        self.0.rotate_left(32)
    }
}

/// Tags by address.
type Tags = HashMap<usize, u64, BuildHasherDefault<AddressHasher>>;

/// The tags of the handles that exist.
static HANDLES: Mutex<Option<Tags>> = Mutex::new(None);

fn with_handles<R>(use_handles: impl FnOnce(&mut Tags) -> R) -> R {
    let mut handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
    use_handles(handles.get_or_insert_default())
}

fn none<T: Kind>() -> dflat_engine::Error {
    invalid(format!("{}: the pointer is NULL", T::NAME))
}

fn of_another_kind<T: Kind>() -> dflat_engine::Error {
    invalid(format!(
        "{0}: the pointer is not one of a {0}, or the {0} was released",
        T::NAME
    ))
}

/// A handle that the caller lends for a call.
#[repr(transparent)]
pub(crate) struct In<'a, T>(*const c_void, PhantomData<&'a T>);

impl<T> Clone for In<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<'_, T> {}

/// Lends a value to a callback as a handle, which the callback cannot release.
pub(crate) fn lend_handle<T: Kind + Send + Sync, R>(
    value: T,
    call: impl FnOnce(In<'_, T>) -> R,
) -> R {
    let tag = T::TAG;
    let mut handle = Handle { tag, value };
    let returned = call(In(std::ptr::from_ref(&handle).cast(), PhantomData));
    handle.tag = RELEASED;
    returned
}

impl<'a, T: Kind + Send + Sync> In<'a, T> {
    /// No handle.
    pub(crate) const NONE: Self = Self(std::ptr::null(), PhantomData);

    /// The value.
    pub(crate) fn get(self) -> Result<&'a T> {
        self.or_none()?.ok_or_else(none::<T>)
    }

    /// The value; `None` for NULL.
    pub(crate) fn or_none(self) -> Result<Option<&'a T>> {
        let handle = self.0.cast::<Handle<T>>();
        if handle.is_null() {
            return Ok(None);
        }
        if !handle.is_aligned() {
            return Err(of_another_kind::<T>());
        }
        // SAFETY: the header requires that the pointer is one of a handle that is not released
        // during the call. Every handle begins with a tag.
        if unsafe { *handle.cast::<u64>() } != T::TAG {
            return Err(of_another_kind::<T>());
        }
        // SAFETY: as above, and the tag shows that the handle is one of a `T`. Handles are not
        // written to after they were made, and a `T` may be used on any thread.
        Ok(Some(unsafe { &(*handle).value }))
    }
}

/// A place of the caller for a new handle.
#[repr(transparent)]
pub(crate) struct OutHandle<'a, T>(*mut *mut c_void, PhantomData<&'a mut T>);

impl<T> Clone for OutHandle<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for OutHandle<'_, T> {}

impl<T: Kind + Send + Sync> OutHandle<'_, T> {
    /// Refuses NULL, and writes NULL, which the place keeps if the call fails.
    pub(crate) fn begin(self) -> Result<()> {
        if self.0.is_null() || !self.0.is_aligned() {
            let message = format!("{}: there is no place for the result", T::NAME);
            return Err(invalid(message));
        }
        self.write(std::ptr::null_mut());
        Ok(())
    }

    /// Writes NULL, unless the caller does not want the result.
    pub(crate) fn begin_if_wanted(self) {
        self.write(std::ptr::null_mut());
    }

    /// Makes a handle and gives it to the caller, unless the caller does not want it.
    pub(crate) fn set_if_wanted(self, value: impl FnOnce() -> T) {
        if !self.0.is_null() {
            self.set(value());
        }
    }

    /// Makes a handle, and gives it to the caller.
    pub(crate) fn set(self, value: T) {
        self.write(new(value));
    }

    fn write(self, handle: *mut c_void) {
        if !self.0.is_null() && self.0.is_aligned() {
            // SAFETY: the pointer is aligned and not NULL, and the header requires that the place
            // is valid for the call and used by nothing else meanwhile.
            unsafe { self.0.write(handle) };
        }
    }
}

/// Makes a handle, which `Owned::take` takes back.
pub(super) fn new<T: Kind + Send + Sync>(value: T) -> *mut c_void {
    let tag = T::TAG;
    let handle = Box::into_raw(Box::new(Handle { tag, value }));
    with_handles(|handles| handles.insert(handle.addr(), tag));
    handle.cast()
}

/// A handle that the caller gives back.
#[repr(transparent)]
pub(crate) struct Owned<T>(*mut c_void, PhantomData<fn() -> T>);

impl<T> Clone for Owned<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Owned<T> {}

impl<T: Kind + Send + Sync> Owned<T> {
    /// A handle that a callback gave.
    pub(super) const fn of(pointer: *mut c_void) -> Self {
        Self(pointer, PhantomData)
    }

    /// A new handle, which a callback gets and gives back.
    pub(crate) fn new(value: T) -> Self {
        Self::of(new(value))
    }

    /// The value, which the caller does not have any more; `None` for NULL.
    pub(crate) fn take(self) -> Result<Option<T>> {
        if self.0.is_null() {
            return Ok(None);
        }
        let address = self.0.addr();
        let is_known = with_handles(|handles| {
            let known = handles.get(&address) == Some(&T::TAG);
            known && handles.remove(&address).is_some()
        });
        if !is_known {
            return Err(of_another_kind::<T>());
        }
        let handle = self.0.cast::<Handle<T>>();
        // SAFETY: the address is that of a handle of this kind, which `new` made by `Box::into_raw`
        // and which was taken out of the list just now, so that nothing else takes it. The header
        // requires that no other call uses it meanwhile.
        let mut handle = unsafe { Box::from_raw(handle) };
        handle.tag = RELEASED;
        Ok(Some(handle.value))
    }
}
