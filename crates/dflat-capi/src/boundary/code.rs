//! The codes that functions return: the kinds of errors, as numbers that never change.

use dflat_engine::{Error, ErrorKind};

/// Success.
pub(crate) const OK: i32 = 0;

/// The number of a kind. A kind that this crate does not know yet is an error of the storage.
pub(crate) const fn code_of(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::AlreadyExists => 1,
        ErrorKind::KeysExhausted => 2,
        ErrorKind::NotFound => 3,
        ErrorKind::OutOfDate => 4,
        ErrorKind::NewerSchema => 5,
        ErrorKind::Aborted => 6,
        ErrorKind::UndeclaredType => 7,
        ErrorKind::WouldDeadlock => 8,
        ErrorKind::ShutDown => 9,
        ErrorKind::Corrupt => 10,
        ErrorKind::NotADatabase => 11,
        ErrorKind::StorageFull => 12,
        ErrorKind::Busy => 13,
        ErrorKind::ReadOnly => 14,
        ErrorKind::Io => 15,
        ErrorKind::Cancelled => 16,
        ErrorKind::DeadlineExceeded => 17,
        ErrorKind::Panicked => 18,
        ErrorKind::User => 19,
        ErrorKind::WrongType => 20,
        ErrorKind::InvalidArgument => 21,
        ErrorKind::Unsupported => 23,
        ErrorKind::InDoubt => 24,
        _ => 22,
    }
}

/// An error for an argument that cannot be used.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of a kind in the header, such as `DFLAT_ALREADY_EXISTS`.
    fn in_header(kind: ErrorKind) -> String {
        let mut name = String::from("DFLAT");
        for letter in format!("{kind:?}").chars() {
            if letter.is_ascii_uppercase() {
                name.push('_');
            }
            name.push(letter.to_ascii_uppercase());
        }
        name
    }

    // Promise: c-interface#I1
    #[test]
    fn each_kind_has_the_code_of_its_name_in_the_header() {
        let header = include_str!("../../include/dflat.h");
        let kinds = [
            ErrorKind::AlreadyExists,
            ErrorKind::KeysExhausted,
            ErrorKind::NotFound,
            ErrorKind::OutOfDate,
            ErrorKind::NewerSchema,
            ErrorKind::Aborted,
            ErrorKind::UndeclaredType,
            ErrorKind::WouldDeadlock,
            ErrorKind::ShutDown,
            ErrorKind::Corrupt,
            ErrorKind::NotADatabase,
            ErrorKind::StorageFull,
            ErrorKind::Busy,
            ErrorKind::ReadOnly,
            ErrorKind::Io,
            ErrorKind::Cancelled,
            ErrorKind::DeadlineExceeded,
            ErrorKind::Panicked,
            ErrorKind::User,
            ErrorKind::WrongType,
            ErrorKind::InvalidArgument,
            ErrorKind::Backend,
            ErrorKind::Unsupported,
            ErrorKind::InDoubt,
        ];
        for (kind, code) in kinds.into_iter().zip(1..) {
            assert_eq!(code_of(kind), code);
            let line = format!(" {} = {code}", in_header(kind));
            assert!(
                header
                    .lines()
                    .any(|text| text.trim_end_matches(',').ends_with(&line)),
                "{line}"
            );
        }
    }
}
