//! The database: its connections, and the state that snapshots and transactions share.

mod known;
mod tables;

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dflat_engine::storage::{Durability, StateId};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use crate::failure::{failed, shut_down};
use crate::layout::{Control, Schema, State, StoredTable};
use crate::options::PostgresOptions;
use crate::server::{self, Connection, Pool, Server};

pub(crate) use known::Known;
pub(crate) use tables::{read_created, read_table};

/// A schema of a server's database.
pub(crate) struct Database {
    server: Arc<Server>,
    pool: Arc<Pool>,
    options: PostgresOptions,
    schema: Schema,
    control: Control,
    /// Identifies this engine among all that write to the database.
    engine: i64,
    shared: Mutex<Shared>,
    changed: Condvar,
}

#[derive(Default)]
struct Shared {
    /// The connection that writes, while no transaction uses it.
    writer: Option<Connection>,
    /// Whether a write transaction is open.
    writing: bool,
    /// The number of open snapshots and transactions.
    open: usize,
    closed: bool,
    known: Arc<Known>,
    own: Own,
}

/// The tables as this engine's last transaction left them.
#[derive(Clone, Default)]
pub(crate) struct Own {
    /// The state on which the transaction of the last commit began.
    pub(crate) base: i64,
    /// The state that the last commit made. The tables are as described as long as this is the
    /// state.
    pub(crate) last: i64,
    pub(crate) tables: HashMap<String, StoredTable>,
}

