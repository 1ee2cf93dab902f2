//! Callbacks: functions of the caller with a context of theirs.
#![expect(
    unsafe_code,
    reason = "a context of the caller goes from thread to thread"
)]

use std::ffi::c_void;

use dflat_engine::{Result, callback};

use super::code::invalid;
use super::order::Order;

/// An argument: a function of the caller, its context, and the function that releases the context.
///
/// The context is released exactly once, when the callback is dropped: no copy of it exists.
#[repr(C)]
pub(crate) struct Callback<F> {
    context: *mut c_void,
    call: Option<F>,
    drop: Option<extern "C" fn(*mut c_void)>,
}

// SAFETY: the header requires that a callback may be called and released on any thread.
unsafe impl<F> Send for Callback<F> {}
// SAFETY: as above.
unsafe impl<F> Sync for Callback<F> {}

impl<F: Copy> Callback<F> {
    /// The callback, to be kept. A callback without a function is refused. `name` is that of the
    /// argument.
    pub(crate) fn kept(self, name: &str) -> Result<KeptCallback<F>> {
        match self.call {
            Some(_) => Ok(self.kept_or_silent()),
            None => Err(invalid(format!("{name}: it has no function to call"))),
        }
    }

    /// The callback, to be kept; it may have no function.
    pub(crate) fn kept_or_silent(self) -> KeptCallback<F> {
        KeptCallback {
            order: Order::new(),
            callback: self,
        }
    }

    /// As [`kept_or_silent`](Self::kept_or_silent), for one that is called after another one.
    pub(crate) fn kept_after<G>(self, other: &KeptCallback<G>) -> KeptCallback<F> {
        KeptCallback {
            order: other.order.clone(),
            callback: self,
        }
    }
}

impl<F> Drop for Callback<F> {
    fn drop(&mut self) {
        let (release, context) = (self.drop.take(), self.context);
        if let Some(release) = release {
            // It may release the last handle on a workspace, and this thread must not wait for the
            // end of that workspace.
            let _ = callback::run("the release of a context", || release(context));
            Order::after_release();
        }
    }
}

/// A callback that the library keeps until it is dropped.
pub(crate) struct KeptCallback<F> {
    callback: Callback<F>,
    order: Order,
}

impl<F: Copy> KeptCallback<F> {
    /// Lets `call` call the function with its context; `None` if there is no function.
    pub(crate) fn run<R>(&self, call: impl FnOnce(F, *mut c_void) -> R) -> Option<R> {
        let function = self.callback.call?;
        self.order.begin();
        let returned = call(function, self.callback.context);
        self.order.end();
        Some(returned)
    }
}

impl<F> Drop for KeptCallback<F> {
    fn drop(&mut self) {
        self.order.begin();
    }
}
