//! Errors of the server and of the connection to it.

use std::error::Error as _;
use std::fmt::Display;
use std::io;

use dflat_engine::storage::Aborted;
use dflat_engine::{Error, ErrorKind};
use rustls::CertificateError;
use tokio_postgres::error::{DbError, Severity, SqlState};

/// The error of an operation. The message has the server's words, and never the address.
#[cold]
pub(crate) fn failed(operation: impl Display, error: tokio_postgres::Error) -> Error {
    let Some(db) = error.as_db_error() else {
        if is_undecodable(&error) {
            let message = format!(
                "cannot {operation}: a table has other columns than the library has created"
            );
            return Error::with_source(ErrorKind::Corrupt, message, error);
        }
        let message = format!("cannot {operation}: the connection to the server failed");
        return Error::with_source(ErrorKind::Io, message, error);
    };
    let kind = kind_of(db.code());
    let mut message = format!("cannot {operation}: {}", db.message());
    if let Some(hint) = db.hint() {
        message.push_str("; ");
        message.push_str(hint);
    }
    if kind == ErrorKind::Unsupported {
        message.push_str(
            "; a pool between the program and the server gives one session to several connections, \
             and must have `pool_mode = session`",
        );
    }
    if *db.code() == SqlState::LOCK_NOT_AVAILABLE {
        message.push_str("; another transaction held a lock for longer than the busy timeout");
    }
    if is_abort(db.code()) {
        message.push_str(
            "; a transaction that may run again, such as of perform_changes_retrying, does so",
        );
        return Error::with_source(kind, message, Aborted::by(error));
    }
    Error::with_source(kind, message, error)
}

/// Whether a row was read that has not the columns which the library has created.
fn is_undecodable(error: &tokio_postgres::Error) -> bool {
    // The crate has no other sign of these errors.
    let text = error.to_string();
    ["error deserializing column", "invalid column"]
        .iter()
        .any(|start| text.starts_with(start))
}

/// Whether the server has ended a transaction because of another one.
fn is_abort(code: &SqlState) -> bool {
    let aborts = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    aborts.contains(code)
}

fn kind_of(code: &SqlState) -> ErrorKind {
    if is_of_connection(code) {
        return ErrorKind::Io;
    }
    match *code {
        SqlState::LOCK_NOT_AVAILABLE
        | SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::T_R_DEADLOCK_DETECTED
        | SqlState::TOO_MANY_CONNECTIONS
        | SqlState::UNDEFINED_TABLE
        | SqlState::INVALID_SCHEMA_NAME => ErrorKind::Busy,
        SqlState::DISK_FULL | SqlState::CONFIGURATION_LIMIT_EXCEEDED => ErrorKind::StorageFull,
        SqlState::READ_ONLY_SQL_TRANSACTION | SqlState::INSUFFICIENT_PRIVILEGE => {
            ErrorKind::ReadOnly
        }
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => ErrorKind::Corrupt,
        SqlState::INVALID_PASSWORD
        | SqlState::INVALID_AUTHORIZATION_SPECIFICATION
        | SqlState::INVALID_CATALOG_NAME => ErrorKind::InvalidArgument,
        // The library's own sessions have what they prepare and declare.
        SqlState::INVALID_SQL_STATEMENT_NAME
        | SqlState::DUPLICATE_PSTATEMENT
        | SqlState::INVALID_CURSOR_NAME
        | SqlState::DUPLICATE_CURSOR => ErrorKind::Unsupported,
        SqlState::IO_ERROR => ErrorKind::Io,
        _ => ErrorKind::Backend,
    }
}

/// Whether the server, or a pool before it, ends the connection with this error. The transaction
/// may have been committed: a pool does not know that, if its own connection to the server fails.
fn is_lost(error: &DbError) -> bool {
    // A pool may give the severity in one form alone.
    let is_fatal = matches!(
        error.parsed_severity(),
        Some(Severity::Fatal | Severity::Panic)
    );
    is_fatal || matches!(error.severity(), "FATAL" | "PANIC") || is_of_connection(error.code())
}

