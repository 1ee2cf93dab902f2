//! The one error type.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// The result of an operation of Dflat.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error: a message for people and a [kind](Error::kind) for programs.
///
/// The message names the operation, the type and the key. `Display` shows the message and then its
/// causes, such as SQLite's text and code or the reason of the operating system. Because the causes
/// are shown, [`StdError::source`] does not return them again; [`Error::cause_as`] finds one by its
/// type. Cloning is cheap: clones share one error.
///
/// # Examples
/// ```
/// # use dflat_engine as dflat;
/// use dflat::{Error, ErrorKind};
///
/// /// A handler's own error, and how a caller finds it again.
/// fn parsed(text: &str) -> dflat::Result<i32> {
///     text.parse().map_err(Error::user)
/// }
/// let error = parsed("seven").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::User);
/// assert!(error.downcast_ref::<std::num::ParseIntError>().is_some());
/// println!("{error}"); // invalid digit found in string
/// ```
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// The kind of an [`Error`], by what the caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another object has the same primary key or the same value of a unique field. The transaction
    /// stays usable: change the object, use an upsert, or give up. In an exchange of commits: an
    /// object exists that the other side has forgotten; delete it first.
    AlreadyExists,
    /// The object to create needs a key that the library assigns, and there is none: the table
    /// holds the largest key, 2^63 - 1. The transaction stays usable: create the object with a key
    /// of your own, below the largest.
    KeysExhausted,
    /// The object to change does not exist any more; the transaction stays usable. Or the file to
    /// open for reading only, the pack, the step, the commit or the earlier state does not exist.
    NotFound,
    /// The object has changed since the caller read it. The transaction stays usable: fetch the
    /// object again and decide anew.
    OutOfDate,
    /// The update would lose values that newer code has written and this program's schema lacks;
    /// the object can still be read and deleted. Or a newer version of Dflat has written to the
    /// table in a way that this version does not know; objects can be read, but not written.
    /// Nothing was changed, and the transaction stays usable. Update the program.
    NewerSchema,
    /// The transaction was aborted, by `abort` or by an earlier error that its message names.
    Aborted,
    /// The transaction used a type that `perform_changes` was not given. Add it to the list.
    UndeclaredType,
    /// The call was made inside a transaction's handler or a subscription's callback, and would
    /// wait for an event that can happen only after that handler or callback has returned. Do not
    /// wait there.
    WouldDeadlock,
    /// The workspace is shut down, or belongs to the parent of this process, which was forked.
    ShutDown,
    /// The file or a row is damaged.
    Corrupt,
    /// The file is not a database, or its texts are not UTF-8.
    NotADatabase,
    /// No space is left on the device, or a size limit is reached. Nothing of the transaction is
    /// kept.
    StorageFull,
    /// Another process or connection kept the file locked for longer than the busy timeout, or
    /// committed between a transaction's first read and its first change. Nothing was written.
    /// Perform the transaction again; `perform_changes_retrying` and
    /// `perform_changes_blocking_retrying` do so. With `write_first`, no other process can commit
    /// while the handler runs.
    Busy,
    /// The file or its directory can't be written, or the workspace is only read: it was opened so,
    /// or is an earlier state, a pack, or a replica.
    ReadOnly,
    /// The file can't be opened, read or written, or the server does not answer, for the reason
    /// that the message gives.
    Io,
    /// The caller cancelled the read or the upkeep of a file.
    Cancelled,
    /// The read took longer than the caller's deadline allows, or its snapshot was held for longer
    /// than the workspace allows.
    DeadlineExceeded,
    /// A closure of the caller panicked. Its transaction is rolled back.
    Panicked,
    /// An error of the caller, made by [`Error::user`].
    User,
    /// A value has another type than the caller requested.
    WrongType,
    /// An argument is invalid, for the reason that the message gives.
    InvalidArgument,
    /// The file or the server has a property that this build of the program cannot work with, for
    /// the reason that the message gives: a pack is compressed, and the feature for this is off; or
    /// a pool in front of a server does not give each connection a session of its own.
    Unsupported,
    /// The outcome of a commit is not known: the connection to a server was lost, and the server
    /// does not say whether the commit was made. Nothing is done again by itself. Read the objects,
    /// and decide anew.
    InDoubt,
    /// An error of the storage library without a kind of its own.
    Backend,
}

impl Error {
    /// An error with a kind. The message is lower case and names operation, type and key.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner {
            kind,
            message: message.into(),
            source: None,
        }))
    }

    /// An error with a kind and its cause.
    #[must_use]
    pub fn with_source(
        kind: ErrorKind,
        message: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        let source = Some(Arc::from(source.into()));
        Self(Arc::new(Inner {
            kind,
            message: message.into(),
            source,
        }))
    }

    /// An error of the caller, to return from a transaction's handler: any error, or a text. The
    /// transaction is rolled back, and its handle returns this error. [`Error::downcast_ref`]
    /// returns the original, if it was not a text.
    #[must_use]
    pub fn user<E: Into<Box<dyn StdError + Send + Sync>>>(error: E) -> Self {
        let error = error.into();
        Self(Arc::new(Inner {
            kind: ErrorKind::User,
            message: error.to_string(),
            source: Some(Arc::from(error)),
        }))
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the same read may succeed later although nothing is written meanwhile: the system
    /// lacks something now, such as a free file descriptor, or another program holds a lock.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(
            self.kind(),
            ErrorKind::Busy
                | ErrorKind::Io
                | ErrorKind::StorageFull
                | ErrorKind::DeadlineExceeded
                | ErrorKind::Backend
        )
    }

    /// The caller's error, if [`Error::user`] made this one from an `E`.
    #[must_use]
    pub fn downcast_ref<E: StdError + Send + Sync + 'static>(&self) -> Option<&E> {
        let user = self
            .0
            .source
            .as_ref()
            .filter(|_| self.kind() == ErrorKind::User)?;
        user.downcast_ref()
    }

    /// The first cause of a type, such as [`std::io::Error`]; `None` if no cause is of this type.
    #[must_use]
    pub fn cause_as<E: StdError + 'static>(&self) -> Option<&E> {
        let mut cause: Option<&(dyn StdError + 'static)> = match &self.0.source {
            Some(source) => Some(source.as_ref()),
            None => None,
        };
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            cause = match error.downcast_ref::<Self>() {
                Some(error) => return error.cause_as(),
                None => error.source(),
            };
        }
        None
    }

    /// The same error with a prefix to its message, such as the operation that failed. If the
    /// message begins with the same operation, the operation is not repeated.
    #[must_use]
    pub fn context(self, what: impl fmt::Display) -> Self {
        if self.kind() == ErrorKind::User {
            return self;
        }
        let message = prefixed(&what.to_string(), &self.0.message);
        Self(Arc::new(Inner {
            kind: self.kind(),
            message,
            source: self.0.source.clone(),
        }))
    }
}

