//! The frame of exported functions: panics do not leave them.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of an exported function; `None` if the body panicked. Locks of values that the
/// body shares with other calls must recover from poisoning.
pub fn caught<R>(body: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(returned) => Some(returned),
        Err(panic) => {
            // The value of the panic may panic again when it is dropped.
            if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
                std::mem::forget(another);
            }
            None
        }
    }
}

/// Exports functions that return a code: arguments, and a body that returns by `?`. The path before
/// them is that of the function of the library that runs each body and makes the code.
#[macro_export]
macro_rules! export_code {
    ($guard:path; $(fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        #[allow(unsafe_code, reason = "the name is the one in the header, and no other crate's")]
        #[allow(clippy::needless_pass_by_value, reason = "C passes values")]
        #[unsafe(no_mangle)]
        extern "C" fn $name($($arg: $type,)*) -> i32 {
            $guard(move || {
                $body
                Ok(())
            })
        }
    )*};
}

/// Exports functions that return a value and cannot fail.
#[macro_export]
macro_rules! export_value {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $value:ty $body:block)*) => {$(
        #[allow(unsafe_code, reason = "the name is the one in the header, and no other crate's")]
        #[unsafe(no_mangle)]
        extern "C" fn $name($($arg: $type,)*) -> $value $body
    )*};
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    /// A value of a panic that panics with another such value when it is dropped.
    struct PanicsAgain;

    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            panic_any(Self);
        }
    }

    #[test]
    fn a_panic_is_caught_also_if_its_value_panics() {
        assert_eq!(caught(|| 1), Some(1));
        assert_eq!(caught(|| -> i32 { panic!("a defect") }), None);
        assert_eq!(caught(|| -> i32 { panic_any(PanicsAgain) }), None);
    }
}
