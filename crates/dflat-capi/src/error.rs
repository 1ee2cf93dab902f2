//! Errors: a code, a message, and a number of the caller.

use std::fmt;

use dflat_engine::Error;

use crate::boundary::{
    ErrorHandle, Given, In, OK, Out, OutHandle, Owned, Text, export, export_release, export_value,
    guard_release,
};

/// An error of the caller: a number of its choice, and a message.
#[derive(Debug)]
struct CallerError {
    value: i64,
    message: String,
}

impl fmt::Display for CallerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CallerError {}

fn of_caller(value: i64, message: &str) -> Error {
    let message = message.to_owned();
    Error::user(CallerError { value, message })
}

/// The error of a callback that returned a code, and perhaps gave an error.
pub(crate) fn returned(code: i32, given: Owned<ErrorHandle>) -> Error {
    let given = given.take().ok().flatten();
    given.map_or_else(
        || of_caller(code.into(), &format!("the callback returned {code}")),
        ErrorHandle::into_error,
    )
}

export! {
    fn dflat_error_new(value: i64, message: Text<'_>, created: OutHandle<'_, ErrorHandle>) {
        created.begin()?;
        let error = of_caller(value, message.get("message")?);
        created.set(ErrorHandle::new(error));
    }
}

export_release! {
    fn dflat_error_message(failure: In<'_, ErrorHandle>, message: Out<'_, Given>) {
        message.begin("message", Given::text(""))?;
        message.set(Given::text(failure.get()?.message()));
    }

    fn dflat_error_value(failure: In<'_, ErrorHandle>, value: Out<'_, i64>) {
        value.begin("value", 0)?;
        let own = failure.get()?.error().downcast_ref::<CallerError>();
        value.set(own.map_or(0, |own| own.value));
    }

    fn dflat_error_release(failure: Owned<ErrorHandle>) {
        drop(failure.take()?);
    }
}

export_value! {
    fn dflat_error_code(failure: In<'_, ErrorHandle>) -> i32 {
        let mut code = OK;
        let read = guard_release(|| {
            code = failure.or_none()?.map_or(OK, ErrorHandle::code);
            Ok(())
        });
        if read == OK { code } else { read }
    }
}
