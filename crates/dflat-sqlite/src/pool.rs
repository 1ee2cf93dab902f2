//! Who has the connection that writes, and whether the database is open.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use dflat_engine::{Error, ErrorKind, Result};

use crate::readers::Readers;
use crate::session::Session;

/// The connections.
pub(crate) struct Pool {
    readers: Readers,
    state: Mutex<State>,
    writer_returned: Condvar,
    phase_changed: Condvar,
}

struct State {
    phase: Phase,
    writer: Option<Session>,
    writer_out: bool,
    /// How many have asked to write, and how many of them have had their turn: first come, first
    /// served, so that work in many steps lets others in between.
    asked: u64,
    served: u64,
    /// Those who want the writer's place before all who write.
    upkeep_waiting: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Closing,
    Closed,
}

impl Pool {
    pub(crate) fn new(readers_max: usize) -> Self {
        Self {
            readers: Readers::new(readers_max),
            state: Mutex::new(State {
                phase: Phase::Open,
                writer: None,
                writer_out: false,
                asked: 0,
                served: 0,
                upkeep_waiting: 0,
            }),
            writer_returned: Condvar::new(),
            phase_changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) const fn readers(&self) -> &Readers {
        &self.readers
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
        self.readers.close();
        self.writer_returned.notify_all();
        while state.writer_out {
            state = wait(self.phase_changed.wait(state));
        }
        let writer = state.writer.take();
        drop(state);
        // Order: the last connection to close takes the log into the file, which a reader can't.
        self.readers.drain();
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
            Err(closed())
        }
    }
}

/// The error of who comes too late.
pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::ShutDown, "the database is closed")
}

fn wait<T>(outcome: std::sync::LockResult<T>) -> T {
    outcome.unwrap_or_else(PoisonError::into_inner)
}
