//! Who has which connection.

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dflat_engine::{Error, ErrorKind, Result};

use crate::session::Session;

/// The connections at rest, and how many are out.
pub(crate) struct Pool {
    state: Mutex<State>,
    reader_returned: Condvar,
    writer_returned: Condvar,
    phase_changed: Condvar,
    readers_max: usize,
    timeout: Duration,
}

struct State {
    phase: Phase,
    readers: Vec<Session>,
    readers_out_count: usize,
    writer: Option<Session>,
    writer_out: bool,
    /// How many have asked to write, and how many of them have had their turn: first come, first
    /// served, so that work in many steps lets others in between.
    asked: u64,
    served: u64,
    /// Those who want the writer's place before all who write.
    upkeep_waiting: usize,
    /// Those who want no reader to keep its state.
    against_keeping: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Closing,
    Closed,
}

impl Pool {
    pub(crate) fn new(readers_max: usize, timeout: Duration) -> Self {
        Self {
            state: Mutex::new(State {
                phase: Phase::Open,
                readers: Vec::new(),
                readers_out_count: 0,
                writer: None,
                writer_out: false,
                asked: 0,
                served: 0,
                upkeep_waiting: 0,
                against_keeping: 0,
            }),
            reader_returned: Condvar::new(),
            writer_returned: Condvar::new(),
            phase_changed: Condvar::new(),
            readers_max: readers_max.max(1),
            timeout,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place among the readers, and a connection if one is at rest. The place is given back
    /// by [`Self::return_reader`].
    pub(crate) fn take_reader(&self) -> Result<Option<Session>> {
        let mut state = self.lock();
        let mut deadline = None;
        loop {
            state.check_open()?;
            if state.readers_out_count < self.readers_max {
                state.readers_out_count += 1;
                return Ok(state.readers.pop());
            }
            let now = Instant::now();
            let rest = match *deadline.get_or_insert_with(|| now.checked_add(self.timeout)) {
                Some(deadline) => deadline.saturating_duration_since(now),
                None => self.timeout,
            };
            if rest.is_zero() {
                let message = format!("cannot read: all {} readers are in use", self.readers_max);
                return Err(Error::new(ErrorKind::Busy, message));
            }
            state = wait(self.reader_returned.wait_timeout(state, rest)).0;
        }
    }

    pub(crate) fn return_reader(&self, session: Option<Session>) {
        let mut state = self.lock();
        state.readers_out_count -= 1;
        state.readers.extend(session);
        drop(state);
        self.reader_returned.notify_one();
        self.phase_changed.notify_all();
    }

    /// Waits for the writer before, and takes its place, and its connection if there is one. The
    /// place is given back by [`Self::return_writer`].
    pub(crate) fn take_writer(&self) -> Result<Option<Session>> {
        let mut state = self.lock();
        let turn = state.asked;
        state.asked += 1;
        loop {
            state.check_open()?;
            if !state.writer_out && state.upkeep_waiting == 0 && state.served == turn {
                state.served += 1;
                state.writer_out = true;
                return Ok(state.writer.take());
            }
            state = wait(self.writer_returned.wait(state));
        }
    }

    /// As [`Self::take_writer`], before all others who wait.
    pub(crate) fn take_writer_first(&self) -> Result<Option<Session>> {
        let mut state = self.lock();
        state.upkeep_waiting += 1;
        while state.writer_out && state.phase == Phase::Open {
            state = wait(self.writer_returned.wait(state));
        }
        state.upkeep_waiting -= 1;
        let open = state.check_open();
        if open.is_err() {
            drop(state);
            self.writer_returned.notify_all();
            return open.map(|()| None);
        }
        state.writer_out = true;
        Ok(state.writer.take())
    }

    /// Ends the transactions of readers at rest, and lets no reader keep one, until
    /// [`Self::let_readers_keep`]: they would pin the log.
    pub(crate) fn end_kept_readers(&self) {
        let mut state = self.lock();
        state.against_keeping += 1;
        // One that can't end is not to be used again.
        state.readers.retain_mut(Session::end);
    }

    /// Lets readers keep their state between reads, as far as this was in the way.
    pub(crate) fn let_readers_keep(&self) {
        self.lock().against_keeping -= 1;
    }

    /// As [`Self::take_writer`]; `None` at once if another writes.
    pub(crate) fn try_take_writer(&self) -> Result<Option<Option<Session>>> {
        let mut state = self.lock();
        state.check_open()?;
        if state.writer_out || state.upkeep_waiting > 0 || state.served != state.asked {
            return Ok(None);
        }
        state.writer_out = true;
        Ok(Some(state.writer.take()))
    }

    pub(crate) fn return_writer(&self, session: Option<Session>) {
        let mut state = self.lock();
        state.writer_out = false;
        state.writer = session;
        let awaited = state.upkeep_waiting > 0 || state.served != state.asked;
        drop(state);
        if awaited {
            // Whose turn it is, they know themselves.
            self.writer_returned.notify_all();
        }
        self.phase_changed.notify_all();
    }

    /// Lets nobody in, waits until all are out, and drops the connections. False if that was done
    /// before, or is being done by another thread, which is waited for.
    pub(crate) fn drain(&self) -> bool {
        let mut state = self.lock();
        if state.phase != Phase::Open {
            while state.phase != Phase::Closed {
                state = wait(self.phase_changed.wait(state));
            }
            return false;
        }
        state.phase = Phase::Closing;
        self.reader_returned.notify_all();
        self.writer_returned.notify_all();
        while state.readers_out_count > 0 || state.writer_out {
            state = wait(self.phase_changed.wait(state));
        }
        let readers = mem::take(&mut state.readers);
        let writer = state.writer.take();
        drop(state);
        // Order: the last connection to close takes the log into the file, which a reader can't.
        drop(readers);
        drop(writer);
        true
    }

    /// Lets those go on who wait for [`Self::drain`] by another thread.
    pub(crate) fn set_closed(&self) {
        self.lock().phase = Phase::Closed;
        self.phase_changed.notify_all();
    }
}

impl State {
    fn check_open(&self) -> Result<()> {
        if self.phase == Phase::Open {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::ShutDown, "the database is closed"))
        }
    }
}

fn wait<T>(outcome: std::sync::LockResult<T>) -> T {
    outcome.unwrap_or_else(PoisonError::into_inner)
}