/// Whether an error with this code means that the connection has failed or is closed.
fn is_of_connection(code: &SqlState) -> bool {
    code.code().starts_with("08")
        || matches!(
            *code,
            SqlState::ADMIN_SHUTDOWN
                | SqlState::CRASH_SHUTDOWN
                | SqlState::CANNOT_CONNECT_NOW
                | SqlState::IDLE_SESSION_TIMEOUT
                | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        )
}

/// Whether the connection has ended, so that its transaction is gone.
pub(crate) fn is_disconnected(error: &tokio_postgres::Error) -> bool {
    match error.as_db_error() {
        Some(db) => is_lost(db),
        // The crate has no other sign of an error of the connection.
        None => error.is_closed() || error.to_string().contains("communicating with the server"),
    }
}

/// Whether the server has refused a request, and goes on.
pub(crate) fn is_refused(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|db| !is_lost(db))
}

/// Whether a table is missing, or may not be read.
pub(crate) fn is_unreadable(error: &tokio_postgres::Error) -> bool {
    let unreadable = [
        SqlState::UNDEFINED_TABLE,
        SqlState::INVALID_SCHEMA_NAME,
        SqlState::INSUFFICIENT_PRIVILEGE,
    ];
    error.code().is_some_and(|code| unreadable.contains(code))
}

/// Whether a table was removed since its name was read, or the schema with all tables.
pub(crate) fn is_removed_table(error: &tokio_postgres::Error) -> bool {
    let removed = [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME];
    error.code().is_some_and(|code| removed.contains(code))
}

/// The error of a connection that could not be opened.
#[cold]
pub(crate) fn not_connected(error: tokio_postgres::Error) -> Error {
    // The crate has no other sign of these errors.
    if !error.to_string().contains("TLS handshake") {
        return failed("connect to the server", error);
    }
    let cause = error.source().map(ToString::to_string);
    let message = match refused_certificate(&error) {
        Some(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => {
            "cannot connect to the server: its certificate is for another name than the address has"
        }
        Some(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "cannot connect to the server: its certificate has expired"
        }
        Some(_) => {
            "cannot connect to the server: its certificate is not trusted; give the certificate of \
             its authority as `root_certificates`, or, on a network of your own machines, set \
             `sslmode=disable` in the address"
        }
        None if cause.is_some_and(|cause| cause.contains("does not support TLS")) => {
            "cannot connect to the server: it offers no encryption, which `sslmode=require` in the \
             address asks for"
        }
        None => "cannot connect to the server: no encrypted connection can be made",
    };
    Error::with_source(ErrorKind::Io, message, error)
}

/// Why the certificate of a server was refused, if it was.
fn refused_certificate(error: &tokio_postgres::Error) -> Option<&CertificateError> {
    let cause = error.source()?.downcast_ref::<io::Error>()?.get_ref()?;
    match cause.downcast_ref()? {
        rustls::Error::InvalidCertificate(why) => Some(why),
        _ => None,
    }
}

/// The error of a server that accepts a connection and does not answer.
#[cold]
pub(crate) fn silent() -> Error {
    let message =
        "cannot connect to the server: it has not answered within the time for connecting";
    Error::new(ErrorKind::Io, message)
}

/// The error of an operation on a server that may lose acknowledged commits, unless the program
/// has chosen to.
#[cold]
pub(crate) fn not_durable(operation: &str) -> Error {
    let message = format!(
        "cannot {operation}: the server's setting `synchronous_commit` is off, so that a crash of \
         the server may undo commits; choose the option `durability` (`Full` turns the setting on \
         for the connections of this program, `Normal` leaves it off), or turn it on for the role, \
         the database or the server"
    );
    Error::new(ErrorKind::InvalidArgument, message)
}

/// The error of a use after the shutdown.
#[cold]
pub(crate) fn shut_down() -> Error {
    Error::new(
        ErrorKind::ShutDown,
        "cannot use the database: it is shut down",
    )
}

/// The error of a table whose contents do not fit its descriptor.
#[cold]
pub(crate) fn damaged(what: impl Display) -> Error {
    Error::new(ErrorKind::Corrupt, format!("cannot read {what}"))
}
