//! Refuses files that the program cannot read rightly.
//!
//! SQLite compares texts by the bytes of the file's encoding. In a file with UTF-16 the order of
//! keys and index values would not be the order that queries rely on. A file that stands on a pack
//! has only the objects that were changed.

use dflat_engine::{Error, ErrorKind, Result};

use crate::ffi::{Connection, SqliteError};
use crate::options::SqliteOptions;

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

/// Checks by a read the encoding of the file, and whether it stands on a pack.
pub(crate) fn check(
    connection: &mut Connection,
    options: &SqliteOptions,
    what: impl Fn() -> String,
) -> Result<()> {
    let (name, stands_on_pack) =
        read(connection, !options.stands_on_pack).map_err(|error| error.into_read_error(what()))?;
    if name != UTF_8 {
        return Err(refused(&name, what));
    }
    if stands_on_pack {
        return Err(opened_without_pack(what));
    }
    Ok(())
}

/// The encoding, and, if that is asked, whether the file stands on a pack.
fn read(connection: &mut Connection, asks_for_pack: bool) -> Result<(String, bool), SqliteError> {
    let mut read = (String::new(), false);
    let stands_on_pack = match asks_for_pack {
        true => "EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'dflat__base')",
        // Pages of the list of the tables may be missing.
        false => "0",
    };
    let sql = format!("SELECT CAST(encoding AS BLOB), {stands_on_pack} FROM pragma_encoding");
    connection.execute_with(&sql, |columns| {
        // The bytes of the text are those of the file's encoding.
        let bytes = columns.blob(0)?.unwrap_or_default();
        let letters = bytes.iter().filter(|byte| **byte != 0);
        let name = letters.map(|byte| char::from(*byte)).collect();
        read = (name, columns.integer(1) != 0);
        Ok(())
    })?;
    Ok(read)
}

/// The error of a file that stands on a pack, and was opened without it. `what` says what can't be
/// done.
pub(crate) fn opened_without_pack(what: impl Fn() -> String) -> Error {
    let what = what();
    let message = format!("{what}: the file stands on a pack, and was opened without the pack");
    Error::new(ErrorKind::InvalidArgument, message)
}

fn refused(encoding: &str, what: impl Fn() -> String) -> Error {
    let message = format!(
        "{}: the text encoding of the file is {encoding}, and Dflat needs {UTF_8}; \
         `sqlite3 OLD .dump | sqlite3 NEW` makes a copy in {UTF_8}",
        what()
    );
    Error::new(ErrorKind::NotADatabase, message)
}
