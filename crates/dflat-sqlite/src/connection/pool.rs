//! The connection that writes, and whether the database is open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dflat_engine::{Error, ErrorKind, Result};

use crate::connection::commits::CommitCount;
use crate::connection::file_connection::FileConnection;
use crate::connection::readers::{Gate, Readers, closed, suspended};

/// The connections.
pub(crate) struct Pool {
    readers: Readers,
    state: Mutex<PoolState>,
    /// Derived from the phase, so that a transaction that begins need not take the lock.
    is_suspended: AtomicBool,
    writer_returned: Condvar,
    phase_changed: Condvar,
}

struct PoolState {
    phase: Phase,
    writer: Option<FileConnection>,
    writer_out: bool,
    /// The number of connections that upkeep has opened outside of the pool.
    upkeep_out: usize,
    /// The numbers of writers that have asked for the connection, and that have got it. Writers get
    /// it in the order of their calls, so that other writers run between the steps of long work.
    asked: u64,
    served: u64,
    /// How many steps of upkeep wait for the connection; they get it before all writers.
    upkeep_waiting: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// The pool waits for lent connections; new callers wait for [`Pool::resume`].
    Suspending,
    /// Connections are closed; callers wait for [`Pool::resume`].
    Suspended,
    Closing,
    Closed,
}

