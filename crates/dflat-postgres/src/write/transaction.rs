//! A write transaction.

use std::collections::HashMap;
use std::sync::Arc;

use dflat_engine::storage::{
    BaseState, Conflict, Durability, IndexRepair, Key, RowWrite, WriteError, WriteTransaction,
};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table};

use super::pending::Pending;
use super::statement::Kind;
use crate::database::{Database, Known, read_table};
use crate::failure::{failed, not_durable, shut_down};
use crate::layout::{State, StoredTable};
use crate::server::Connection;

/// Records of this many bytes are sent before the commit, so that few are in memory.
const RECORD_BYTES_MAX: usize = 1 << 20;

/// A write transaction. It is the only one among all engines on the schema.
pub(crate) struct PostgresTransaction {
    pub(super) database: Arc<Database>,
    durability: Durability,
    /// `None` only after the end.
    pub(super) connection: Option<Connection>,
    /// The number of the connection, which is in its records.
    pub(super) engine: i64,
    /// The state on which it began.
    pub(super) state: State,
    is_own: bool,
    /// The tables, as this transaction has left them.
    pub(super) tables: HashMap<String, StoredTable>,
    /// The indexes that were ready when it began, and those that it found to be ready.
    pub(super) known: Arc<Known>,
    /// Writes of rows that were not sent yet.
    pub(super) pending: Pending,
    /// Records that were not sent yet.
    pub(super) records: Vec<Option<Vec<u8>>>,
    /// The bytes of these records.
    record_bytes: usize,
    /// The number of records that were sent, and their bytes.
    pub(super) sent: (i64, i64),
    /// Whether it has changed anything.
    pub(super) has_written: bool,
    /// Whether it has lost its writes.
    pub(super) is_lost: bool,
    /// The number of the server's transaction, by which its outcome is asked for.
    pub(super) number: String,
}

/// Has a commit survive a crash of the server. The setting is that of the role, the database or the
/// server, unless that is off.
const FULL: &str = "SET LOCAL synchronous_commit TO DEFAULT; \
     SELECT set_config('synchronous_commit', 'on', true) \
     WHERE current_setting('synchronous_commit') = 'off'";

/// Reads the number of the transaction, whether its commit need not be stored, and the state.
fn state_query(state: &str) -> String {
    state.replacen(
        "SELECT ",
        "SELECT pg_current_xact_id()::text, current_setting('synchronous_commit') = 'off', ",
        1,
    )
}

impl PostgresTransaction {
    /// Begins a transaction. If the connection of the previous one has ended, opens a new one.
    pub(crate) fn begin(database: Arc<Database>, durability: Durability) -> Result<Self> {
        let kept = database.begin_write()?;
        let mut transaction = Self {
            database,
            durability,
            connection: None,
            engine: 0,
            state: State::default(),
            is_own: false,
            tables: HashMap::new(),
            known: Arc::default(),
            pending: Pending::default(),
            records: Vec::new(),
            record_bytes: 0,
            sent: (0, 0),
            has_written: false,
            is_lost: false,
            number: String::new(),
        };
        // If this fails, dropping the transaction ends it.
        match kept {
            Some(kept) => {
                transaction.connection = Some(kept);
                let begun = transaction.open();
                if let Err(error) = begun {
                    if !transaction.is_disconnected() {
                        return Err(error);
                    }
                    transaction.connection = Some(transaction.database.connect()?);
                    transaction.open()?;
                }
            }
            None => {
                transaction.connection = Some(transaction.database.connect()?);
                transaction.open()?;
            }
        }
        Ok(transaction)
    }

    fn is_disconnected(&self) -> bool {
        self.connection.as_ref().is_none_or(Connection::is_closed)
    }

