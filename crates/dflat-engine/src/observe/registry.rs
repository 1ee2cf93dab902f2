//! Who is subscribed to what.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use dflat_model::{CommitSeq, Query, RowId, Table};

use super::live_result::same_objects;
use super::{Callback, LiveResult};
use crate::callback;
use crate::change_set::{ChangeSet, TableChanges};
use crate::error::Result;
use crate::fetch::Fetched;
use crate::object::{Object, equal};
use crate::telemetry::Telemetry;

/// What happened to an observed object.
#[derive(Clone, Debug)]
pub enum ObjectEvent {
    /// It has new values.
    Updated(Object),
    /// It was deleted; nothing follows.
    Deleted,
}

/// All subscriptions of an engine.
#[derive(Default)]
pub struct Registry {
    state: Mutex<State>,
    telemetry: Arc<Telemetry>,
}

#[derive(Default)]
struct State {
    tables: HashMap<String, TableSubscriptions>,
    next_id: u64,
}

#[derive(Default)]
struct TableSubscriptions {
    /// The latest commit that changed the table.
    changed: CommitSeq,
    objects: HashMap<RowId, Vec<ObjectSubscription>>,
    results: Vec<ResultSubscription>,
}

#[derive(Clone)]
struct ObjectSubscription {
    id: u64,
    callback: Arc<Callback<ObjectEvent>>,
}

#[derive(Clone)]
struct ResultSubscription {
    id: u64,
    live: Arc<Mutex<LiveResult>>,
    callback: Arc<Callback<Result<Fetched>>>,
}

impl Registry {
    /// A registry without subscriptions.
    pub(crate) fn new(telemetry: Arc<Telemetry>) -> Self {
        Self {
            state: Mutex::default(),
            telemetry,
        }
    }

    /// Calls a callback, unless it is cancelled.
    fn deliver<E>(&self, table: &Table, callback: &Callback<E>, event: E) {
        self.telemetry
            .delivery(&table.type_name, || callback.deliver(event));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A subscription to come: its callback is called once it is registered, until it is cancelled.
    pub fn subscription<E: 'static>(
        self: &Arc<Self>,
        table: &Table,
        callback: &Arc<Callback<E>>,
    ) -> (u64, Subscription) {
        let mut state = self.lock();
        state.next_id += 1;
        let id = state.next_id;
        let callback: Arc<dyn Cancel> = Arc::clone(callback) as Arc<dyn Cancel>;
        let registry = Arc::downgrade(self);
        let table = table.name.to_string();
        (
            id,
            Subscription {
                id,
                table,
                callback,
                registry,
            },
        )
    }

    /// Registers a subscription to an object, telling it first what it missed. The caller has the
    /// table's turn; `latest` is the object's state now.
    pub fn add_object(
        &self,
        id: u64,
        table: &Table,
        known: &Object,
        latest: Option<Object>,
        callback: &Arc<Callback<ObjectEvent>>,
    ) {
        let Some(latest) = latest else {
            self.deliver(table, callback, ObjectEvent::Deleted);
            return;
        };
        // The object's row here: that of one which another engine read says nothing.
        let row_id = latest.row_id();
        if !equal(&table.types, known.payload(), latest.payload()) {
            self.deliver(table, callback, ObjectEvent::Updated(latest));
        }
        let mut state = self.lock();
        // Checked under the lock: a cancellation takes it out afterwards, or was seen here.
        if !callback.is_cancelled() {
            let subscriptions = state.tables.entry(table.name.to_string()).or_default();
            let subscribers = subscriptions.objects.entry(row_id).or_default();
            subscribers.push(ObjectSubscription {
                id,
                callback: Arc::clone(callback),
            });
        }
    }

    /// Registers a subscription to a query's result. The caller has the table's turn; `latest` is
    /// the result now, and `known` what the subscriber has, if it has one. A result that can't be
    /// fetched now is told as an error, and fetched again at the next commit.
    pub fn add_result(
        &self,
        id: u64,
        (table, query): (&Table, &Query),
        known: Option<&Fetched>,
        latest: Result<Fetched>,
        callback: &Arc<Callback<Result<Fetched>>>,
    ) {
        let start = latest.as_ref().ok();
        let live = LiveResult::new(table.clone(), query.clone(), start);
        let told = match (known, start) {
            (Some(known), Some(latest)) => same_objects(table, &known.objects, &latest.objects),
            _ => false,
        };
        if !told {
            self.deliver(table, callback, latest);
        }
        let mut state = self.lock();
        if !callback.is_cancelled() {
            let subscriptions = state.tables.entry(table.name.to_string()).or_default();
            let live = Arc::new(Mutex::new(live));
            let callback = Arc::clone(callback);
            subscriptions
                .results
                .push(ResultSubscription { id, live, callback });
        }
    }

    /// The latest commit that changed a table.
    #[must_use]
    pub fn changed(&self, table: &Table) -> CommitSeq {
        self.lock()
            .tables
            .get(table.name.as_ref())
            .map_or(CommitSeq(0), |table| table.changed)
    }

