//! The one error type.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// The result of an operation of Dflat.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, for people; [`Error::kind`] says it for programs.
///
/// The message names the operation, the type and the key. The chain of [`StdError::source`] carries
/// the text and the code of what caused it. Cloning is cheap: the clones share one error.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What a caller can do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another object has the same primary key or the same value of a unique field. The transaction
    /// stays usable: change the object, use an upsert, or give up.
    AlreadyExists,
    /// The object to change does not exist any more. The transaction stays usable.
    NotFound,
    /// The object is not what it was when the caller read it. The transaction stays usable: fetch
    /// it again and decide anew.
    OutOfDate,
    /// The update would lose what newer code has written, because this code's schema does not know
    /// it: the object can be read and deleted. Or a newer version of Dflat has written to the table
    /// in a way that this one does not know: objects can be read, and none be written. Nothing was
    /// changed, and the transaction stays usable. Update the program.
    NewerSchema,
    /// The transaction was aborted, by `abort` or by an earlier error that its message names.
    Aborted,
    /// The transaction used a type that `perform_changes` was not given. Add it to the list.
    UndeclaredType,
    /// The call would wait for something that can only happen after the caller returns: it was made
    /// inside a transaction's handler or a subscription's callback. Do not wait there.
    WouldDeadlock,
    /// The workspace is shut down.
    ShutDown,
    /// The file's bytes are not what they should be: a damaged file or row.
    Corrupt,
    /// The file is not a database.
    NotADatabase,
    /// No space is left on the device, or a size limit is reached. Nothing of the transaction is
    /// kept.
    StorageFull,
    /// Another process or connection kept the file locked for longer than the busy timeout, or has
    /// committed between a transaction's first read and its first change. Nothing was written:
    /// perform it again.
    Busy,
    /// The file or its directory can't be written.
    ReadOnly,
    /// The file can't be opened, read or written, for the reason the source gives.
    Io,
    /// The caller cancelled the read.
    Cancelled,
    /// The read took longer than the caller gave it.
    DeadlineExceeded,
    /// A closure of the caller's panicked. Its transaction is rolled back.
    Panicked,
    /// An error of the caller's own, made by [`Error::user`].
    User,
    /// A value is of another type than it was asked for as.
    WrongType,
    /// An argument can't be used, as the message says.
    InvalidArgument,
    /// An error of the storage library that has no kind of its own.
    Backend,
}

impl Error {
    /// An error of a kind. The message is lower case and names operation, type and key.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner {
            kind,
            message: message.into(),
            source: None,
        }))
    }

    /// An error of a kind with what caused it.
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

    /// An error of the caller's own, to return from a transaction's handler. The transaction is
    /// rolled back, and its handle gives this error; [`Error::downcast_ref`] gives back what was
    /// put in.
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

    /// What the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The caller's own error, if [`Error::user`] made this one from an `E`.
    #[must_use]
    pub fn downcast_ref<E: StdError + Send + Sync + 'static>(&self) -> Option<&E> {
        let user = self
            .0
            .source
            .as_ref()
            .filter(|_| self.kind() == ErrorKind::User)?;
        user.downcast_ref()
    }

    /// The same error with more said before it, such as the operation that met it.
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
            // The message is the user's error's own: what follows is what caused that.
            ErrorKind::User => source.source(),
            _ => Some(source),
        }
    }
}
