//! One prepared statement.
#![allow(
    unsafe_code,
    reason = "SQLite's C API; one of the modules that call it"
)]

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::ptr::{self, NonNull};
use std::slice;

use dflat_model::ValueRef;
use libsqlite3_sys as sqlite;

use super::sqlite_error::SqliteError;

/// A value to bind to a parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Param<'p> {
    /// A value of a key or an index, or a row id.
    Value(ValueRef<'p>),
    /// A payload.
    Blob(&'p [u8]),
}

impl Param<'_> {
    /// A row id.
    pub(crate) const fn id(row_id: dflat_model::RowId) -> Self {
        Self::Value(ValueRef::Int(row_id.0))
    }
}

/// A prepared statement that is not running. The values bound to it must not be read.
pub(super) struct Statement {
    raw: NonNull<sqlite::sqlite3_stmt>,
    db: NonNull<sqlite::sqlite3>,
    parameters_count: c_int,
}

impl Statement {
    /// Prepares SQL text of one statement. `flags` are SQLite's.
    ///
    /// # Safety
    /// `db` is open, is used by the caller alone, and stays open until the statement is dropped.
    pub(super) unsafe fn prepare(
        db: NonNull<sqlite::sqlite3>,
        sql: &str,
        flags: u32,
    ) -> Result<Self, SqliteError> {
        let length =
            c_int::try_from(sql.len()).map_err(|_| SqliteError::misuse("the SQL is too long"))?;
        let mut raw = ptr::null_mut();
        // SAFETY: `db` is as the caller promises; text and length are those of one `str`, of which
        // SQLite keeps no pointer; `raw` is a place for the result.
        let code = unsafe {
            sqlite::sqlite3_prepare_v3(
                db.as_ptr(),
                sql.as_ptr().cast::<c_char>(),
                length,
                flags,
                &raw mut raw,
                ptr::null_mut(),
            )
        };
        if code != sqlite::SQLITE_OK {
            return Err(SqliteError::capture(db, code));
        }
        let raw = NonNull::new(raw).ok_or_else(|| SqliteError::misuse("the SQL is empty"))?;
        // SAFETY: The statement was just prepared.
        let parameters_count = unsafe { sqlite::sqlite3_bind_parameter_count(raw.as_ptr()) };
        Ok(Self {
            raw,
            db,
            parameters_count,
        })
    }

    /// Binds `params`, lends each row to `visit` until it breaks, and resets the statement.
    ///
    /// The caller has exclusive use of the connection for the time of the call.
    pub(super) fn run<'p>(
        &mut self,
        params: impl IntoIterator<Item = Param<'p>>,
        mut visit: impl FnMut(Columns<'_>) -> Result<ControlFlow<()>, SqliteError>,
    ) -> Result<(), SqliteError> {
        let run = RunGuard(self);
        run.bind(params)?;
        loop {
            // SAFETY: The statement is live, and the values bound to it are borrowed for `'p`,
            // which outlives this call.
            match unsafe { sqlite::sqlite3_step(run.0.raw.as_ptr()) } {
                sqlite::SQLITE_ROW => {
                    let columns = Columns {
                        statement: run.0.raw,
                        db: run.0.db,
                        row: PhantomData,
                    };
                    if visit(columns)?.is_break() {
                        return Ok(());
                    }
                }
                sqlite::SQLITE_DONE => return Ok(()),
                code => return Err(SqliteError::capture(run.0.db, code)),
            }
        }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: The statement is live until here and its connection is open, as `prepare`
        // requires. The result repeats an error that was reported before.
        unsafe { sqlite::sqlite3_finalize(self.raw.as_ptr()) };
    }
}

/// A running statement. Dropping the guard ends the run, also when a visitor panics.
///
/// Values stay bound after the run, because clearing them costs as much as binding them. SQLite
/// reads them only when the statement is stepped, and by then all parameters are bound anew.
struct RunGuard<'s>(&'s mut Statement);

impl RunGuard<'_> {
    fn bind<'p>(&self, params: impl IntoIterator<Item = Param<'p>>) -> Result<(), SqliteError> {
        let mut position: c_int = 0;
        params.into_iter().try_for_each(|param| {
            position += 1;
            self.bind_at(position, param)
        })?;
        if position != self.0.parameters_count {
            return Err(SqliteError::misuse(
                "the number of values differs from the SQL's",
            ));
        }
        Ok(())
    }

    #[inline]
    fn bind_at(&self, position: c_int, param: Param<'_>) -> Result<(), SqliteError> {
        let raw = self.0.raw.as_ptr();
        // SAFETY: The statement is live and reset, and SQLite checks the position. Pointers come
        // with their lengths. Text and blobs bound as static are borrowed by the caller of
        // `Statement::run` for longer than the run, and SQLite reads them only while the statement
        // is stepped: only `run` steps it, and only after all parameters of the statement were
        // bound anew. The big-endian bytes, which live shorter, are bound as transient, so SQLite
        // copies them.
        let code = unsafe {
            match param {
                Param::Value(ValueRef::Null) => sqlite::sqlite3_bind_null(raw, position),
                Param::Value(ValueRef::Int(value)) => {
                    sqlite::sqlite3_bind_int64(raw, position, value)
                }
                Param::Value(ValueRef::Float(value)) => {
                    sqlite::sqlite3_bind_double(raw, position, value)
                }
                Param::Value(ValueRef::UInt(value)) => {
                    let bytes = value.to_be_bytes();
                    sqlite::sqlite3_bind_blob64(
                        raw,
                        position,
                        bytes.as_ptr().cast::<c_void>(),
                        bytes.len() as u64,
                        sqlite::SQLITE_TRANSIENT(),
                    )
                }
                Param::Value(ValueRef::Text(text)) => sqlite::sqlite3_bind_text64(
                    raw,
                    position,
                    text.as_ptr().cast::<c_char>(),
                    text.len() as u64,
                    sqlite::SQLITE_STATIC(),
                    sqlite::SQLITE_UTF8 as _,
                ),
                Param::Blob(bytes) => sqlite::sqlite3_bind_blob64(
                    raw,
                    position,
                    bytes.as_ptr().cast::<c_void>(),
                    bytes.len() as u64,
                    sqlite::SQLITE_STATIC(),
                ),
            }
        };
        if code == sqlite::SQLITE_OK {
            Ok(())
        } else {
            Err(SqliteError::capture(self.0.db, code))
        }
    }
}

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        // SAFETY: The statement is live. The result of the reset repeats that of the last step.
        unsafe { sqlite::sqlite3_reset(self.0.raw.as_ptr()) };
    }
}

