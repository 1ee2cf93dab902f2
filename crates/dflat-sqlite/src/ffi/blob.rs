//! Overwrites blobs in place, without running a statement for each.
#![allow(
    unsafe_code,
    reason = "SQLite's C API; one of the modules that call it"
)]

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::{self, NonNull};

use libsqlite3_sys as sqlite;

use super::sqlite_error::SqliteError;

/// The number of values of a table that are written one after the other before a blob is opened for
/// them. Opening a blob costs as much as a few statements.
///
/// Of 1,000 updates of rows of 500 bytes in one transaction, one takes 1,877 instructions in place
/// and 3,719 by a statement, with those of SQLite and libc (callgrind). Of 11 updates, one takes
/// 4,562 and 4,420, with the commit: a blob that is opened for three values does not pay.
const OPEN_AFTER: u32 = 8;

/// The largest such number. It doubles whenever the blob was open in vain.
const OPEN_AFTER_MAX: u32 = 1024;

/// The blob is closed if [`Overwriter::misses`] exceeds this. To move the blob in vain takes 1,100
/// instructions; a value that is written in place saves 2,500.
const MISSES_MAX: u32 = 8;

/// Overwrites values of a table in place, if many are written one after the other.
pub(super) struct Overwriter {
    table: String,
    /// The number of values written, up to the number at which the blob is opened.
    rows: u32,
    /// The number of values written after which the blob is opened.
    open_after: u32,
    /// Twice the number of values of another length, less the number of those of the same length.
    misses: u32,
    blob: Option<Blob>,
}

impl Overwriter {
    /// An overwriter for a table of which no value was written yet.
    pub(super) fn new(table: &str) -> Self {
        Self {
            table: table.to_owned(),
            rows: 0,
            open_after: OPEN_AFTER,
            misses: 0,
            blob: None,
        }
    }

    /// Whether this overwriter is for this table.
    pub(super) fn is_of(&self, table: &str) -> bool {
        self.table == table
    }

    #[cfg(test)]
    pub(super) const fn is_open(&self) -> bool {
        self.blob.is_some()
    }

    /// Overwrites a row's value of a column. Returns false if the caller has to run a statement
    /// instead: too few values were written yet, the value has another length, or there is no such
    /// value.
    ///
    /// # Safety
    /// As [`Blob::open`].
    pub(super) unsafe fn write(
        &mut self,
        db: NonNull<sqlite::sqlite3>,
        (column, row_id): (&CStr, i64),
        bytes: &[u8],
    ) -> Result<bool, SqliteError> {
        let found = match &mut self.blob {
            Some(blob) => blob.go_to(row_id),
            None if self.rows < self.open_after => {
                self.rows += 1;
                return Ok(false);
            }
            None => {
                let table = CString::new(self.table.as_str())
                    .map_err(|_| SqliteError::misuse("the table's name is none of SQL's"))?;
                // SAFETY: As the caller promises.
                let blob = unsafe { Blob::open(db, &table, column, row_id) };
                blob.map(|blob| self.blob = Some(blob))
            }
        };
        if let Err(error) = found {
            (self.rows, self.blob) = (0, None);
            // There is no such row or no such value. The statement that the caller runs gives the
            // exact reason.
            return if error.is_refusal() {
                Ok(false)
            } else {
                Err(error)
            };
        }
        match &mut self.blob {
            Some(blob) if blob.len() == bytes.len() => {
                self.misses = self.misses.saturating_sub(1);
                blob.write(bytes).map(|()| true)
            }
            _ => {
                self.misses += 2;
                if self.misses > MISSES_MAX {
                    self.open_after = (2 * self.open_after).min(OPEN_AFTER_MAX);
                    (self.rows, self.misses, self.blob) = (0, 0, None);
                }
                Ok(false)
            }
        }
    }
}

/// A column of a table, open for writing in one of its rows. While one is open, SQLite refuses to
/// end the transaction.
pub(super) struct Blob {
    raw: NonNull<sqlite::sqlite3_blob>,
    db: NonNull<sqlite::sqlite3>,
}

impl Blob {
    /// Opens a column in a row. The row must hold a blob or a text there.
    ///
    /// # Safety
    /// `db` is open, is used by the caller alone, and stays open until the blob is dropped.
    pub(super) unsafe fn open(
        db: NonNull<sqlite::sqlite3>,
        table: &CStr,
        column: &CStr,
        row_id: i64,
    ) -> Result<Self, SqliteError> {
        let mut raw = ptr::null_mut();
        // SAFETY: `db` is as the caller promises; the names are C strings, of which SQLite keeps no
        // pointer; `raw` is a place for the result.
        let code = unsafe {
            sqlite::sqlite3_blob_open(
                db.as_ptr(),
                c"main".as_ptr(),
                table.as_ptr(),
                column.as_ptr(),
                row_id,
                1,
                &raw mut raw,
            )
        };
        match NonNull::new(raw) {
            Some(raw) if code == sqlite::SQLITE_OK => Ok(Self { raw, db }),
            _ => Err(SqliteError::capture(db, code)),
        }
    }

