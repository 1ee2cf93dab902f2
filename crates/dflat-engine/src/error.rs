//! The one error type.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// The result of an operation of Dflat.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error: a message for people and a [kind](Error::kind) for programs.
///
/// The message names the operation, the type and the key. The chain of [`StdError::source`] has the
/// messages and codes of its causes. Cloning is cheap: clones share one error.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The kind of an [`Error`], by what the caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another object has the same primary key or the same value of a unique field. The transaction
    /// stays usable: change the object, use an upsert, or give up.
    AlreadyExists,
    /// The object to change does not exist any more; the transaction stays usable. Or the file to
    /// open for reading only does not exist.
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
    /// The workspace is shut down.
    ShutDown,
    /// The file or a row is damaged.
    Corrupt,
    /// The file is not a database.
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
    /// The file or its directory can't be written.
    ReadOnly,
    /// The file can't be opened, read or written, for the reason that the source gives.
    Io,
    /// The caller cancelled the read.
    Cancelled,
    /// The read took longer than the caller's deadline allows.
    DeadlineExceeded,
    /// A closure of the caller panicked. Its transaction is rolled back.
    Panicked,
    /// An error of the caller, made by [`Error::user`].
    User,
    /// A value has another type than the caller requested.
    WrongType,
    /// An argument is invalid, for the reason that the message gives.
    InvalidArgument,
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
        let source = Some(source.into());
        Self(Arc::new(Inner {
            kind,
            message: message.into(),
            source,
        }))
    }

    /// An error of the caller, to return from a transaction's handler. The transaction is rolled
    /// back, and its handle returns this error. [`Error::downcast_ref`] returns the original.
    #[must_use]
    pub fn user<E: StdError + Send + Sync + 'static>(error: E) -> Self {
        let message = error.to_string();
        let source: Option<Box<dyn StdError + Send + Sync>> = Some(Box::new(error));
        Self(Arc::new(Inner {
            kind: ErrorKind::User,
            message,
            source,
        }))
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
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

    /// The same error with a prefix to its message, such as the operation that failed.
    #[must_use]
    pub fn context(self, what: impl fmt::Display) -> Self {
        if self.kind() == ErrorKind::User {
            return self;
        }
        let message = format!("{what}: {}", self.0.message);
        let kind = self.kind();
        match Arc::try_unwrap(self.0) {
            Ok(inner) => Self(Arc::new(Inner { message, ..inner })),
            Err(shared) => Self::with_source(kind, message, Self(shared)),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
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
        let source: &(dyn StdError + 'static) = self.0.source.as_deref()?;
        match self.kind() {
            // The message is that of the caller's error, so the chain goes on with its cause.
            ErrorKind::User => source.source(),
            _ => Some(source),
        }
    }
}