    /// Waits for the other writers, and reads the state.
    fn open(&mut self) -> Result<()> {
        let database = Arc::clone(&self.database);
        let asked = self.durability;
        let connection = self.connection()?;
        database.create_own_tables(connection)?;
        let control = database.control();
        let durability = match asked {
            Durability::Normal if database.durability() == Durability::Full => {
                "SET LOCAL synchronous_commit = off; "
            }
            _ => "",
        };
        // Order: the lock comes before the first query, which takes the snapshot.
        let batch = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ; {durability}{}",
            control.lock
        );
        let query = state_query(&control.state);
        let begun = connection.batch_and_query(&batch, &query, &[]);
        // The transaction before may have ended before it was known that the server refused one of
        // its writes. Nothing of that transaction was kept.
        let _ = connection.settle();
        let rows = begun.map_err(|error| {
            connection.send("ROLLBACK");
            database.failed("begin to write", error)
        })?;
        let row = rows.first().ok_or_else(|| {
            let message = "cannot begin to write: the library's own tables are empty";
            Error::new(ErrorKind::Corrupt, message)
        })?;
        let (of_connection, engine) = (connection.generation(), connection.engine());
        let read = row
            .try_get(0)
            .and_then(|number| Ok((number, row.try_get(1)?)));
        let (number, is_hasty): (_, bool) =
            read.map_err(|error| failed("begin to write", error))?;
        if is_hasty && asked == Durability::Full {
            // The setting may have been changed since the connection was opened.
            if database.options().durability.is_none() {
                return Err(not_durable("begin to write"));
            }
            connection.send(FULL);
        }
        self.number = number;
        self.state = database.read_state(row, 2, of_connection)?;
        let generation = self.state.generation;
        self.engine = engine;
        database.note_engine(engine);
        let own = database.own();
        let is_same = own.generation == generation;
        self.is_own = is_same && database.last_of_others(&self.state) <= own.base;
        if is_same && own.last == self.state.last {
            self.tables = own.tables;
        }
        self.known = database.known_of(generation);
        Ok(())
    }

    /// The connection, after the writes that wait were sent: what follows is executed after them.
    pub(super) fn connection(&mut self) -> Result<&mut Connection> {
        self.send_pending()?;
        self.connection.as_mut().ok_or_else(shut_down)
    }

    /// Runs a statement. If it fails, the transaction is lost.
    pub(super) fn run<T>(
        &mut self,
        operation: impl std::fmt::Display,
        run: impl FnOnce(&mut Connection) -> std::result::Result<T, tokio_postgres::Error>,
    ) -> Result<T> {
        let answer = run(self.connection()?);
        // If an earlier write has failed, the server refuses everything after it.
        self.settle()?;
        answer.map_err(|error| {
            self.is_lost = true;
            self.database.failed(operation, error)
        })
    }

    /// The description of a table that exists.
    pub(super) fn find(&mut self, table: &Table) -> Result<Option<&mut StoredTable>> {
        let stored = self.find_any(table)?;
        Ok(stored.filter(|stored| stored.is_created()))
    }

    /// The description of a table, which is read if this transaction does not have it.
    fn find_any(&mut self, table: &Table) -> Result<Option<&mut StoredTable>> {
        self.load(table)?;
        Ok(self.tables.get_mut(table.name.as_ref()))
    }

    /// Reads the description of a table that this transaction does not have.
    pub(super) fn load(&mut self, table: &Table) -> Result<()> {
        let name = table.name.as_ref();
        if !self.tables.contains_key(name) {
            let database = Arc::clone(&self.database);
            let names = (database.schema(), database.control());
            let read = read_table(self.connection()?, names, table);
            self.settle()?;
            if let Some(stored) = read.inspect_err(|_| self.is_lost = true)? {
                self.tables.insert(name.to_owned(), stored);
            }
        }
        Ok(())
    }

    /// The description of a table that was created.
    pub(super) fn stored(&mut self, table: &Table) -> Result<&mut StoredTable> {
        let missing = || {
            let message = format!(
                "cannot write {}: its table was not created",
                table.type_name
            );
            Error::new(ErrorKind::Backend, message)
        };
        self.find(table)?.ok_or_else(missing)
    }
}

impl Drop for PostgresTransaction {
    fn drop(&mut self) {
        let mut connection = self.connection.take();
        if let Some(connection) = &mut connection {
            connection.send("ROLLBACK");
        }
        self.database.ended_writing(connection);
    }
}

impl WriteTransaction for PostgresTransaction {
    fn base(&self) -> BaseState {
        BaseState {
            id: self.state.id(),
            is_own: self.is_own,
        }
    }

    fn is_whole(&self) -> bool {
        !self.is_lost
    }

    fn create(&mut self, table: &Table) -> Result<()> {
        self.create_table(table)
    }

    fn stored_schema(&mut self, table: &Table) -> Result<Option<Vec<u8>>> {
        let stored = self.find_any(table)?;
        Ok(stored.and_then(|stored| stored.descriptor.clone()))
    }

    fn store_schema(&mut self, table: &Table, schema: &[u8]) -> Result<()> {
        self.find_any(table)?;
        let tables = self.tables.entry(table.name.to_string());
        let stored = tables.or_insert_with(StoredTable::new);
        stored.descriptor = Some(schema.to_vec());
        let statement = self.database.control().store.clone();
        self.has_written = true;
        self.run(format_args!("write {}", table.type_name), |connection| {
            connection.query(&statement, &[&table.name.as_ref(), &schema])
        })?;
        Ok(())
    }

    fn insert(&mut self, table: &Table, row: &RowWrite<'_>) -> Result<RowId, WriteError> {
        let row_id = RowId(self.stored(table)?.last_row_id + 1);
        self.write_row(Kind::Insert, table, row_id, row)?;
        self.stored(table)?.last_row_id = row_id.0;
        Ok(row_id)
    }

    fn insert_absent(&mut self, table: &Table, row: &RowWrite<'_>) -> Result<RowId, WriteError> {
        self.insert_absent_row(table, row)
    }

    fn insert_many(
        &mut self,
        table: &Table,
        rows: &[RowWrite<'_>],
    ) -> Result<Vec<Result<RowId, Conflict>>> {
        self.insert_rows(table, rows)
    }

    fn update(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        self.update_row(table, row_id, row)
    }

    fn delete(&mut self, table: &Table, row_id: RowId) -> Result<bool> {
        self.delete_row(table, row_id)
    }

    fn restore(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        self.write_row(Kind::Restore, table, row_id, row)?;
        let stored = self.stored(table)?;
        stored.last_row_id = stored.last_row_id.max(row_id.0);
        Ok(())
    }

    fn repair_indexes(&mut self, table: &Table, repair: &IndexRepair<'_>) -> Result<()> {
        self.repair(table, repair)
    }

    fn is_followed(&mut self) -> bool {
        true
    }

    fn file_id(&mut self) -> Result<Option<u128>> {
        self.find_file_id().map(Some)
    }

    fn append_record(&mut self, record: &[u8]) -> Result<()> {
        self.records.push(Some(record.to_vec()));
        self.record_bytes += record.len();
        if self.record_bytes < RECORD_BYTES_MAX {
            return Ok(());
        }
        self.record_bytes = 0;
        self.send_records()
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.commit_changes()
    }
}

/// The conflict of a key.
pub(super) const fn conflict(key: Key) -> WriteError {
    WriteError::Conflict(Conflict { key })
}