    /// Tells every subscriber what a commit changed for it: objects first, then results. The caller
    /// has the turn of the tables changed.
    pub fn publish(
        &self,
        changes: &ChangeSet,
        refetch: impl Fn(&Table, &Query) -> Result<Fetched>,
    ) {
        for table in &changes.tables {
            self.publish_objects(table, changes.seq);
        }
        for table in &changes.tables {
            self.publish_results(table, changes.seq, &refetch);
        }
    }

    fn publish_objects(&self, changes: &TableChanges, seq: CommitSeq) {
        let mut deliveries = Vec::new();
        let mut state = self.lock();
        let subscriptions = state
            .tables
            .entry(changes.table.name.to_string())
            .or_default();
        subscriptions.changed = seq;
        if subscriptions.objects.is_empty() {
            return;
        }
        for (row_id, row) in &changes.rows {
            let subscribers = match &row.after {
                Some(_) => subscriptions.objects.get(row_id).cloned(),
                // Nothing follows a deletion.
                None => subscriptions.objects.remove(row_id),
            };
            deliveries.extend(
                subscribers
                    .into_iter()
                    .flatten()
                    .map(|subscriber| (subscriber.callback, row)),
            );
        }
        drop(state);
        for (callback, row) in deliveries {
            let visible = match (&row.before, &row.after) {
                (Some(before), Some(after)) => {
                    !equal(&changes.table.types, before.payload(), after.payload())
                }
                _ => true,
            };
            if visible {
                let event = row
                    .after
                    .clone()
                    .map_or(ObjectEvent::Deleted, ObjectEvent::Updated);
                self.deliver(&changes.table, &callback, event);
            }
        }
    }

    fn publish_results(
        &self,
        changes: &TableChanges,
        seq: CommitSeq,
        refetch: &impl Fn(&Table, &Query) -> Result<Fetched>,
    ) {
        let results = {
            let state = self.lock();
            state
                .tables
                .get(changes.table.name.as_ref())
                .map(|table| table.results.clone())
        };
        for ResultSubscription { live, callback, .. } in results.into_iter().flatten() {
            if callback.is_cancelled() {
                continue;
            }
            let mut live = live.lock().unwrap_or_else(PoisonError::into_inner);
            let delivery = live.apply(changes, seq, refetch);
            drop(live);
            if let Some(delivery) = delivery.transpose() {
                self.deliver(&changes.table, &callback, delivery);
            }
        }
    }

    /// Ends all subscriptions and drops their callbacks, so that streams end, too.
    pub fn close(&self) {
        let tables = std::mem::take(&mut self.lock().tables);
        for table in tables.into_values() {
            for subscription in table.objects.into_values().flatten() {
                subscription.callback.cancel(false);
            }
            for subscription in table.results {
                subscription.callback.cancel(false);
            }
        }
    }

    fn remove(&self, table: &str, id: u64) {
        let mut state = self.lock();
        let Some(subscriptions) = state.tables.get_mut(table) else {
            return;
        };
        subscriptions.results.retain(|result| result.id != id);
        subscriptions.objects.retain(|_, subscribers| {
            subscribers.retain(|subscriber| subscriber.id != id);
            !subscribers.is_empty()
        });
    }
}

/// A callback whose events' type does not matter.
trait Cancel: Send + Sync {
    fn cancel(&self, wait: bool);
}

impl<E> Cancel for Callback<E> {
    fn cancel(&self, wait: bool) {
        Self::cancel(self, wait);
    }
}

/// A subscription; dropping it cancels it.
#[must_use = "a subscription ends when it is dropped"]
pub struct Subscription {
    id: u64,
    table: String,
    callback: Arc<dyn Cancel>,
    registry: Weak<Registry>,
}

impl Subscription {
    /// Ends the subscription. When this returns, no call of its callback is running and none
    /// follows; inside a handler or a callback it does not wait, and one that is running may still
    /// end.
    pub fn cancel(&self) {
        self.end(!callback::is_running());
    }

    /// What ends it from elsewhere.
    #[must_use]
    pub fn to_end(&self) -> SubscriptionEnd {
        SubscriptionEnd {
            id: self.id,
            table: self.table.clone(),
            callback: Arc::downgrade(&self.callback),
            registry: Weak::clone(&self.registry),
        }
    }

    fn end(&self, wait: bool) {
        self.callback.cancel(wait);
        if let Some(registry) = self.registry.upgrade() {
            registry.remove(&self.table, self.id);
        }
    }
}

/// Ends a subscription from elsewhere, if it is still there.
pub struct SubscriptionEnd {
    id: u64,
    table: String,
    callback: Weak<dyn Cancel>,
    registry: Weak<Registry>,
}

impl SubscriptionEnd {
    /// Ends the subscription, without waiting for a call of its callback.
    pub fn end(self) {
        if let Some(callback) = self.callback.upgrade() {
            callback.cancel(false);
        }
        if let Some(registry) = self.registry.upgrade() {
            registry.remove(&self.table, self.id);
        }
    }

    /// Whether there is nothing to end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.callback.strong_count() == 0
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.end(false);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subscription({} of {})", self.id, self.table)
    }
}
