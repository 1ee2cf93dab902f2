//! The connections that read, and who has them.
//!
//! A reader takes a connection from the place of its thread, and gives it back there, so that
//! threads that read do not wait for one another. There are as many connections as readers at the
//! same time; a few stay open for those to come.
//!
//! A connection at rest may keep its read transaction, which the next read goes on with if nothing
//! was committed meanwhile. That pins the log, so a thread ends all of them every so often, and who
//! makes a checkpoint does before.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dflat_engine::{Error, ErrorKind, Result};

use crate::connection::session::Session;

/// The most places that connections rest at.
const PLACES_MAX: usize = 16;

/// All connections that read.
pub(crate) struct Readers {
    places: Box<[Place]>,
    /// How many rest at a place at most.
    rest_max: usize,
    /// Those who want no reader to keep its state.
    against_keeping: AtomicUsize,
    /// Counts how often all kept transactions were ended: those of an earlier time are too old.
    epoch: AtomicU32,
}

/// Where the connections of some threads rest; apart from others in the processor's caches.
#[repr(align(128))]
#[derive(Default)]
struct Place {
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    gate: Gate,
    #[allow(
        clippy::vec_box,
        reason = "it is large, and handed on several times a read"
    )]
    at_rest: Vec<Box<Session>>,
    out_count: usize,
}

/// Whether readers are let in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Gate {
    #[default]
    Open,
    /// They wait.
    Suspended,
    Closed,
}

/// The place that a reader took its connection from, and gives it back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlaceId(usize);

impl Place {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Readers {
    /// Of which about `rest_max` stay open between reads.
    pub(crate) fn new(rest_max: usize) -> Self {
        let places = rest_max.clamp(1, PLACES_MAX);
        Self {
            places: (0..places).map(|_| Place::default()).collect(),
            rest_max: (rest_max / places).max(1),
            against_keeping: AtomicUsize::new(0),
            epoch: AtomicU32::new(0),
        }
    }

    /// The place of this thread.
    fn place(&self) -> PlaceId {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local!(static THREAD: usize = THREADS.fetch_add(1, Ordering::Relaxed));
        // A thread that ends may read in the destructor of another of its values.
        PlaceId(THREAD.try_with(|thread| *thread).unwrap_or(0) % self.places.len())
    }

    /// Counts a reader, and gives it a connection if one is at rest. It is given back by
    /// [`Self::give_back`]. A suspension is waited for up to `timeout`.
    pub(crate) fn take(&self, timeout: Duration) -> Result<(PlaceId, Option<Box<Session>>)> {
        let PlaceId(own) = self.place();
        let mut state = self.places[own].lock();
        if state.gate != Gate::Open {
            let suspended = |state: &mut State| state.gate == Gate::Suspended;
            let changed = &self.places[own].returned;
            let waited = changed.wait_timeout_while(state, timeout, suspended);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        match state.gate {
            Gate::Open => {}
            Gate::Suspended => {
                let message = "cannot read: the workspace is suspended";
                return Err(Error::new(ErrorKind::Busy, message));
            }
            Gate::Closed => return Err(closed()),
        }
        state.out_count += 1;
        if let Some(session) = state.at_rest.pop() {
            return Ok((PlaceId(own), Some(session)));
        }
        drop(state);
        // One of another place is better than a new one, unless it has to be waited for.
        let others = self.places.iter().enumerate().filter(|(id, _)| *id != own);
        let found = others.filter_map(|(_, place)| place.state.try_lock().ok()?.at_rest.pop());
        Ok((PlaceId(own), found.take(1).next()))
    }

    /// Takes back a reader's connection, if it can be used again. Whether it keeps a transaction.
    pub(crate) fn give_back(&self, place: PlaceId, session: Option<Box<Session>>) -> bool {
        let place = &self.places[place.0];
        let mut state = place.lock();
        let session = session.and_then(|mut session| {
            // Order: under the lock, so that who is against it either is seen or sees this one.
            let may_keep = self.against_keeping.load(Ordering::Relaxed) == 0;
            ((may_keep && session.is_current()) || session.end()).then_some(session)
        });
        let keeps = session.as_ref().is_some_and(|session| session.keeps());
        if state.at_rest.len() < self.rest_max {
            state.at_rest.extend(session);
        } else if session.is_some() {
            // Order: it is closed before it is out, so that who waits for that closes the log last.
            drop(state);
            drop(session);
            state = place.lock();
        }
        state.out_count -= 1;
        if state.gate != Gate::Open {
            drop(state);
            place.returned.notify_all();
        }
        keeps
    }

    /// What tells transactions that are kept from those that are too old.
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Ends the transactions of all connections at rest; how many there were.
    pub(crate) fn end_kept(&self) -> usize {
        self.epoch.fetch_add(1, Ordering::Relaxed);
        let mut ended = 0;
        for place in &self.places {
            let mut state = place.lock();
            state.at_rest.retain_mut(|session| {
                ended += usize::from(session.keeps());
                // One that can't end is not to be used again.
                session.end()
            });
        }
        ended
    }

    /// Ends the transactions of all connections at rest, and lets none keep one for as long as
    /// the result lives.
    pub(crate) fn forbid_keeping(&self) -> KeepingForbidden<'_> {
        self.against_keeping.fetch_add(1, Ordering::Relaxed);
        self.end_kept();
        KeepingForbidden(self)
    }

    /// Lets readers in, or not.
    pub(crate) fn set_gate(&self, gate: Gate) {
        for place in &self.places {
            place.lock().gate = gate;
            place.returned.notify_all();
        }
    }

    /// Waits, while the gate is not open, until all are out, and closes the connections. Whether
    /// that was done in time.
    pub(crate) fn drain(&self, deadline: Option<Instant>) -> bool {
        for place in &self.places {
            let mut state = place.lock();
            while state.out_count > 0 {
                let rest = deadline.map(|end| end.saturating_duration_since(Instant::now()));
                if rest.is_some_and(|rest| rest.is_zero()) {
                    return false;
                }
                let rest = rest.unwrap_or(Duration::from_secs(3600));
                let waited = place.returned.wait_timeout(state, rest);
                (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            }
            let at_rest = std::mem::take(&mut state.at_rest);
            drop(state);
            drop(at_rest);
        }
        true
    }

    /// The most statements that a connection at rest holds, for tests.
    #[cfg(test)]
    pub(crate) fn statements_max(&self) -> usize {
        let most = |place: &Place| {
            let state = place.lock();
            let held = state.at_rest.iter();
            held.map(|session| session.connection.statements_count())
                .max()
        };
        self.places.iter().filter_map(most).max().unwrap_or(0)
    }

    #[cfg(test)]
    pub(crate) fn counts(&self) -> ReaderCounts {
        let mut counts = ReaderCounts::default();
        for place in &self.places {
            let state = place.lock();
            counts.out += state.out_count;
            counts.at_rest += state.at_rest.len();
            counts.kept += state.at_rest.iter().filter(|s| s.keeps()).count();
        }
        counts
    }
}

/// How many connections there are, for tests.
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReaderCounts {
    pub(crate) out: usize,
    pub(crate) at_rest: usize,
    pub(crate) kept: usize,
}

/// No reader at rest keeps a transaction meanwhile.
pub(crate) struct KeepingForbidden<'r>(&'r Readers);

impl Drop for KeepingForbidden<'_> {
    fn drop(&mut self) {
        self.0.against_keeping.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The error of who comes too late.
pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::ShutDown, "the database is closed")
}

#[cfg(test)]
mod tests;
