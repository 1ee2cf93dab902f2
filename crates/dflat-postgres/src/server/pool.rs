//! Connections that read, kept open between reads.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dflat_engine::{Error, ErrorKind, Result};

use super::{Connection, Server};
use crate::failure::shut_down;

/// The reading connections of a backend.
pub(crate) struct Pool {
    server: Arc<Server>,
    state: Mutex<State>,
    returned: Condvar,
    connections_max: usize,
    timeout: Duration,
}

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    /// The number of connections, idle or not.
    open: usize,
}

impl Pool {
    pub(crate) fn new(server: Arc<Server>, connections_max: usize, timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            server,
            state: Mutex::default(),
            returned: Condvar::new(),
            connections_max: connections_max.max(1),
            timeout,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a connection. If all are in use, waits for one.
    pub(crate) fn take(self: &Arc<Self>) -> Result<Pooled> {
        let began = Instant::now();
        let mut state = self.lock();
        loop {
            while let Some(mut connection) = state.idle.pop() {
                if connection.is_alive() && self.is_current(&connection) {
                    return Ok(self.pooled(Some(connection)));
                }
                state.open -= 1;
            }
            if state.open < self.connections_max {
                state.open += 1;
                drop(state);
                // If it cannot be opened, dropping this makes its place free.
                let mut pooled = self.pooled(None);
                pooled.connection = Some(Connection::open(&self.server)?);
                return Ok(pooled);
            }
            let left = self.timeout.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(Error::new(
                    ErrorKind::Busy,
                    format!(
                        "cannot read: all {} reading connections are in use",
                        self.connections_max
                    ),
                ));
            }
            let waited = self.returned.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether a connection is to a server that has the commits which were seen.
    pub(crate) fn is_current(&self, connection: &Connection) -> bool {
        connection.generation() == self.server.lineage().generation()
    }

    fn pooled(self: &Arc<Self>, connection: Option<Connection>) -> Pooled {
        Pooled {
            pool: Arc::clone(self),
            was_idle: connection.is_some(),
            connection,
        }
    }

    /// Closes the idle connections.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        state.open -= state.idle.len();
        state.idle.clear();
    }
}

/// A connection that returns to its pool.
pub(crate) struct Pooled {
    pool: Arc<Pool>,
    /// `None` only before it is opened and after it was dropped.
    connection: Option<Connection>,
    was_idle: bool,
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        match self.connection.take().filter(|open| !open.is_closed()) {
            Some(connection) => state.idle.push(connection),
            None => state.open -= 1,
        }
        drop(state);
        self.pool.returned.notify_one();
    }
}

impl Pooled {
    /// The connection.
    pub(crate) fn get(&mut self) -> Result<&mut Connection> {
        self.connection.as_mut().ok_or_else(shut_down)
    }

    /// Closes the connection. Returns whether it was open before it was taken, so that a new one
    /// may succeed where this one has failed.
    pub(crate) fn discard(mut self) -> bool {
        self.connection = None;
        self.was_idle
    }

    /// Closes the connection if `is_lost`, as [`discard`](Self::discard) does.
    pub(crate) fn discard_if(self, is_lost: bool) -> bool {
        is_lost && self.discard()
    }
}
