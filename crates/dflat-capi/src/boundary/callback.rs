//! Callbacks: functions of the caller with a context of theirs.
#![expect(
    unsafe_code,
    reason = "a context of the caller goes from thread to thread"
)]

use std::ffi::c_void;

use dflat_engine::{Result, callback};

use super::code::invalid;

/// A function of the caller, its context, and the function that releases the context.
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
    /// Refuses a callback without a function. `name` is that of the argument.
    pub(crate) fn begin(&self, name: &str) -> Result<()> {
        match self.call {
            Some(_) => Ok(()),
            None => Err(invalid(format!("{name}: it has no function to call"))),
        }
    }

    /// The function and its context; `None` if it has no function.
    pub(crate) fn function(&self) -> Option<(F, *mut c_void)> {
        Some((self.call?, self.context))
    }
}

impl<F> Drop for Callback<F> {
    fn drop(&mut self) {
        let (release, context) = (self.drop.take(), self.context);
        if let Some(release) = release {
            // It may release the last handle on a workspace, and this thread must not wait for the
            // end of that workspace.
            let _ = callback::run("the release of a context", || release(context));
        }
    }
}
