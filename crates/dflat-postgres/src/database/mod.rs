//! The database: its connections, and the state that snapshots and transactions share.

mod known;
mod own;
mod tables;

use std::fmt::Display;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dflat_engine::storage::{Durability, StateId};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;
use tokio::task::AbortHandle;
use tokio_postgres::Row;

use crate::failure::{failed, is_removed_table, shut_down};
use crate::layout::{Control, Schema, State, StoredTable};
use crate::lineage::Lineage;
use crate::options::PostgresOptions;
use crate::server::{self, Connection, Pool, Server, Session, random_number};

pub(crate) use known::Known;
pub(crate) use own::{Doubt, Own};
pub(crate) use tables::{read_created, read_table};

/// Of this many connections that have written, the numbers are known.
const ENGINES_MAX: usize = 64;

/// A schema of a server's database.
pub(crate) struct Database {
    server: Arc<Server>,
    pool: Arc<Pool>,
    options: PostgresOptions,
    schema: Schema,
    control: Control,
    shared: Mutex<Shared>,
    changed: Condvar,
}

#[derive(Default)]
struct Shared {
    /// The generation of the servers for which the following holds.
    generation: u16,
    /// The numbers of the last connections by which this engine has written.
    engines: Vec<i64>,
    /// The connection that writes, while no transaction uses it.
    writer: Option<Connection>,
    /// Whether a write transaction is open.
    writing: bool,
    /// The number of open snapshots and transactions.
    open: usize,
    closed: bool,
    known: Arc<Known>,
    own: Own,
    /// The last commit of this engine whose outcome is not known. Its transaction holds the lock of
    /// writers until its end, so one before it has ended.
    doubt: Option<Doubt>,
}

