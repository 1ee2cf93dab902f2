//! The backend behind the storage seam of the engine.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dflat_engine::storage::{
    Backend, CloseOptions, Durability, Looked, Snapshot, Staleness, View, WriteTransaction,
};
use dflat_engine::{Error, ErrorKind, Result};

use crate::database::Database;
use crate::follow::Follower;
use crate::options::PostgresOptions;
use crate::read::{PostgresSnapshot, staleness};
use crate::write::PostgresTransaction;

/// The changes of a few round trips. With so many of them, four round trips of 50 ms cost each
/// change 50 us, which is a few times the cost of an insertion.
const BATCH_MAX: usize = 4096;

/// The time between two tries to read from a server whose connections were lost.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// Stores objects on a PostgreSQL server.
pub struct PostgresBackend {
    database: Arc<Database>,
    follower: Mutex<Option<Follower>>,
}

impl PostgresBackend {
    /// A backend on a server. Nothing is connected to before the first read or write, and nothing
    /// is written before the first change.
    ///
    /// `address` is a URL such as `postgres://user@host/database`, or a list of `key=value` pairs
    /// as libpq takes it.
    ///
    /// # Errors
    /// - [`InvalidArgument`](dflat_engine::ErrorKind::InvalidArgument) if the address is invalid.
    /// - [`Io`](dflat_engine::ErrorKind::Io) if no thread can be started.
    pub fn new(address: &str, options: PostgresOptions) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            database: Database::new(address, options)?,
            follower: Mutex::new(None),
        }))
    }

    pub(crate) const fn database(&self) -> &Arc<Database> {
        &self.database
    }

    fn follower(&self) -> MutexGuard<'_, Option<Follower>> {
        // No code that can panic runs under the lock.
        self.follower.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backend for PostgresBackend {
    fn snapshot(self: Arc<Self>, view: View) -> Result<Box<dyn Snapshot>> {
        let database = Arc::clone(&self.database);
        Ok(Box::new(PostgresSnapshot::new(database, view)?))
    }

    fn begin(self: Arc<Self>, durability: Durability) -> Result<Box<dyn WriteTransaction>> {
        let database = Arc::clone(&self.database);
        Ok(Box::new(PostgresTransaction::begin(database, durability)?))
    }

    fn durability(&self) -> Durability {
        self.database.durability()
    }

    fn batch_max(&self) -> usize {
        BATCH_MAX
    }

    fn reads_max(&self) -> Option<usize> {
        Some(self.database.options().readers_max)
    }

    fn staleness(&self) -> Result<Staleness> {
        staleness(&self.database)
    }

    fn retry_after(&self, error: &Error, tried: Duration) -> Option<Duration> {
        let may_succeed = error.kind() == ErrorKind::Io && !self.database.is_closed();
        (may_succeed && tried < self.database.options().busy_timeout).then_some(RETRY_AFTER)
    }

    fn follow(&self, look: Arc<dyn Fn() -> Looked + Send + Sync>) {
        let mut follower = self.follower();
        if follower.is_none() && !self.database.is_closed() {
            *follower = Some(Follower::start(Arc::clone(&self.database), look));
        }
    }

    fn close(&self, _options: CloseOptions) -> Result<()> {
        self.database.refuse();
        let follower = self.follower().take();
        // Waits for the look that is under way.
        drop(follower);
        self.database.close();
        Ok(())
    }
}

impl fmt::Debug for PostgresBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresBackend").finish_non_exhaustive()
    }
}
