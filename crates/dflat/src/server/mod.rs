//! Workspaces on a PostgreSQL server.

use std::fmt;
use std::time::Duration;

use dflat_engine::engine::EngineOptions;
use dflat_postgres::{PostgresBackend, PostgresOptions};

use crate::{Durability, Result, Workspace};

/// Options of a workspace on a server; [`Workspace::server`] makes one with the defaults.
#[derive(Clone)]
#[must_use = "a builder does nothing until `open` is called"]
pub struct ServerBuilder {
    address: String,
    options: PostgresOptions,
    engine: EngineOptions,
}

impl Workspace {
    /// Connects to a PostgreSQL server with default options. Programs on several machines that
    /// connect to one database share its objects: queries, transactions, subscriptions and the
    /// dictionary work as on a file.
    ///
    /// `address` is a URL such as `postgres://user@host/database`, or a list of `key=value` pairs
    /// as libpq takes it. The parameter `dflat_schema` of the address, as in
    /// `postgres://user@host/database?dflat_schema=posts`, names the schema of the database that
    /// has the tables. Over a network, connections are encrypted, and the server's certificate is
    /// verified, if the server offers that; `sslmode=require` in the address refuses others.
    /// No connection is opened before the first read or write, and nothing is written before the
    /// first change.
    ///
    /// # Guarantees
    /// One transaction writes at a time, among all programs on the schema. A transaction that reads
    /// before it writes sees no change of others in between, or is run again or fails, as on a
    /// file. A commit is acknowledged when the server has stored it, unless
    /// [`ServerBuilder::durability`] or the transaction says otherwise. Reads see the last commit,
    /// and wait for no writer.
    ///
    /// # Errors
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the address is invalid.
    /// - Reads and transactions fail with [`Io`](crate::ErrorKind::Io) if the server cannot be
    ///   reached or ends the connection, with [`ReadOnly`](crate::ErrorKind::ReadOnly) if it is a
    ///   replica and [`ServerBuilder::replica`] was not chosen, and with
    ///   [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if its setting `synchronous_commit`
    ///   is off and [`ServerBuilder::durability`] was not chosen.
    /// - Transactions fail with [`Busy`](crate::ErrorKind::Busy) if another program writes for
    ///   longer than the busy timeout, with [`ReadOnly`](crate::ErrorKind::ReadOnly) if the role
    ///   may not write or the server is a replica, and with
    ///   [`InDoubt`](crate::ErrorKind::InDoubt) if the connection is lost during a commit and the
    ///   server does not say whether the commit was made.
    ///
    /// # Cost
    /// A read by key takes one round trip to the server. A query takes one for the first 32 rows,
    /// and one for each further 256 to 4,096 rows. A transaction takes one round trip to begin and
    /// one to commit, which queued transactions share, and one for each new object. Updates and
    /// deletions of objects that were read take none, unless the key or a unique value changes. The
    /// first use of a type, and of each kind of query, takes some more.
    ///
    /// # Examples
    /// ```no_run
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::{Post, PostChangeRequest, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::connect("postgres://app@db.example/app")?;
    /// let created = workspace.perform_changes([Post::TABLE], |tx| {
    ///     tx.submit(PostChangeRequest::creation(PostData::default()))
    /// });
    /// created.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn connect(address: &str) -> Result<Self> {
        Self::server(address).open()
    }

    /// Starts to choose the options of a workspace on a PostgreSQL server.
    pub fn server(address: &str) -> ServerBuilder {
        ServerBuilder {
            address: address.to_owned(),
            options: PostgresOptions::default(),
            engine: EngineOptions::default(),
        }
    }
}

