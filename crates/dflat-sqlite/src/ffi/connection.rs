//! A connection and its statements.
#![allow(
    unsafe_code,
    reason = "SQLite's C API; one of the modules that call it"
)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::iter;
use std::ops::ControlFlow;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::time::Duration;

use libsqlite3_sys as sqlite;

use super::blob::Overwriter;
use super::platform::{FileProtection, c_path, uri};
use super::progress::{Proceed, ProgressGuard};
use super::sqlite_error::SqliteError;
use super::statement::{Columns, Param, Statement};
use super::switch::Switch;
use super::version::Version;

/// The access that a connection has to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Read.
    ReadOnly,
    /// Read and write a file that exists.
    ReadWrite,
    /// Read, and write nothing, not even the index of the log.
    SharedReadOnly,
    /// Read a file with a log, whose index is made in memory. No other connection may change the
    /// file.
    OwnLogIndex,
    /// Read a file without a log. No other connection may change the file.
    Immutable,
}

impl Access {
    const fn flags(self) -> c_int {
        match self {
            Self::ReadWrite => sqlite::SQLITE_OPEN_READWRITE,
            Self::ReadOnly | Self::OwnLogIndex => sqlite::SQLITE_OPEN_READONLY,
            Self::SharedReadOnly | Self::Immutable => {
                sqlite::SQLITE_OPEN_READONLY | sqlite::SQLITE_OPEN_URI
            }
        }
    }

    /// The name under which SQLite opens a file with this access.
    fn name(self, path: &Path) -> Result<CString, SqliteError> {
        match self {
            Self::ReadOnly | Self::ReadWrite | Self::OwnLogIndex => c_path(path),
            Self::SharedReadOnly => uri(path, "readonly_shm=1"),
            Self::Immutable => uri(path, "immutable=1"),
        }
    }
}

/// Identifies a statement of the connection that prepared it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatementId(usize);

/// An open connection.
pub(crate) struct Connection {
    // Invariant: open; used through `&self` and `&mut self` only.
    pub(super) raw: NonNull<sqlite::sqlite3>,
    // Order: dropped before the connection is closed, see `drop`.
    statements: Vec<Statement>,
    // Order: as above. Gone before anything else is written or the transaction ends.
    overwriter: Option<Overwriter>,
    /// The index of the log, once it was mapped for [`Connection::log_stamp`].
    // Invariant: mapped for as long as the connection is open, see `log_stamp`.
    pub(super) log_index: Option<NonNull<u32>>,
    /// The number of statements that were run.
    #[cfg(test)]
    pub(crate) runs_count: u64,
}

// SAFETY: A connection without a mutex may be used by any thread, one at a time. All pointers to it
// and to its statements are inside, so that they move together, and it is not `Sync`.
unsafe impl Send for Connection {}

impl Connection {
    /// Opens a file, through the VFS of a name or the default one. Nothing is read or written
    /// before the first statement runs.
    pub(crate) fn open(
        path: &Path,
        access: Access,
        protection: Option<FileProtection>,
        vfs: Option<&CStr>,
    ) -> Result<Self, SqliteError> {
        let flags = access.flags() | protection.map_or(0, FileProtection::open_flags);
        let name = access.name(path)?;
        // SAFETY: No argument.
        if unsafe { sqlite::sqlite3_threadsafe() } == 0 {
            return Err(SqliteError::misuse(
                "the SQLite library is built without threads",
            ));
        }
        // SAFETY: No argument.
        let number = unsafe { sqlite::sqlite3_libversion_number() };
        let version = Version::of_number(number.unsigned_abs());
        if let Some(refusal) = version.refusal() {
            return Err(SqliteError::misuse(&refusal));
        }
        let mut raw = ptr::null_mut();
        // SAFETY: The path is a C string, `raw` a place for the result, and the name of the VFS is
        // NULL or a C string.
        let code = unsafe {
            sqlite::sqlite3_open_v2(
                name.as_ptr(),
                &raw mut raw,
                flags | sqlite::SQLITE_OPEN_NOMUTEX | sqlite::SQLITE_OPEN_EXRESCODE,
                vfs.map_or(ptr::null(), CStr::as_ptr),
            )
        };
        let Some(raw) = NonNull::new(raw) else {
            return Err(SqliteError::from_code(code));
        };
        // A connection that failed to open has an error message and must be closed: `drop` closes
        // it.
        let connection = Self {
            raw,
            statements: Vec::new(),
            overwriter: None,
            log_index: None,
            #[cfg(test)]
            runs_count: 0,
        };
        if code == sqlite::SQLITE_OK {
            Ok(connection)
        } else {
            Err(SqliteError::capture(raw, code))
        }
    }

    pub(super) fn raw(&self) -> NonNull<sqlite::sqlite3> {
        self.raw
    }