/// The columns of the current row of a statement.
///
/// Invariant: no method converts a value in place, so that pointers are valid until the statement
/// leaves the row.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'r> {
    statement: NonNull<sqlite::sqlite3_stmt>,
    db: NonNull<sqlite::sqlite3>,
    row: PhantomData<&'r [u8]>,
}

impl<'r> Columns<'r> {
    /// The integer of a column; 0 if the column is NULL, and the nearest integer if it holds
    /// something else.
    #[inline]
    pub(crate) fn integer(self, column: c_int) -> i64 {
        // SAFETY: The statement has a current row; a column that it lacks is NULL. A value of
        // another type is converted only in the result and stays unchanged in the row.
        unsafe { sqlite::sqlite3_column_int64(self.statement.as_ptr(), column) }
    }

    /// The value of a column of a key or an index. A blob holds a large unsigned number.
    pub(crate) fn value(self, column: c_int) -> Result<ValueRef<'r>, SqliteError> {
        // SAFETY: The statement has a current row; a column that it lacks is NULL. The type and
        // content of the value may be read because only the caller uses the connection. Text is
        // UTF-8 in the file, or is converted before its length is read; nothing converts it again.
        let (class, text, length) = unsafe {
            let value = sqlite::sqlite3_column_value(self.statement.as_ptr(), column);
            match sqlite::sqlite3_value_type(value) {
                sqlite::SQLITE_INTEGER => {
                    return Ok(ValueRef::Int(sqlite::sqlite3_value_int64(value)));
                }
                sqlite::SQLITE_FLOAT => {
                    return Ok(ValueRef::from_f64(sqlite::sqlite3_value_double(value)));
                }
                sqlite::SQLITE_TEXT => {
                    let text = sqlite::sqlite3_value_text(value);
                    (
                        sqlite::SQLITE_TEXT,
                        text,
                        sqlite::sqlite3_value_bytes(value),
                    )
                }
                class => (class, ptr::null(), 0),
            }
        };
        match class {
            sqlite::SQLITE_TEXT => {
                let length = usize::try_from(length).unwrap_or(0);
                if text.is_null() || length == 0 {
                    return self.empty_blob().map(|_| ValueRef::Text(""));
                }
                // SAFETY: As for a blob.
                let bytes = unsafe { slice::from_raw_parts(text, length) };
                let text = std::str::from_utf8(bytes);
                text.map(ValueRef::Text)
                    .map_err(|_| SqliteError::misuse("an index has no text"))
            }
            sqlite::SQLITE_BLOB => {
                let bytes = self.blob(column)?.unwrap_or_default().try_into();
                let number = bytes.map(u64::from_be_bytes).map(ValueRef::from_u64);
                number.map_err(|_| SqliteError::misuse("an index has no number"))
            }
            _ => Ok(ValueRef::Null),
        }
    }

    /// The bytes of a column, in SQLite's own memory; `None` if the column holds no blob.
    #[inline]
    pub(crate) fn blob(self, column: c_int) -> Result<Option<&'r [u8]>, SqliteError> {
        // SAFETY: The statement has a current row; a column that it lacks is NULL. The type and
        // content of the value may be read because the connection has no mutex and only the caller
        // uses it: no other thread can change the value meanwhile. As it is a blob, nothing is
        // converted. Its length is read after its address, as SQLite requires.
        let (data, length) = unsafe {
            let value = sqlite::sqlite3_column_value(self.statement.as_ptr(), column);
            if sqlite::sqlite3_value_type(value) != sqlite::SQLITE_BLOB {
                return Ok(None);
            }
            let data = sqlite::sqlite3_value_blob(value);
            let length = sqlite::sqlite3_value_bytes(value);
            (data.cast::<u8>(), usize::try_from(length).unwrap_or(0))
        };
        if !data.is_null() && length > 0 {
            // SAFETY: SQLite keeps that many bytes there, unchanged until the statement leaves the
            // row, as the invariant of the type says; `'r` ends before that.
            return Ok(Some(unsafe { slice::from_raw_parts(data, length) }));
        }
        self.empty_blob()
    }

    /// The result for a value without an address: an empty value has none, and neither has a value
    /// for which memory ran out.
    #[cold]
    fn empty_blob(self) -> Result<Option<&'r [u8]>, SqliteError> {
        // SAFETY: The connection is open and used by the caller alone.
        let code = unsafe { sqlite::sqlite3_extended_errcode(self.db.as_ptr()) };
        if code == sqlite::SQLITE_NOMEM {
            return Err(SqliteError::capture(self.db, code));
        }
        Ok(Some(&[]))
    }
}
