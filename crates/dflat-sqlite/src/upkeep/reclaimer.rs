//! Gives unused space back when nobody writes.
//!
//! A commit that leaves enough of the file unused starts a thread, which waits until nobody has
//! written for a while, works in steps between which others may write, and ends. While there is
//! nothing to do there is no thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dflat_engine::Result;

use crate::connection::connections::Connections;
use crate::connection::session::Session;
use crate::io::Space;
use crate::options::Reclaim;
use crate::upkeep::checkpointer::{Checkpointer, checkpoint};
use crate::upkeep::free_pages::{Rest, reclaim_step};
use crate::upkeep::worker;

/// Who gives space back, and whether that is being done.
pub(crate) struct Reclaimer {
    reclaim: Reclaim,
    checkpointer: Arc<Checkpointer>,
    /// How often the place of the writer was given back.
    writes: AtomicU64,
    /// Whether the file turned out to be unable to give back pages.
    is_unable: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_closing: bool,
    is_running: bool,
    thread: Option<JoinHandle<()>>,
}

impl Reclaimer {
    pub(crate) fn new(reclaim: Reclaim, checkpointer: Arc<Checkpointer>) -> Self {
        Self {
            reclaim,
            checkpointer,
            writes: AtomicU64::new(0),
            is_unable: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives back the place of the writer, and the connection if it can be used again. Starts the
    /// upkeep that is due after what was written.
    pub(crate) fn return_writer(
        self: &Arc<Self>,
        connections: &Arc<Connections>,
        session: Option<Session>,
    ) {
        let leftover = connections.return_writer(session);
        if let Some(log) = leftover.log {
            self.checkpointer.note_commit(connections, log);
        }
        self.note_write(connections, leftover.space);
    }

    /// Notes that someone has written, and how much of the file was unused then, if that is known.
    fn note_write(self: &Arc<Self>, connections: &Arc<Connections>, space: Option<Space>) {
        self.writes.fetch_add(1, Ordering::Relaxed);
        let due = space.is_some_and(|space| self.reclaim.is_due(space));
        if due && !self.is_unable.load(Ordering::Relaxed) {
            self.start(connections);
        }
    }

    /// Lets the file be tried again, which could not give back pages.
    pub(crate) fn set_able(&self) {
        self.is_unable.store(false, Ordering::Relaxed);
    }

    fn start(self: &Arc<Self>, connections: &Arc<Connections>) {
        let mut state = self.lock();
        if state.is_running || state.is_closing {
            return;
        }
        let (reclaimer, connections) = (Arc::clone(self), Arc::downgrade(connections));
        let thread = thread::Builder::new().name("dflat-reclaim".to_owned());
        // Without a thread the space stays unused until the next commit that leaves some.
        if let Ok(thread) = thread.spawn(move || reclaimer.run(&connections)) {
            state.is_running = true;
            state.thread = Some(thread);
        }
    }

    fn run(self: &Arc<Self>, connections: &Weak<Connections>) {
        if let Reclaim::Idle { pages, after, .. } = self.reclaim {
            while let Some(connections) = self.wait_idle(after, connections) {
                // What fails is tried again after a later commit.
                if !matches!(self.work(&connections, pages), Ok(false)) {
                    break;
                }
            }
        }
        self.lock().is_running = false;
    }

    /// Waits until nobody has written for a while; `None` if the backend is closed.
    fn wait_idle(
        &self,
        after: Duration,
        connections: &Weak<Connections>,
    ) -> Option<Arc<Connections>> {
        let mut state = self.lock();
        loop {
            let seen = self.writes.load(Ordering::Relaxed);
            let waited = self
                .changed
                .wait_timeout_while(state, after, |state| !state.is_closing);
            let timeout;
            (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if !timeout.timed_out() {
                return None;
            }
            if self.writes.load(Ordering::Relaxed) == seen {
                return connections.upgrade();
            }
        }
    }

    /// Goes step by step until enough is given back, or someone else writes; whether it is done.
    fn work(self: &Arc<Self>, connections: &Arc<Connections>, pages: u32) -> Result<bool> {
        loop {
            let seen = self.writes.load(Ordering::Relaxed);
            let give_back = |session| self.return_writer(connections, session);
            match reclaim_step(connections, pages, give_back)? {
                Rest::Space(space) if !self.reclaim.is_done(space) => {}
                Rest::Space(_) => {
                    checkpoint(connections, u64::MAX)?;
                    return Ok(true);
                }
                Rest::Unable => {
                    self.is_unable.store(true, Ordering::Relaxed);
                    return Ok(true);
                }
                Rest::Taken => return Ok(false),
            }
            // The step itself is one.
            if self.writes.load(Ordering::Relaxed) != seen + 1 || self.lock().is_closing {
                return Ok(false);
            }
        }
    }

    /// Ends what is being done, after its step, and lets nothing begin.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closing = true;
        let thread = state.thread.take();
        drop(state);
        self.changed.notify_all();
        worker::join(thread);
    }
}

impl Reclaim {
    /// Whether so much is unused that it is to be given back.
    fn is_due(self, space: Space) -> bool {
        match self {
            Self::Never => false,
            Self::Idle { pages, percent, .. } => {
                space.free_pages >= u64::from(pages) && space.free_percent() > u64::from(percent)
            }
        }
    }

    /// Whether enough was given back: half of the share may stay, for what is written next.
    fn is_done(self, space: Space) -> bool {
        match self {
            Self::Never => true,
            Self::Idle { percent, .. } => space.free_percent() <= u64::from(percent / 2),
        }
    }
}

#[cfg(test)]
mod tests;