impl Database {
    /// The database at an address. Nothing is connected to yet.
    pub(crate) fn new(address: &str, mut options: PostgresOptions) -> Result<Arc<Self>> {
        let (address, schema) = server::split(address)?;
        if let Some(schema) = schema {
            options.schema = schema;
        }
        let server = Arc::new(Server::new(&address, &options)?);
        let schema = Schema::new(&options.schema);
        Ok(Arc::new(Self {
            pool: Pool::new(
                Arc::clone(&server),
                options.readers_max,
                options.busy_timeout,
            ),
            control: Control::new(&schema),
            schema,
            engine: random_number(),
            shared: Mutex::default(),
            changed: Condvar::new(),
            server,
            options,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // No code that can panic runs under the lock.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) const fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    pub(crate) const fn schema(&self) -> &Schema {
        &self.schema
    }

    pub(crate) const fn control(&self) -> &Control {
        &self.control
    }

    pub(crate) const fn options(&self) -> &PostgresOptions {
        &self.options
    }

    /// The durability of a commit that asks for none, which the settings of a session give it.
    pub(crate) fn durability(&self) -> Durability {
        self.options.durability.unwrap_or(Durability::Full)
    }

    pub(crate) const fn engine(&self) -> i64 {
        self.engine
    }

    /// The facts that are known of the tables.
    pub(crate) fn known(&self) -> Arc<Known> {
        Arc::clone(&self.lock().known)
    }

    /// Adds what was found.
    pub(crate) fn learn(&self, found: &Arc<Known>) {
        let mut shared = self.lock();
        if Arc::ptr_eq(found, &shared.known) {
            return;
        }
        let known = Arc::make_mut(&mut shared.known);
        known.exists |= found.exists;
        known.ready.extend(found.ready.iter().cloned());
        let tables = found.tables.iter();
        known
            .tables
            .extend(tables.map(|(name, table)| (name.clone(), Arc::clone(table))));
    }

    /// Forgets everything, because a table was removed.
    pub(crate) fn forget(&self) {
        self.lock().known = Arc::default();
    }

    /// Whether the library's own tables exist.
    pub(crate) fn find_own_tables(&self) -> Result<bool> {
        let mut connection = self.pool.take()?;
        let found = connection
            .get()?
            .query(&self.control.exists, &[&self.schema.name()]);
        let found = found.and_then(|rows| match rows.first() {
            Some(row) => row.try_get::<_, bool>(0),
            None => Ok(false),
        });
        let exists = found.map_err(|error| failed("read", error))?;
        if exists {
            Arc::make_mut(&mut self.lock().known).exists = true;
        }
        Ok(exists)
    }

    /// The number of the last record of another engine, which one round trip finds out.
    pub(crate) fn last_of_others(&self) -> Result<i64> {
        if !self.known().exists && !self.find_own_tables()? {
            return Ok(0);
        }
        let mut connection = self.pool.take()?;
        let rows = connection.get()?.query(&self.control.state, &[]);
        let rows = rows.map_err(|error| failed("look for commits", error))?;
        let state = rows.first().map(|row| State::read(row, 0)).transpose()?;
        Ok(state.unwrap_or_default().last_of_others(self.engine))
    }

    /// The description of a table, which is read if it is not known.
    pub(crate) fn find_table(
        &self,
        connection: &mut Connection,
        known: &mut Arc<Known>,
        table: &Table,
    ) -> Result<Option<Arc<StoredTable>>> {
        if let Some(stored) = known.tables.get(table.name.as_ref()) {
            return Ok(Some(Arc::clone(stored)));
        }
        let stored = read_created(connection, (&self.schema, &self.control), table)?;
        let stored = stored.map(Arc::new);
        if let Some(stored) = &stored {
            let tables = &mut Arc::make_mut(known).tables;
            tables.insert(table.name.to_string(), Arc::clone(stored));
        }
        Ok(stored)
    }

    /// Whether another engine has committed after the state `since` and up to `state`.
    pub(crate) fn is_overtaken(&self, state: &State, since: StateId) -> bool {
        let since = i64::try_from(since.0).ok();
        since.is_none_or(|since| state.last_of_others(self.engine) > since)
    }

    /// Counts a snapshot that begins.
    pub(crate) fn begin_read(&self) -> Result<()> {
        let mut shared = self.lock();
        if shared.closed {
            return Err(shut_down());
        }
        shared.open += 1;
        Ok(())
    }

    /// Waits until this engine's previous write transaction has ended, and counts one that begins.
    /// Returns the connection of the previous one, if it is still open.
    pub(crate) fn begin_write(&self) -> Result<Option<Connection>> {
        let began = Instant::now();
        let mut shared = self.lock();
        while shared.writing && !shared.closed {
            let left = self.options.busy_timeout.saturating_sub(began.elapsed());
            if left.is_zero() {
                let message = "cannot begin to write: another transaction wrote for longer than \
                               the busy timeout";
                return Err(Error::new(ErrorKind::Busy, message));
            }
            let waited = self.changed.wait_timeout(shared, left);
            shared = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if shared.closed {
            return Err(shut_down());
        }
        shared.writing = true;
        shared.open += 1;
        Ok(shared.writer.take())
    }

    /// Refuses everything from now on.
    pub(crate) fn refuse(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Whether everything is refused.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Waits until all snapshots and transactions have ended, and closes the connections.
    pub(crate) fn close(&self) {
        let shared = self.lock();
        let open = |shared: &mut Shared| shared.open > 0;
        let waited = self.changed.wait_while(shared, open);
        let mut shared = waited.unwrap_or_else(PoisonError::into_inner);
        shared.writer = None;
        shared.known = Arc::default();
        shared.own = Own::default();
        drop(shared);
        self.pool.clear();
    }

    /// Notes that a snapshot has ended.
    pub(crate) fn ended(&self) {
        self.lock().open -= 1;
        self.changed.notify_all();
    }

    /// Notes that the write transaction has ended, and keeps its connection.
    pub(crate) fn ended_writing(&self, connection: Option<Connection>) {
        let mut shared = self.lock();
        shared.open -= 1;
        shared.writing = false;
        shared.writer = connection.filter(|connection| !connection.is_closed());
        drop(shared);
        self.changed.notify_all();
    }

    /// The tables as the last commit left them.
    pub(crate) fn own(&self) -> Own {
        self.lock().own.clone()
    }

    /// Notes the tables as a commit has left them, whose transaction began on the state `base`.
    pub(crate) fn note_own(&self, (base, last): (i64, i64), tables: HashMap<String, StoredTable>) {
        let mut shared = self.lock();
        shared.own.base = base;
        let known = Arc::make_mut(&mut shared.known);
        known.exists = true;
        let created = tables.iter().filter(|(_, table)| table.is_created());
        for (name, table) in created {
            known.tables.insert(name.clone(), Arc::new(table.clone()));
        }
        shared.own.last = last;
        shared.own.tables = tables;
    }

    /// A new connection, which belongs to no pool.
    pub(crate) fn connect(&self) -> Result<Connection> {
        Connection::open(&self.server)
    }

    /// Creates the library's own tables if they are missing.
    pub(crate) fn create_own_tables(&self, connection: &mut Connection) -> Result<()> {
        if self.known().exists || self.find_own_tables()? {
            return Ok(());
        }
        let created = connection.batch(&self.control.create);
        created.map_err(|error| {
            connection.send("ROLLBACK");
            failed(
                format_args!("create the tables in the schema {}", self.schema.quoted()),
                error,
            )
        })?;
        Arc::make_mut(&mut self.lock().known).exists = true;
        Ok(())
    }
}

/// A random number, from the keys that the standard library takes from the system.
fn random_number() -> i64 {
    RandomState::new().build_hasher().finish().cast_signed()
}

/// Random bytes.
pub(crate) fn random_bytes() -> [u8; 16] {
    let mut bytes = [0; 16];
    let (first, second) = bytes.split_at_mut(8);
    first.copy_from_slice(&random_number().to_le_bytes());
    second.copy_from_slice(&random_number().to_le_bytes());
    bytes
}
