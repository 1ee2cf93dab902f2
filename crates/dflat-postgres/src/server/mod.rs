//! The server: its connections, and who moves their bytes: the thread that waits for an answer, and
//! for [sessions](Session) a thread of the library.

mod address;
mod connection;
mod dial;
mod driver;
mod in_order;
mod pool;
mod posted;
mod refused;
mod session;
mod socket;
mod tls;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;
use std::time::Duration;

use dflat_engine::storage::Durability;
use dflat_engine::{Error, ErrorKind, Result};
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

pub(crate) use address::split;
pub(crate) use connection::{Connection, FETCHES, OwnedParam};
pub(crate) use pool::{Pool, Pooled};
pub(crate) use posted::Answer;
pub(crate) use session::Session;

use crate::lineage::Lineage;
use crate::options::PostgresOptions;

/// A server that is connected to when it is needed.
pub(crate) struct Server {
    config: Config,
    /// Moves the bytes of all connections, on one thread. `None` only while it is dropped.
    runtime: Option<Runtime>,
    session: String,
    /// If the server says nothing for this time while an answer is awaited, the connection ends.
    silence_max: Duration,
    /// Whether the server may be a replica.
    may_be_replica: bool,
    /// The durability that was chosen.
    durability: Option<Durability>,
    lineage: Lineage,
    root_certificates: Option<Vec<u8>>,
    /// Made for the first connection over a network.
    connector: OnceLock<Result<MakeRustlsConnect>>,
}

impl Server {
    /// The server at an address. Nothing is connected to yet.
    pub(crate) fn new(address: &str, options: &PostgresOptions, lineage: Lineage) -> Result<Self> {
        let config = address::configure(address, options)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("dflat-postgres")
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| {
                let message = "cannot connect to the server: no thread can be started";
                Error::with_source(ErrorKind::Io, message, error)
            })?;
        Ok(Self {
            config,
            runtime: Some(runtime),
            session: session(options),
            silence_max: options.busy_timeout.saturating_add(SILENCE_MORE),
            may_be_replica: options.replica,
            durability: options.durability,
            lineage,
            root_certificates: options.root_certificates.clone(),
            connector: OnceLock::new(),
        })
    }

    /// Runs a task on the library's thread.
    pub(crate) fn spawn(
        &self,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> Option<AbortHandle> {
        let runtime = self.runtime.as_ref()?;
        Some(runtime.spawn(task).abort_handle())
    }

    /// The servers that had the latest commit which was seen.
    pub(crate) const fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// Makes encrypted connections; `None` if no connection is encrypted.
    fn connector(&self) -> Result<Option<MakeRustlsConnect>> {
        if !tls::is_possible(&self.config) {
            return Ok(None);
        }
        let make = || tls::connector(self.root_certificates.as_deref());
        self.connector.get_or_init(make).clone().map(Some)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The caller may be a thread of another runtime, which must not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A connection without a byte is closed this much later than the busy timeout, so that the server
/// can say before that a lock was not free in time.
const SILENCE_MORE: Duration = Duration::from_secs(10);

/// The settings of a connection, and at last the questions whether the server is a replica, and
/// whether commits may return before they are stored. Every scan is by the order of an index, so
/// the planner is kept from sorting what it could read in order, and a statement is planned once,
/// whatever its values are.
///
/// The server learns within about a minute that the machine of a program is away, and then frees
/// the lock of writers.
fn session(options: &PostgresOptions) -> String {
    let mut session = "SET jit = off; SET enable_seqscan = off; SET enable_sort = off; \
         SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; \
         SET enable_material = off; SET cursor_tuple_fraction = 0.001; \
         SET plan_cache_mode = force_generic_plan; \
         SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; \
         SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; \
         SET tcp_keepalives_count = 3; SET tcp_user_timeout = 60000; \
         SET client_min_messages = warning; SET dflat.writing = 'on';"
        .to_owned();
    let timeout = options.busy_timeout.as_millis().clamp(1, 1 << 30);
    session.push_str(&format!("SET lock_timeout = {timeout};"));
    session.push_str(match options.durability {
        Some(Durability::Normal) => "SET synchronous_commit = off;",
        Some(Durability::Full) => {
            "SELECT set_config('synchronous_commit', 'on', false) \
             WHERE current_setting('synchronous_commit') = 'off';"
        }
        None => "",
    });
    session.push_str("SELECT pg_is_in_recovery(), current_setting('synchronous_commit') = 'off'");
    session
}

/// A random number, from the keys that the standard library takes from the system.
pub(crate) fn random_number() -> i64 {
    RandomState::new().build_hasher().finish().cast_signed()
}