    /// Sets how long to wait for a lock of another connection.
    pub(crate) fn set_busy_timeout(&mut self, timeout: Duration) {
        let ms = c_int::try_from(timeout.as_millis()).unwrap_or(c_int::MAX);
        // SAFETY: The connection is open. The call fails only for a connection that is not.
        unsafe { sqlite::sqlite3_busy_timeout(self.raw.as_ptr(), ms) };
    }

    /// Turns a setting on or off. An SQLite library too old to know the setting ignores the call.
    pub(crate) fn set(&mut self, switch: Switch, on: bool) {
        let option = switch.option();
        // SAFETY: Each of these options takes an `int` and a pointer to an `int` or NULL.
        unsafe {
            sqlite::sqlite3_db_config(
                self.raw.as_ptr(),
                option,
                c_int::from(on != matches!(switch, Switch::CheckpointAtClose)),
                ptr::null_mut::<c_int>(),
            )
        };
    }

    /// Whether no transaction is open. SQLite ends a transaction by itself after some errors.
    pub(crate) fn is_autocommit(&self) -> bool {
        // SAFETY: The connection is open.
        unsafe { sqlite::sqlite3_get_autocommit(self.raw.as_ptr()) != 0 }
    }

    /// The largest number of bytes of a row.
    pub(crate) fn row_bytes_max(&self) -> usize {
        // SAFETY: The connection is open, and a negative limit changes nothing.
        let max =
            unsafe { sqlite::sqlite3_limit(self.raw.as_ptr(), sqlite::SQLITE_LIMIT_LENGTH, -1) };
        usize::try_from(max).unwrap_or_default()
    }

    /// Whether the file can't be written, whatever access was requested.
    pub(crate) fn is_read_only(&self) -> bool {
        // SAFETY: The connection is open, and the name is a C string.
        unsafe { sqlite::sqlite3_db_readonly(self.raw.as_ptr(), c"main".as_ptr()) == 1 }
    }

    /// The row id of the last insert.
    pub(crate) fn last_insert_row_id(&self) -> i64 {
        // SAFETY: The connection is open.
        unsafe { sqlite::sqlite3_last_insert_rowid(self.raw.as_ptr()) }
    }

    /// The number of rows that the last insert, update or delete changed.
    pub(crate) fn changes_count(&self) -> i64 {
        // SAFETY: The connection is open.
        unsafe { sqlite::sqlite3_changes64(self.raw.as_ptr()) }
    }

    /// Reads the file's first bytes without regard to locks and logs; `None` if the file is
    /// shorter.
    ///
    /// It uses SQLite's own file handle, because closing another handle would drop the locks that
    /// other connections of the process hold.
    pub(crate) fn read_head<const N: usize>(&self) -> Result<Option<[u8; N]>, SqliteError> {
        let (file, methods) = self.file()?;
        let Some(read) = methods.xRead else {
            return Err(SqliteError::misuse("the file can't be read"));
        };
        let mut head = [0; N];
        let length = c_int::try_from(N).map_err(|_| SqliteError::misuse("too many bytes"))?;
        // SAFETY: The file is open, and the buffer has `length` bytes.
        match unsafe { read(file, head.as_mut_ptr().cast::<c_void>(), length, 0) } {
            sqlite::SQLITE_OK => Ok(Some(head)),
            sqlite::SQLITE_IOERR_SHORT_READ => Ok(None),
            code => Err(SqliteError::from_code(code)),
        }
    }

    /// The number of pages written since this function was last called.
    pub(crate) fn take_pages_written(&mut self) -> u32 {
        let (mut pages, mut highest) = (0, 0);
        // SAFETY: The connection is open, and both places take a number.
        unsafe {
            sqlite::sqlite3_db_status(
                self.raw.as_ptr(),
                sqlite::SQLITE_DBSTATUS_CACHE_WRITE,
                &raw mut pages,
                &raw mut highest,
                1,
            )
        };
        pages.unsigned_abs()
    }

    /// Prepares a statement that is kept until the connection is dropped or
    /// [`Self::forget_statements`] is called.
    pub(crate) fn prepare(&mut self, sql: &str) -> Result<StatementId, SqliteError> {
        // SAFETY: The connection is open, used through `&mut self`, and closed after its statements
        // are dropped.
        let statement =
            unsafe { Statement::prepare(self.raw, sql, sqlite::SQLITE_PREPARE_PERSISTENT) }?;
        self.statements.push(statement);
        Ok(StatementId(self.statements.len() - 1))
    }

    /// The number of prepared statements that are held.
    #[cfg(test)]
    pub(crate) fn statements_count(&self) -> usize {
        self.statements.len()
    }

    /// Drops all prepared statements. Ids returned before must not be used again: they identify no
    /// statement, or one prepared later.
    pub(crate) fn forget_statements(&mut self) {
        self.statements.clear();
    }