    /// Moves to another row. After an error, the blob can't be used any more.
    pub(super) fn go_to(&mut self, row_id: i64) -> Result<(), SqliteError> {
        // SAFETY: The blob and its connection are open, and used through `&mut self` alone.
        let code = unsafe { sqlite::sqlite3_blob_reopen(self.raw.as_ptr(), row_id) };
        self.expect_ok(code)
    }

    /// The number of bytes of the row's value.
    pub(super) fn len(&self) -> usize {
        // SAFETY: The blob is open.
        let bytes = unsafe { sqlite::sqlite3_blob_bytes(self.raw.as_ptr()) };
        usize::try_from(bytes).unwrap_or(0)
    }

    /// Overwrites the first bytes of the row's value.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), SqliteError> {
        let length = c_int::try_from(bytes.len())
            .map_err(|_| SqliteError::misuse("the value is too long"))?;
        // SAFETY: As in `go_to`. SQLite copies the bytes, and refuses more bytes than the value
        // has.
        let code = unsafe {
            sqlite::sqlite3_blob_write(
                self.raw.as_ptr(),
                bytes.as_ptr().cast::<c_void>(),
                length,
                0,
            )
        };
        self.expect_ok(code)
    }

    fn expect_ok(&self, code: c_int) -> Result<(), SqliteError> {
        match code {
            sqlite::SQLITE_OK => Ok(()),
            code => Err(SqliteError::capture(self.db, code)),
        }
    }
}

impl Drop for Blob {
    fn drop(&mut self) {
        // SAFETY: The blob is open until here, and its connection longer, as `open` requires. The
        // result repeats an error that was reported before.
        unsafe { sqlite::sqlite3_blob_close(self.raw.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::ffi::{Access, Connection};

    /// Overwrites the value of a row, and returns whether that was possible.
    fn overwrite(connection: &mut Connection, row_id: i64, bytes: &[u8]) -> bool {
        connection.overwrite("t", (c"p", row_id), bytes).unwrap()
    }

    #[test]
    fn values_of_other_lengths_close_the_blob() {
        let memory = Path::new(":memory:");
        let mut connection = Connection::open(memory, Access::ReadWrite, None, None).unwrap();
        connection.execute("CREATE TABLE t (p)").unwrap();
        connection
            .execute("INSERT INTO t VALUES (x'00000000')")
            .unwrap();
        connection.execute("BEGIN").unwrap();
        let opened = (0..1000).filter(|_| {
            assert!(!overwrite(&mut connection, 1, b"longer"));
            connection.has_open_blob()
        });
        // Five values for each of the first times, which come half as often each.
        assert!((5..40).contains(&opened.count()));
        // Values of the same length open it at last, and keep it open.
        let written = (0..2000).filter(|_| overwrite(&mut connection, 1, b"four"));
        assert!(written.count() > 900);
        connection.execute("COMMIT").unwrap();
    }

    #[test]
    fn repeated_updates_of_one_length_are_written_in_place() {
        let memory = Path::new(":memory:");
        let mut connection = Connection::open(memory, Access::ReadWrite, None, None).unwrap();
        connection.execute("CREATE TABLE t (p)").unwrap();
        let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
                    INSERT INTO t SELECT iif(i = 20, i, x'00000000') FROM n";
        connection.execute(fill).unwrap();
        connection.execute("BEGIN").unwrap();
        for row_id in 1..=8 {
            assert!(!overwrite(&mut connection, row_id, b"four"), "{row_id}");
        }
        assert!(overwrite(&mut connection, 9, b"four"));
        assert!(!overwrite(&mut connection, 10, b"longer"));
        assert!(overwrite(&mut connection, 11, b"four"));
        // Neither a missing row nor a value that is not a blob ends the transaction.
        for row_id in [99, 20] {
            assert!(!overwrite(&mut connection, row_id, b"four"));
            for row_id in 1..=8 {
                assert!(!overwrite(&mut connection, row_id, b"four"), "{row_id}");
            }
            assert!(overwrite(&mut connection, 12, b"more"));
        }
        connection.execute("COMMIT").unwrap();
        let mut written = Vec::new();
        let read = "SELECT rowid FROM t WHERE p IN (CAST('four' AS BLOB), CAST('more' AS BLOB))";
        let note = |row: crate::ffi::Columns<'_>| {
            written.push(row.integer(0));
            Ok(())
        };
        connection.execute_with(read, note).unwrap();
        assert_eq!(written, [9, 11, 12]);
    }
}
