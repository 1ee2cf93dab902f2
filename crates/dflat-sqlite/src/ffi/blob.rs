//! Writing over a blob where it stands, without a statement for each.
#![allow(
    unsafe_code,
    reason = "SQLite's C API; one of the four modules that call it"
)]

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::{self, NonNull};

use libsqlite3_sys as sqlite;

use super::fault::Fault;

/// How many values of a table are written one after the other before a blob is opened for them:
/// opening one costs as much as a few statements.
const OPEN_AFTER: u32 = 8;

/// What writes over values of a table where they stand, if there are many one after the other.
pub(super) struct Overwriter {
    table: String,
    /// The values written, up to those that it takes to open the blob.
    rows: u32,
    blob: Option<Blob>,
}

impl Overwriter {
    /// For a table of which no value was written yet.
    pub(super) fn new(table: &str) -> Self {
        Self {
            table: table.to_owned(),
            rows: 0,
            blob: None,
        }
    }

    /// Whether it is for this table.
    pub(super) fn is_of(&self, table: &str) -> bool {
        self.table == table
    }

    /// Writes over a row's value of a column; false if that is left to a statement: there are too
    /// few yet, the value has another length, or there is none.
    ///
    /// # Safety
    /// As [`Blob::open`].
    pub(super) unsafe fn write(
        &mut self,
        db: NonNull<sqlite::sqlite3>,
        (column, row_id): (&CStr, i64),
        bytes: &[u8],
    ) -> Result<bool, Fault> {
        let found = match &mut self.blob {
            Some(blob) => blob.go_to(row_id),
            None if self.rows < OPEN_AFTER => {
                self.rows += 1;
                return Ok(false);
            }
            None => {
                let table = CString::new(self.table.as_str())
                    .map_err(|_| Fault::misuse("the table's name is none of SQL's"))?;
                // SAFETY: As the caller promises.
                let blob = unsafe { Blob::open(db, &table, column, row_id) };
                blob.map(|blob| self.blob = Some(blob))
            }
        };
        if let Err(fault) = found {
            (self.rows, self.blob) = (0, None);
            // No such row, or no such value: a statement tells more.
            return if fault.is_refusal() {
                Ok(false)
            } else {
                Err(fault)
            };
        }
        match &mut self.blob {
            Some(blob) if blob.len() == bytes.len() => blob.write(bytes).map(|()| true),
            _ => Ok(false),
        }
    }
}

/// A column of a table, open for writing in one of its rows. While there is one, SQLite refuses to
/// end the transaction.
pub(super) struct Blob {
    raw: NonNull<sqlite::sqlite3_blob>,
    db: NonNull<sqlite::sqlite3>,
}

impl Blob {
    /// Opens a column in a row, which holds a blob or a text there.
    ///
    /// # Safety
    /// `db` is open, is used by the caller alone, and stays open until the blob is dropped.
    pub(super) unsafe fn open(
        db: NonNull<sqlite::sqlite3>,
        table: &CStr,
        column: &CStr,
        row_id: i64,
    ) -> Result<Self, Fault> {
        let mut raw = ptr::null_mut();
        // SAFETY: `db` is as the caller promises; the names are C strings, which SQLite does not
        // keep; `raw` is a place for the result.
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
            _ => Err(Fault::capture(db, code)),
        }
    }

    /// Goes to another row. After an error it is of no use.
    pub(super) fn go_to(&mut self, row_id: i64) -> Result<(), Fault> {
        // SAFETY: The blob and its connection are open, and used through `&mut self` alone.
        let code = unsafe { sqlite::sqlite3_blob_reopen(self.raw.as_ptr(), row_id) };
        self.expect_ok(code)
    }

    /// The bytes of the row's value.
    pub(super) fn len(&self) -> usize {
        // SAFETY: The blob is open.
        let bytes = unsafe { sqlite::sqlite3_blob_bytes(self.raw.as_ptr()) };
        usize::try_from(bytes).unwrap_or(0)
    }

    /// Writes over the first bytes of the row's value.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let length =
            c_int::try_from(bytes.len()).map_err(|_| Fault::misuse("the value is too long"))?;
        // SAFETY: As in `go_to`. The bytes are copied, and SQLite refuses more than the value has.
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

    fn expect_ok(&self, code: c_int) -> Result<(), Fault> {
        match code {
            sqlite::SQLITE_OK => Ok(()),
            code => Err(Fault::capture(self.db, code)),
        }
    }
}

impl Drop for Blob {
    fn drop(&mut self) {
        // SAFETY: The blob is open until here, and its connection longer, as `open` asks. The
        // result repeats an error that was reported before.
        unsafe { sqlite::sqlite3_blob_close(self.raw.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::ffi::{Access, Connection};

    /// Writes over the value of a row; whether that could be done.
    fn overwrite(connection: &mut Connection, row_id: i64, bytes: &[u8]) -> bool {
        connection.overwrite("t", (c"p", row_id), bytes).unwrap()
    }

    #[test]
    fn a_run_of_values_of_one_length_is_written_over() {
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
        // Neither a row that is not there nor a value without bytes ends the transaction.
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