    /// Overwrites a row's value of a column in place, inside a transaction. Returns false if the
    /// caller has to run a statement instead. The caller must run it by [`Connection::query`] if
    /// more calls of this function are to benefit from the open blob.
    ///
    /// The table must have no index, trigger or constraint that depends on the value.
    pub(crate) fn overwrite(
        &mut self,
        table: &str,
        (column, row_id): (&CStr, i64),
        bytes: &[u8],
    ) -> Result<bool, SqliteError> {
        self.overwriter.take_if(|other| !other.is_of(table));
        let overwriter = self
            .overwriter
            .get_or_insert_with(|| Overwriter::new(table));
        // SAFETY: The connection is open, used through `&mut self`, and closed after `overwriter`
        // is dropped.
        unsafe { overwriter.write(self.raw, (column, row_id), bytes) }
    }

    /// Runs a prepared statement to its end. The statement may write, and may end a transaction.
    pub(crate) fn run<'p>(
        &mut self,
        statement: StatementId,
        params: impl IntoIterator<Item = Param<'p>>,
    ) -> Result<(), SqliteError> {
        self.overwriter = None;
        self.query(statement, params, |_| Ok(ControlFlow::Continue(())))
    }

    /// Whether [`Self::overwrite`] holds an open blob.
    #[cfg(test)]
    pub(crate) fn has_open_blob(&self) -> bool {
        self.overwriter.as_ref().is_some_and(Overwriter::is_open)
    }

    /// As [`Self::run`], for a statement that ends no transaction and writes another table than
    /// [`Self::overwrite`] does. The blob stays open.
    pub(crate) fn run_beside<'p>(
        &mut self,
        statement: StatementId,
        params: impl IntoIterator<Item = Param<'p>>,
    ) -> Result<(), SqliteError> {
        let outcome = self.query(statement, params, |_| Ok(ControlFlow::Continue(())));
        if outcome.is_err() {
            // The caller may end the transaction now.
            self.overwriter = None;
        }
        outcome
    }

    /// Runs a prepared statement and lends its rows to `visit` until it breaks.
    pub(crate) fn query<'p>(
        &mut self,
        statement: StatementId,
        params: impl IntoIterator<Item = Param<'p>>,
        visit: impl FnMut(Columns<'_>) -> Result<ControlFlow<()>, SqliteError>,
    ) -> Result<(), SqliteError> {
        #[cfg(test)]
        {
            self.runs_count += 1;
        }
        let Some(statement) = self.statements.get_mut(statement.0) else {
            return Err(SqliteError::misuse("the statement was forgotten"));
        };
        statement.run(params, visit)
    }

    /// As [`query`](Self::query), for a statement that may run long between two rows.
    pub(crate) fn query_while<'p>(
        &mut self,
        statement: StatementId,
        params: impl IntoIterator<Item = Param<'p>>,
        mut proceed: &mut Proceed<'_>,
        visit: impl FnMut(Columns<'_>) -> Result<ControlFlow<()>, SqliteError>,
    ) -> Result<(), SqliteError> {
        // SAFETY: The guard is dropped in this call, during which the connection stays open, is
        // used by this call alone, and `proceed` is not used otherwise.
        let _guard = unsafe { ProgressGuard::new(self.raw, &mut proceed) };
        self.query(statement, params, visit)
    }

    /// Runs one statement that is not kept, to its end, and lends its rows to `visit`.
    ///
    /// A pragma such as `incremental_vacuum` works only while it is stepped, so all rows are
    /// stepped.
    pub(crate) fn execute_with(
        &mut self,
        sql: &str,
        mut visit: impl FnMut(Columns<'_>) -> Result<(), SqliteError>,
    ) -> Result<(), SqliteError> {
        self.overwriter = None;
        #[cfg(test)]
        {
            self.runs_count += 1;
        }
        // SAFETY: The connection is open, used through `&mut self`, and outlives the call.
        let mut statement = unsafe { Statement::prepare(self.raw, sql, 0) }?;
        statement.run(iter::empty(), |columns| {
            visit(columns)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Runs one statement that is not kept, to its end.
    pub(crate) fn execute(&mut self, sql: &str) -> Result<(), SqliteError> {
        self.execute_with(sql, |_| Ok(()))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Order: SQLite refuses to close a connection that has statements.
        self.overwriter = None;
        self.statements.clear();
        // SAFETY: The connection is open, none of its statements is left, and nothing can use it
        // again.
        let code = unsafe { sqlite::sqlite3_close(self.raw.as_ptr()) };
        debug_assert_eq!(
            code,
            sqlite::SQLITE_OK,
            "a statement outlived its connection"
        );
    }
}

/// Whether a name is a keyword of SQL and must be quoted.
pub(crate) fn is_keyword(name: &str) -> bool {
    let Ok(length) = c_int::try_from(name.len()) else {
        return false;
    };
    // SAFETY: Pointer and length are those of one `str`.
    unsafe { sqlite::sqlite3_keyword_check(name.as_ptr().cast::<c_char>(), length) != 0 }
}