/// A message behind the operation `what`. Both may begin with `cannot` and a verb: if the verbs are
/// equal, that of the message is left out, and if one names the whole operation of the other, the
/// longer one remains.
fn prefixed(what: &str, message: &str) -> String {
    let names_all = message
        .strip_prefix(what)
        .is_some_and(|rest| rest.starts_with([':', ' ', ',']));
    if names_all {
        return message.to_owned();
    }
    let operation = |text: &str| {
        let rest = text.strip_prefix("cannot ")?;
        rest.split(' ')
            .next()
            .map(|verb| "cannot ".len() + verb.len())
    };
    let rest = match (operation(what), operation(message)) {
        (Some(one), Some(other)) if what.get(..one) == message.get(..other) => {
            message.get(other..).unwrap_or(message).trim_start()
        }
        _ => message,
    };
    format!("{what}: {rest}")
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        // The message of an error of the caller is that of its cause.
        let source = self
            .0
            .source
            .as_deref()
            .filter(|_| self.kind() != ErrorKind::User);
        let mut cause: Option<&(dyn StdError + 'static)> = source.map(|source| source as _);
        let mut shown = self.0.message.clone();
        while let Some(error) = cause {
            let text = error.to_string();
            // Some errors show their causes, too.
            if !shown.contains(&text) {
                write!(f, ": {text}")?;
            }
            shown = text;
            cause = error.source();
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Error");
        debug
            .field("kind", &self.0.kind)
            .field("message", &self.0.message);
        if let Some(source) = &self.0.source {
            debug.field("source", source);
        }
        debug.finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self.kind() {
            // The message is that of the caller's error, so the chain goes on with its cause.
            ErrorKind::User => self.0.source.as_deref()?.source(),
            // `Display` shows the causes.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn missing() -> Error {
        let cause = io::Error::new(io::ErrorKind::NotFound, "no such directory");
        Error::with_source(ErrorKind::Io, "cannot open a.db", cause)
    }

    #[test]
    fn causes_are_shown_once() {
        assert_eq!(missing().to_string(), "cannot open a.db: no such directory");
        assert!(missing().source().is_none());
        let nested = Error::with_source(ErrorKind::Io, "cannot start", missing());
        assert_eq!(
            nested.to_string(),
            "cannot start: cannot open a.db: no such directory"
        );
        let named = Error::with_source(ErrorKind::Io, "no such directory: a", missing());
        assert_eq!(
            named.to_string(),
            "no such directory: a: cannot open a.db: no such directory"
        );
    }

    #[test]
    fn causes_are_found_by_their_type() {
        let nested = Error::with_source(ErrorKind::Io, "cannot start", missing());
        for error in [missing(), nested, missing().context("cannot fetch Post")] {
            let cause = error.cause_as::<io::Error>().unwrap();
            assert_eq!(cause.kind(), io::ErrorKind::NotFound);
        }
        assert!(missing().cause_as::<fmt::Error>().is_none());
    }

    #[test]
    fn operations_are_not_repeated() {
        for (what, message, whole) in [
            (
                "cannot fetch A",
                "it is locked",
                "cannot fetch A: it is locked",
            ),
            (
                "cannot write A",
                "cannot write a.db: full",
                "cannot write A: a.db: full",
            ),
            (
                "cannot fetch A",
                "cannot read a.db: full",
                "cannot fetch A: cannot read a.db: full",
            ),
            (
                "cannot fetch A",
                "cannot fetch A: full",
                "cannot fetch A: full",
            ),
            (
                "cannot fetch A",
                "cannot fetch Ab: full",
                "cannot fetch A: Ab: full",
            ),
            ("A", "it is malformed", "A: it is malformed"),
        ] {
            let error = Error::new(ErrorKind::Io, message).context(what);
            assert_eq!(error.to_string(), whole);
            // A shared error, too.
            let error = Error::new(ErrorKind::Io, message);
            assert_eq!(error.clone().context(what).to_string(), whole);
        }
    }

    #[test]
    fn error_of_the_caller_is_shown_as_it_is() {
        let error = Error::user(io::Error::other("mine"));
        assert_eq!(error.clone().context("cannot fetch A").to_string(), "mine");
        assert!(error.cause_as::<io::Error>().is_some());
        assert!(error.downcast_ref::<io::Error>().is_some());
    }

    #[test]
    fn text_is_an_error_of_the_caller() {
        for error in [Error::user("no room"), Error::user("no room".to_owned())] {
            assert_eq!(error.kind(), ErrorKind::User);
            assert_eq!(error.to_string(), "no room");
            assert!(error.downcast_ref::<io::Error>().is_none());
        }
    }
}
