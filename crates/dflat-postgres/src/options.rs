//! Options of a workspace on a server.

use std::fmt;
use std::time::Duration;

use dflat_engine::storage::Durability;

/// Options of a [`PostgresBackend`](crate::PostgresBackend).
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// The schema of the server's database that has the tables, unless the address says so, as
    /// `dflat_schema=posts`. Defaults to `dflat`. The first write creates the schema if it is
    /// missing.
    pub schema: String,
    /// The password of the role, if the address has none.
    pub password: Option<Password>,
    /// Whether the server may be a replica, whose state may be older than that of its primary.
    /// Defaults to no.
    pub replica: bool,
    /// The most connections that read at the same time, at least 1. Defaults to 16. One more
    /// connection writes.
    pub readers_max: usize,
    /// How long a transaction waits for the transactions of other engines, a read for a connection,
    /// and a commit whose outcome is in doubt for the server. A connection whose server says
    /// nothing for this time and 10 s more while an answer is awaited is closed. Defaults to 30 s.
    pub busy_timeout: Duration,
    /// How long to wait for a connection to the server, if the address does not say; zero for ever.
    /// Defaults to 10 s.
    pub connect_timeout: Duration,
    /// The certificates, as PEM, of the authorities whose servers are trusted. Defaults to those of
    /// the system.
    pub root_certificates: Option<Vec<u8>>,
    /// The bytes of change records above which the oldest ones are deleted until half of the bytes
    /// are left. Defaults to 16 MiB.
    pub log_bytes_max: u64,
    /// The durability of a commit that asks for none. [`Full`](Durability::Full): it survives a
    /// crash of the server, so the library turns `synchronous_commit` on for its connections, if it
    /// is off. [`Normal`](Durability::Normal): it may return before the server has stored it.
    /// Defaults to the server's setting: if it is off, connecting fails.
    pub durability: Option<Durability>,
    /// Whether commits of other engines are learned of by notifications: one of the engines that
    /// have subscriptions, the relay, asks the server and notifies the others. Defaults to yes.
    /// Otherwise this engine asks every 20 ms, as it does on a replica. Notifications take a
    /// connection more.
    pub is_notified: bool,
}

/// A password, which is never shown.
#[derive(Clone)]
pub struct Password(pub(crate) String);

impl From<String> for Password {
    fn from(password: String) -> Self {
        Self(password)
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            schema: "dflat".to_owned(),
            password: None,
            replica: false,
            readers_max: 16,
            busy_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            root_certificates: None,
            log_bytes_max: 16 << 20,
            durability: None,
            is_notified: true,
        }
    }
}
