//! Values that are lent to a callback for the time of its call, on its thread: transactions. A
//! pointer that is used later, or on another thread, is refused without being read.
#![expect(unsafe_code, reason = "a callback passes the pointer that it was lent")]

use std::cell::RefCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

use dflat_engine::Result;

use super::code::invalid;
use super::handle::Kind;

thread_local! {
    /// The addresses and tags of the values that are lent on this thread.
    // A value that is dropped at the end of its thread could not be used by destructors that run
    // after that. The end of the last loan frees the memory.
    static LENT: RefCell<ManuallyDrop<Vec<(usize, u64)>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

struct EndOfLoan;

impl Drop for EndOfLoan {
    fn drop(&mut self) {
        LENT.with_borrow_mut(|lent| {
            lent.pop();
            if lent.is_empty() {
                drop(std::mem::take(&mut **lent));
            }
        });
    }
}

/// A pointer for a callback's argument.
#[repr(transparent)]
pub(crate) struct OutLent<T>(*const c_void, PhantomData<T>);

/// Lends a value to `call`.
pub(crate) fn lend<T: Kind, R>(value: &T, call: impl FnOnce(OutLent<T>) -> R) -> R {
    let pointer = std::ptr::from_ref(value).cast::<c_void>();
    LENT.with_borrow_mut(|lent| lent.push((pointer.addr(), T::TAG)));
    let _end = EndOfLoan;
    call(OutLent(pointer, PhantomData))
}

/// A value that was lent to the callback that runs on this thread.
#[repr(transparent)]
pub(crate) struct Lent<'a, T>(*const c_void, PhantomData<&'a T>);

impl<T> Clone for Lent<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Lent<'_, T> {}

impl<'a, T: Kind> Lent<'a, T> {
    /// The value.
    pub(crate) fn get(self) -> Result<&'a T> {
        let found = (self.0.addr(), T::TAG);
        if !LENT.with_borrow(|lent| lent.contains(&found)) {
            let name = T::NAME;
            let message = format!(
                "{name}: it is valid on the thread and during the call of its handler only"
            );
            return Err(invalid(message));
        }
        // SAFETY: the address is one of a `T` that is lent on this thread. The loan ends after the
        // callback that makes this call has returned, so the value outlives the call, and so `'a`.
        Ok(unsafe { &*self.0.cast::<T>() })
    }

    /// Whether the pointer is NULL.
    pub(crate) const fn is_none(self) -> bool {
        self.0.is_null()
    }
}