impl ServerBuilder {
    /// The schema of the server's database that has the tables, unless the address says so.
    /// Defaults to `dflat`. The first write creates the schema if it is missing.
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.options.schema = schema.into();
        self
    }

    /// The password of the role, if the address has none. No message and no `Debug` output has it.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.options.password = Some(password.into().into());
        self
    }

    /// Whether the server may be a replica. Defaults to no: reads from a replica fail with
    /// [`ReadOnly`](crate::ErrorKind::ReadOnly), so that no program reads an older state without
    /// having chosen to.
    ///
    /// A read from a replica sees a state that was committed on the primary, and each later read of
    /// this workspace sees that state or a later one. It may miss the last commits, those of the
    /// same program on the primary included; [`Workspace::staleness`] tells how old it can be.
    /// Writes fail with [`ReadOnly`](crate::ErrorKind::ReadOnly). Subscribers get the commits when
    /// the replica has them. If the replica cancels a read because it is in the way of the next
    /// changes, the read fails with [`Busy`](crate::ErrorKind::Busy).
    pub fn replica(mut self, may_be: bool) -> Self {
        self.options.replica = may_be;
        self
    }

    /// The most connections that read at the same time, at least 1. Defaults to 16. Each held
    /// [`Snapshot`](crate::Snapshot) has a connection of its own, and so has each transaction that
    /// has read and not yet changed anything. One more connection writes.
    pub fn readers_max(mut self, readers: usize) -> Self {
        self.options.readers_max = readers;
        self
    }

    /// How long a transaction waits for the transactions of other programs, a read for a
    /// connection, and a commit whose outcome is in doubt for the server. A connection whose server
    /// says nothing for this time and 10 s more while an answer is awaited is closed. Defaults to
    /// 30 s.
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.options.busy_timeout = timeout;
        self.engine.busy_timeout = timeout;
        self
    }

    /// How long to wait for a connection to the server, unless the address says so. Defaults to
    /// 10 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.options.connect_timeout = timeout;
        self
    }

    /// The certificates, as PEM, of the authorities whose servers are trusted. Defaults to those of
    /// the system.
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.options.root_certificates = Some(pem.into());
        self
    }

    /// The bytes of change records above which the oldest ones are deleted until half of the bytes
    /// are left. Defaults to 16 MiB. A program that had not read the deleted records reads
    /// everything that it is subscribed to again.
    pub fn change_log_bytes_max(mut self, bytes: u64) -> Self {
        self.options.log_bytes_max = bytes;
        self
    }

    /// The events that a commit survives, unless its transaction chooses otherwise with
    /// [`TransactionContext::set_durability`](crate::TransactionContext::set_durability). Every
    /// commit survives the end of the program.
    ///
    /// - [`Full`](Durability::Full): it also survives a crash of the server. If the setting
    ///   `synchronous_commit` is off, the library turns it on for its connections.
    /// - [`Normal`](Durability::Normal): it may return before the server has stored it. After a
    ///   crash of the server the last commits may be lost: each of them whole, and no commit
    ///   without the commits after it. The library turns the setting off for its connections.
    ///
    /// Defaults to the setting of the server, the database or the role. If it is off, nothing can
    /// be read or written before one of the two is chosen: calls fail with
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub fn durability(mut self, durability: Durability) -> Self {
        self.options.durability = Some(durability);
        self
    }

    /// The most threads that run transactions, at least 1. Defaults to 64.
    pub fn threads_max(mut self, threads: usize) -> Self {
        self.engine.threads_max = threads;
        self
    }

    /// The author of all changes of this workspace, in change records. Defaults to no author.
    pub fn author(mut self, author: impl Into<String>) -> Self {
        self.engine.recording.author = Some(author.into());
        self
    }

    /// Opens the workspace. Each workspace is an engine of its own, as if it were in a process of
    /// its own.
    ///
    /// # Errors
    /// As [`Workspace::connect`].
    pub fn open(self) -> Result<Workspace> {
        let backend = PostgresBackend::new(&self.address, self.options)?;
        Ok(Workspace::on_backend(backend, self.engine))
    }
}

impl fmt::Debug for ServerBuilder {
    /// Leaves out the address, which may have a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