impl Database {
    /// The database at an address. Nothing is connected to yet.
    pub(crate) fn new(address: &str, mut options: PostgresOptions) -> Result<Arc<Self>> {
        let (address, schema) = server::split(address)?;
        if let Some(schema) = schema {
            options.schema = schema;
        }
        check_name(&options.schema)?;
        let schema = Schema::new(&options.schema);
        let control = Control::new(&schema);
        let names = ["log", "control"].map(|name| schema.relation(&format!("dflat__{name}")));
        let [log, state] = names;
        let lineage = Lineage::new(log, state);
        let server = Arc::new(Server::new(&address, &options, lineage)?);
        Ok(Arc::new(Self {
            pool: Pool::new(
                Arc::clone(&server),
                options.readers_max,
                options.busy_timeout,
            ),
            control,
            schema,
            shared: Mutex::default(),
            changed: Condvar::new(),
            server,
            options,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // No code that can panic runs under the lock.
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = self.server.lineage().generation();
        if shared.generation != generation {
            shared.generation = generation;
            shared.known = Arc::new(Known::of(generation));
            shared.own = Own::default();
        }
        shared
    }

    /// Runs a task on the library's thread.
    pub(crate) fn spawn(
        &self,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> Option<AbortHandle> {
        self.server.spawn(task)
    }

    /// A session that gets notifications.
    pub(crate) async fn open_session(&self) -> Result<Session> {
        Session::open(&self.server).await
    }

    /// The present generation of servers.
    pub(crate) fn generation(&self) -> u16 {
        self.server.lineage().generation()
    }

    /// The state in a row that a connection has read, from a column on. Notes that it was seen. If
    /// the tables were made again, the state is of another generation than the connection.
    pub(crate) fn read_state(&self, row: &Row, first: usize, generation: u16) -> Result<State> {
        let mut state = State::read(row, first, generation)?;
        state.generation = self.server.lineage().note(state.record());
        Ok(state)
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

    /// The facts that are known of the tables.
    pub(crate) fn known(&self) -> Arc<Known> {
        Arc::clone(&self.lock().known)
    }

    /// The facts that are known of the tables of a server.
    pub(crate) fn known_of(&self, generation: u16) -> Arc<Known> {
        let known = self.known();
        match known.generation == generation {
            true => known,
            false => Arc::new(Known::of(generation)),
        }
    }

    /// Adds what was found.
    pub(crate) fn learn(&self, found: &Arc<Known>) {
        let mut shared = self.lock();
        if Arc::ptr_eq(found, &shared.known) || found.generation != shared.generation {
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
        let mut shared = self.lock();
        shared.known = Arc::new(Known::of(shared.generation));
    }

    /// The error of an operation. If a table was removed, forgets everything.
    pub(crate) fn failed(&self, operation: impl Display, error: tokio_postgres::Error) -> Error {
        if is_removed_table(&error) {
            self.forget();
        }
        failed(operation, error)
    }

    /// Whether the library's own tables exist.
    pub(crate) fn find_own_tables(&self) -> Result<bool> {
        let mut connection = self.pool.take()?;
        let connection = connection.get()?;
        let found = connection.query(&self.control.exists, &[&self.schema.name()]);
        let found = found.and_then(|rows| match rows.first() {
            Some(row) => row.try_get::<_, bool>(0),
            None => Ok(false),
        });
        let exists = found.map_err(|error| failed("read", error))?;
        if exists {
            self.note_own_tables(connection.generation());
        }
        Ok(exists)
    }

    fn note_own_tables(&self, generation: u16) {
        let mut shared = self.lock();
        if shared.generation == generation {
            Arc::make_mut(&mut shared.known).exists = true;
        }
    }

    /// The state, which one round trip finds out.
    pub(crate) fn state(&self) -> Result<State> {
        if !self.known().exists && !self.find_own_tables()? {
            return Ok(State::empty(self.generation()));
        }
        let mut connection = self.pool.take()?;
        let connection = connection.get()?;
        let generation = connection.generation();
        let rows = connection.query(&self.control.state, &[]);
        let rows = rows.map_err(|error| self.failed("look for commits", error))?;
        match rows.first() {
            Some(row) => self.read_state(row, 0, generation),
            None => Ok(State::empty(generation)),
        }
    }

    /// The number of the last record of another engine.
    pub(crate) fn last_of_others(&self, state: &State) -> i64 {
        state.last_of_others(|engine| self.lock().engines.contains(&engine))
    }

    /// Notes the number of a connection by which this engine writes. An older one counts as another
    /// engine's, whose commits are known.
    pub(crate) fn note_engine(&self, engine: i64) {
        let engines = &mut self.lock().engines;
        if engines.last() != Some(&engine) {
            if engines.len() >= ENGINES_MAX {
                engines.remove(0);
            }
            engines.push(engine);
        }
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

    /// Whether another engine has committed after the state `since` and up to `state`, or a commit
    /// before `since` is not in `state`.
    pub(crate) fn is_overtaken(&self, state: &State, since: StateId) -> bool {
        let since = state.last_of(since);
        since.is_none_or(|since| self.last_of_others(state) > since || state.last < since)
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
        let writer = shared.writer.take();
        Ok(writer.filter(|writer| self.pool.is_current(writer)))
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
        shared.known = Arc::new(Known::of(shared.generation));
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

    /// A new connection, which belongs to no pool.
    pub(crate) fn connect(&self) -> Result<Connection> {
        Connection::open(&self.server)
    }

    /// Creates the library's own tables if they are missing.
    pub(crate) fn create_own_tables(&self, connection: &mut Connection) -> Result<()> {
        let generation = connection.generation();
        if self.known_of(generation).exists || self.find_own_tables()? {
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
        self.note_own_tables(generation);
        Ok(())
    }
}

/// Refuses names that no schema of a program can have.
fn check_name(schema: &str) -> Result<()> {
    let is_of_the_server = schema.starts_with("pg_") || schema == "information_schema";
    if !schema.is_empty() && !is_of_the_server && !schema.contains('\0') {
        return Ok(());
    }
    let message = "cannot use the database: the name of a schema is not empty, does not begin with \
                   `pg_`, is not `information_schema`, and has no NUL";
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// Random bytes.
pub(crate) fn random_bytes() -> [u8; 16] {
    let mut bytes = [0; 16];
    let (first, second) = bytes.split_at_mut(8);
    first.copy_from_slice(&random_number().to_le_bytes());
    second.copy_from_slice(&random_number().to_le_bytes());
    bytes
}
