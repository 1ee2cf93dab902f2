//! Refuses files whose texts are not UTF-8.
//!
//! SQLite compares texts by the bytes of the file's encoding. In a file with UTF-16 the order of
//! keys and index values would not be the order that queries rely on.

use dflat_engine::{Error, ErrorKind, Result};

use crate::ffi::{Connection, SqliteError};

/// The encoding that is used, as `PRAGMA encoding` names it.
const UTF_8: &str = "UTF-8";

/// Checks the encoding that the header of the file names, without a trace. The header names none
/// while the first table is only in the log. `what` says what can't be done.
pub(crate) fn check_header(connection: &Connection, what: impl Fn() -> String) -> Result<()> {
    let head = connection.read_head::<60>();
    let head = head.map_err(|error| error.into_read_error(what()))?;
    let number = head.and_then(|head| head.last_chunk().copied());
    match number.map(u32::from_be_bytes) {
        Some(2) => Err(refused("UTF-16le", what)),
        Some(3) => Err(refused("UTF-16be", what)),
        _ => Ok(()),
    }
}

/// Checks the encoding of the file, by a read.
pub(crate) fn check(connection: &mut Connection, what: impl Fn() -> String) -> Result<()> {
    let name = encoding(connection).map_err(|error| error.into_read_error(what()))?;
    match name.as_str() {
        UTF_8 => Ok(()),
        other => Err(refused(other, what)),
    }
}

fn encoding(connection: &mut Connection) -> Result<String, SqliteError> {
    let mut name = String::new();
    connection.execute_with(
        "SELECT CAST(encoding AS BLOB) FROM pragma_encoding",
        |columns| {
            // The bytes of the text are those of the file's encoding.
            let bytes = columns.blob(0)?.unwrap_or_default();
            let letters = bytes.iter().filter(|byte| **byte != 0);
            name = letters.map(|byte| char::from(*byte)).collect();
            Ok(())
        },
    )?;
    Ok(name)
}

fn refused(encoding: &str, what: impl Fn() -> String) -> Error {
    let message = format!(
        "{}: the text encoding of the file is {encoding}, and Dflat needs {UTF_8}; \
         `sqlite3 OLD .dump | sqlite3 NEW` makes a copy in {UTF_8}",
        what()
    );
    Error::new(ErrorKind::NotADatabase, message)
}