impl Pool {
    pub(crate) fn new(readers_max: usize) -> Self {
        Self {
            readers: Readers::new(readers_max),
            state: Mutex::new(PoolState {
                phase: Phase::Open,
                writer: None,
                writer_out: false,
                upkeep_out: 0,
                asked: 0,
                served: 0,
                upkeep_waiting: 0,
            }),
            is_suspended: AtomicBool::new(false),
            writer_returned: Condvar::new(),
            phase_changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) const fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Waits until no other caller has write access, and takes it, with the connection if there is
    /// one. [`Self::return_writer`] gives write access back.
    pub(crate) fn take_writer(&self) -> Result<Option<FileConnection>> {
        let mut state = self.lock();
        let turn = state.asked;
        state.asked += 1;
        loop {
            state.check_open()?;
            let suspended = state.phase.keeps_out();
            let is_turn = state.served == turn && state.upkeep_waiting == 0;
            if !state.writer_out && is_turn && !suspended {
                state.served += 1;
                state.writer_out = true;
                return Ok(state.writer.take());
            }
            state = wait(self.writer_returned.wait(state));
        }
    }

    /// As [`Self::take_writer`], but before all writers that wait. While it waits, it calls
    /// `meanwhile` after each `interval`.
    pub(crate) fn take_writer_first(
        &self,
        interval: Duration,
        mut meanwhile: impl FnMut(),
    ) -> Result<Option<FileConnection>> {
        let mut state = self.lock();
        state.upkeep_waiting += 1;
        while state.writer_out && state.phase == Phase::Open {
            let waited = self.writer_returned.wait_timeout(state, interval);
            let timeout;
            (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                drop(state);
                meanwhile();
                state = self.lock();
            }
        }
        state.upkeep_waiting -= 1;
        if let Err(error) = state.check_in_use() {
            drop(state);
            self.writer_returned.notify_all();
            return Err(error);
        }
        state.writer_out = true;
        Ok(state.writer.take())
    }

    /// As [`Self::take_writer`], but returns `None` at once if another caller has write access.
    pub(crate) fn try_take_writer(&self) -> Result<Option<Option<FileConnection>>> {
        let mut state = self.lock();
        state.check_open()?;
        let suspended = state.phase.keeps_out();
        let awaited = state.upkeep_waiting > 0 || state.served != state.asked;
        if state.writer_out || awaited || suspended {
            return Ok(None);
        }
        state.writer_out = true;
        Ok(Some(state.writer.take()))
    }

    /// The number of commits that the log has counted, by the connection that writes. `None` if the
    /// connection is in use, or the file has no log.
    pub(crate) fn count_of_idle_writer(&self) -> Option<CommitCount> {
        self.lock().writer.as_ref()?.log_count()
    }

    /// Whether upkeep waits for the place of the writer, for tests.
    #[cfg(test)]
    pub(crate) fn is_upkeep_waiting(&self) -> bool {
        self.lock().upkeep_waiting > 0
    }

    pub(crate) fn return_writer(&self, connection: Option<FileConnection>) {
        let mut state = self.lock();
        state.writer_out = false;
        state.writer = connection;
        let awaited = state.upkeep_waiting > 0 || state.served != state.asked;
        let is_open = state.phase == Phase::Open;
        drop(state);
        // A notification costs a system call even if no thread waits. Of an open pool, no thread
        // waits for another phase.
        if awaited {
            // Each waiter finds out by itself whether its turn has come.
            self.writer_returned.notify_all();
        }
        if !is_open {
            self.phase_changed.notify_all();
        }
    }

    /// Counts a connection that upkeep opens outside of the pool, until [`Self::end_upkeep`]. Waits
    /// up to `timeout` for the end of a suspension.
    pub(crate) fn begin_upkeep(&self, timeout: Duration) -> Result<()> {
        let mut state = self.lock();
        if state.phase.keeps_out() && !timeout.is_zero() {
            let suspended = |state: &mut PoolState| state.phase.keeps_out();
            let changed = &self.phase_changed;
            let waited = changed.wait_timeout_while(state, timeout, suspended);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.check_in_use()?;
        state.upkeep_out += 1;
        Ok(())
    }

    pub(crate) fn end_upkeep(&self) {
        self.lock().upkeep_out -= 1;
        self.phase_changed.notify_all();
    }

    /// Lends no connection any more, waits up to `timeout` until all are returned, and closes them.
    /// New callers wait for [`Self::resume`]. If another thread is suspending, this call has the
    /// same outcome. Calls `closed` when all connections are closed.
    pub(crate) fn suspend(&self, timeout: Duration, closed: impl FnOnce()) -> Result<()> {
        let deadline = Instant::now().checked_add(timeout);
        let mut state = self.lock();
        state.check_open()?;
        if state.phase.keeps_out() {
            let unsettled = |state: &mut PoolState| state.phase == Phase::Suspending;
            state = wait(self.phase_changed.wait_while(state, unsettled));
            return state.check_suspended();
        }
        self.set_phase(&mut state, Phase::Suspending);
        // Upkeep that waits for write access gives up.
        self.writer_returned.notify_all();
        let used = |state: &mut PoolState| {
            (state.writer_out || state.upkeep_out > 0) && state.phase == Phase::Suspending
        };
        let waited = self.phase_changed.wait_timeout_while(state, timeout, used);
        (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let is_used = used(&mut state);
        let writer = state.writer.take();
        drop(state);
        // Order: as in `drain`.
        let is_done = !is_used && self.readers.drain(deadline);
        drop(writer);
        if is_done {
            closed();
        }
        let mut state = self.lock();
        // Otherwise it was resumed or closed in between.
        if state.phase == Phase::Suspending {
            let outcome = if is_done {
                Phase::Suspended
            } else {
                Phase::Open
            };
            self.set_phase(&mut state, outcome);
        }
        let outcome = state.check_suspended();
        drop(state);
        self.writer_returned.notify_all();
        self.phase_changed.notify_all();
        outcome
    }

    fn set_phase(&self, state: &mut PoolState, phase: Phase) {
        let gate = match phase {
            Phase::Open => Gate::Open,
            Phase::Suspending | Phase::Suspended => Gate::Suspended,
            Phase::Closing | Phase::Closed => Gate::Closed,
        };
        state.phase = phase;
        let keeps_out = phase.keeps_out();
        self.is_suspended.store(keeps_out, Ordering::Release);
        self.readers.set_gate(gate);
    }

    /// Waits for the end of a suspension, if there is one.
    pub(crate) fn wait_while_suspended(&self) {
        if self.is_suspended.load(Ordering::Acquire) {
            let suspended = |state: &mut PoolState| state.phase.keeps_out();
            drop(wait(self.phase_changed.wait_while(self.lock(), suspended)));
        }
    }

    /// Ends a suspension; callers that wait go on.
    pub(crate) fn resume(&self) {
        let mut state = self.lock();
        if state.phase.keeps_out() {
            self.set_phase(&mut state, Phase::Open);
        }
        drop(state);
        self.writer_returned.notify_all();
        self.phase_changed.notify_all();
    }

    /// Lends no connection any more, waits until all are returned, and drops them. Returns whether
    /// one of them could write. `None` if the pool was drained before; if another thread is
    /// draining it, waits for that thread.
    pub(crate) fn drain(&self) -> Option<bool> {
        let mut state = self.lock();
        if matches!(state.phase, Phase::Closing | Phase::Closed) {
            while state.phase != Phase::Closed {
                state = wait(self.phase_changed.wait(state));
            }
            return None;
        }
        self.set_phase(&mut state, Phase::Closing);
        self.writer_returned.notify_all();
        while state.writer_out || state.upkeep_out > 0 {
            state = wait(self.phase_changed.wait(state));
        }
        let writer = state.writer.take();
        drop(state);
        // Order: the writer closes last, because the last connection to close copies the log into
        // the file, which a reader cannot do.
        self.readers.drain(None);
        let could_write = writer.is_some();
        drop(writer);
        Some(could_write)
    }

    /// Lets the threads go on that wait for [`Self::drain`] by another thread.
    pub(crate) fn set_closed(&self) {
        self.lock().phase = Phase::Closed;
        self.phase_changed.notify_all();
    }
}

impl Phase {
    /// Whether callers wait for [`Pool::resume`].
    const fn keeps_out(self) -> bool {
        matches!(self, Self::Suspending | Self::Suspended)
    }
}

impl PoolState {
    fn check_open(&self) -> Result<()> {
        match self.phase {
            Phase::Open | Phase::Suspending | Phase::Suspended => Ok(()),
            Phase::Closing | Phase::Closed => Err(closed()),
        }
    }

    /// Fails if the database is suspended or closed.
    fn check_in_use(&self) -> Result<()> {
        self.check_open()?;
        match self.phase.keeps_out() {
            false => Ok(()),
            true => Err(suspended()),
        }
    }

    fn check_suspended(&self) -> Result<()> {
        self.check_open()?;
        if self.phase == Phase::Suspended {
            return Ok(());
        }
        let message = "cannot suspend: a transaction, a snapshot or a backup goes on";
        Err(Error::new(ErrorKind::Busy, message))
    }
}

fn wait<T>(outcome: std::sync::LockResult<T>) -> T {
    outcome.unwrap_or_else(PoisonError::into_inner)
}
