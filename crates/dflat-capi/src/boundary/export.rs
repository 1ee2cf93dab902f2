//! The frame of every exported function: it catches panics, returns a code, and gives an error on
//! request.

use std::ffi::c_void;

use dflat_capi_boundary::{Out, caught};
use dflat_engine::{Error, ErrorKind, Result};

use super::code::{OK, code_of};
use super::error::ErrorHandle;
use super::handle::{self, Owned};

/// A place of the caller for an error; NULL if the caller does not want it.
pub(crate) type OutError<'a> = Out<'a, *mut c_void>;

/// Runs the body of a function.
pub(crate) fn guard(error: OutError<'_>, body: impl FnOnce() -> Result<()>) -> i32 {
    error.set(std::ptr::null_mut());
    match run(body) {
        Ok(()) => OK,
        Err(failure) => {
            let code = code_of(failure.kind());
            if error.is_wanted() {
                error.set(handle::new(ErrorHandle::new(failure)));
            }
            code
        }
    }
}

/// Calls a function of the caller that may give an error.
pub(crate) fn with_error<R>(call: impl FnOnce(OutError<'_>) -> R) -> (R, Owned<ErrorHandle>) {
    let mut given = std::ptr::null_mut();
    let returned = call(Out::of(&mut given));
    (returned, Owned::of(given))
}

/// Runs the body of a function that gives no error.
pub(crate) fn guard_release(body: impl FnOnce() -> Result<()>) -> i32 {
    run(body).map_or_else(|failure| code_of(failure.kind()), |()| OK)
}

fn run(body: impl FnOnce() -> Result<()>) -> Result<()> {
    // The locks of values that the body shares recover from poisoning.
    caught(body).unwrap_or_else(|| {
        let message = "the library panicked, which is a defect of the library";
        Err(Error::new(ErrorKind::Panicked, message))
    })
}

/// Exports functions of this form: arguments, and a body that returns a `Result`. Each gets a last
/// argument for an error.
macro_rules! export {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        $(#[$meta])*
        #[allow(unsafe_code, reason = "the name is the one in the header, and no other crate's")]
        #[allow(clippy::needless_pass_by_value, reason = "C passes values")]
        #[unsafe(no_mangle)]
        extern "C" fn $name($($arg: $type,)* error: $crate::boundary::OutError<'_>) -> i32 {
            $crate::boundary::guard(error, move || -> dflat_engine::Result<()> {
                $body
                Ok(())
            })
        }
    )*};
}

/// Exports functions that give no error, such as those that release a handle.
macro_rules! export_release {
    ($($functions:tt)*) => {
        dflat_capi_boundary::export_code! { $crate::boundary::guard_release; $($functions)* }
    };
}

pub(crate) use {export, export_release};

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: impl Fn() -> Result<()> + Copy) {
        let (code, given) = with_error(|error| guard(error, body));
        let given = given.take().unwrap().unwrap();
        let panicked = code_of(ErrorKind::Panicked);
        assert_eq!((code, given.code()), (panicked, panicked));
        assert!(given.message().contains("the library panicked"));
        assert_eq!(guard(Out::none(), body), panicked);
        assert_eq!(guard_release(body), panicked);
    }

    #[test]
    fn a_panic_becomes_an_error() {
        check(|| panic!("a defect"));
    }

    #[test]
    fn an_error_keeps_its_code_and_success_gives_none() {
        let refused = || Err(crate::boundary::invalid("no"));
        let (code, given) = with_error(|error| guard(error, refused));
        let given = given.take().unwrap().unwrap();
        assert_eq!((code, given.code(), given.message()), (21, 21, "no"));
        let (code, given) = with_error(|error| guard(error, || Ok(())));
        assert!(code == OK && given.take().unwrap().is_none());
    }
}
