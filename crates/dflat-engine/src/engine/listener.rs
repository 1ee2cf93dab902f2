//! Code of the library that keeps values of the file in memory, and learns of the commits of other
//! processes by a call among the deliveries.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use dflat_model::Table;

use super::{Engine, WeakEngine};
use crate::change_set::ChangedKeys;
use crate::delivery::Calls;
use crate::error::Result;

/// Called after commits of other processes, with a handle to read with, and with the changed keys.
type Call = Arc<dyn Fn(&Engine, &ChangedKeys) + Send + Sync>;

/// The listener of an engine, if there is one.
#[derive(Default)]
pub(super) struct Listener(OnceLock<(Table, WeakEngine, Call)>);

impl Listener {
    /// Whether the engine has a listener.
    pub(super) fn is_set(&self) -> bool {
        self.0.get().is_some()
    }

    /// Whether it is to be called after changes to the table of a name.
    pub(super) fn is_of(&self, name: &str) -> bool {
        self.0.get().is_some_and(|(table, ..)| table.name == name)
    }

    /// The calls after commits of other processes: that of the listener, then others.
    pub(super) fn calls(
        &self,
        changed: ChangedKeys,
        others: Option<Arc<dyn Calls>>,
    ) -> Option<Arc<dyn Calls>> {
        let Some((_, engine, call)) = self.0.get() else {
            return others;
        };
        let (engine, call) = (engine.clone(), Arc::clone(call));
        let first = move || {
            // A handle to read with, which is no client: the engine does not wait for its end.
            if let Some(inner) = engine.open() {
                let client = Arc::default();
                call(&Engine { inner, client }, &changed);
            }
        };
        Some(Arc::new(ListenerCalls {
            first: Mutex::new(Some(Box::new(first))),
            begun: AtomicU64::new(0),
            others,
        }))
    }
}

impl Engine {
    /// Calls `listener` after commits of other processes that may have changed a table, with the
    /// keys that may have changed, among the deliveries and in the order of commits. An engine has
    /// one listener; only the first call sets it.
    ///
    /// # Errors
    /// The errors of reading.
    pub(crate) fn listen(
        &self,
        table: &Table,
        listener: impl Fn(&Self, &ChangedKeys) + Send + Sync + 'static,
    ) -> Result<()> {
        // A forked child has no thread that follows.
        if self.is_of_parent() {
            return Ok(());
        }
        let listening = || (table.clone(), self.downgrade(), Arc::new(listener) as Call);
        self.inner.listener.0.get_or_init(listening);
        self.follow();
        self.inner.reader.stand()
    }

    /// How often commits of other processes were noticed.
    pub(crate) fn renewals(&self) -> u64 {
        self.inner.deliveries.renewals()
    }
}

/// The call of a listener, and the calls after it.
struct ListenerCalls {
    first: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    begun: AtomicU64,
    others: Option<Arc<dyn Calls>>,
}

impl Calls for ListenerCalls {
    fn make_next(&self, turn: u64) -> bool {
        let taken = self
            .first
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(first) = taken {
            self.begun.fetch_add(1, Ordering::Relaxed);
            first();
            return true;
        }
        let others = self.others.as_ref();
        others.is_some_and(|others| others.make_next(turn))
    }

    fn progress(&self) -> u64 {
        let others = self.others.as_ref().map_or(0, |others| others.progress());
        self.begun.load(Ordering::Relaxed) + others
    }

    fn give_up(&self, quick: Duration) -> u64 {
        self.others
            .as_ref()
            .map_or(1, |others| others.give_up(quick))
    }
}
