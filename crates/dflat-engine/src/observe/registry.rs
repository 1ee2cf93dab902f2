//! All subscriptions of an engine, by table.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use dflat_model::{CommitSeq, Table};
use smallvec::SmallVec;

use super::Event;
use super::live_queries::LiveQueries;
use super::live_query::Refetch;
use super::matching::ShapedQuery;
use super::notification::Executor;
use super::object_subscriptions::{FailedSubscribers, ObjectSubscriptions};
use super::publication::{Call, Publication};
use super::subscriber::{Forget, Registration, Subscriber, Target};
use super::subscription::Subscription;
use crate::change_set::{ChangeSet, TableChanges};
use crate::telemetry::{TARGET, Telemetry};

/// All subscriptions of an engine.
pub struct Registry {
    state: Mutex<Subscriptions>,
    /// Subscribers that ended while the subscriptions were in use.
    gone: Mutex<Vec<Arc<Subscriber>>>,
    telemetry: Arc<Telemetry>,
}

pub(super) type Subscriptions = HashMap<String, TableSubscriptions>;

/// The subscriptions to one table.
#[derive(Default)]
pub(super) struct TableSubscriptions {
    pub(super) objects: ObjectSubscriptions,
    pub(super) live_queries: LiveQueries,
}

impl TableSubscriptions {
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.live_queries.is_empty()
    }

    /// Reads all objects again, and adds the calls to make. Returns the subscribers whose objects
    /// can't be read, with the errors.
    pub(super) fn renew_objects(
        &mut self,
        refetch: &dyn Refetch,
        calls: &mut VecDeque<Call>,
    ) -> FailedSubscribers {
        let table = self.objects.table();
        let renewed = table.map(|table| self.objects.renew(&table, refetch, calls));
        renewed.unwrap_or_default()
    }

    /// Applies a commit to the objects, reads those again that could not be read before, and adds
    /// the calls to make. Returns as [`renew_objects`](Self::renew_objects).
    pub(super) fn follow_objects(
        &mut self,
        (changes, seq): (&TableChanges, CommitSeq),
        refetch: &dyn Refetch,
        calls: &mut VecDeque<Call>,
    ) -> FailedSubscribers {
        self.objects.follow(changes, seq, calls);
        self.objects.retry(&changes.table, refetch, calls)
    }

    /// Reads the objects again that could not be read before, and adds the calls to make. Returns
    /// as [`renew_objects`](Self::renew_objects).
    pub(super) fn retry_objects(
        &mut self,
        refetch: &dyn Refetch,
        calls: &mut VecDeque<Call>,
    ) -> FailedSubscribers {
        let table = self.objects.table();
        let read = table.map(|table| self.objects.retry(&table, refetch, calls));
        read.unwrap_or_default()
    }

    fn may_have_unread(&self) -> bool {
        self.objects.have_unread() || self.live_queries.may_have_failed()
    }
}

/// Ends subscriptions with errors. The registry must not be locked, because the callbacks are
/// dropped as well, and with them values of the user.
pub(super) fn fail(failed: FailedSubscribers) {
    for (subscriber, error) in failed {
        subscriber.fail(error);
    }
}

/// The options of a subscription's deliveries.
#[derive(Clone, Default)]
pub struct DeliveryOptions {
    /// Runs the calls of the callback. Without an executor, the delivering thread makes them, one
    /// subscriber after the other.
    pub executor: Option<Arc<Executor>>,
    /// The largest number of deliveries that wait for the callback.
    pub capacity: usize,
}

impl Registry {
    /// A registry without subscriptions.
    pub(crate) fn new(telemetry: Arc<Telemetry>) -> Self {
        Self {
            state: Mutex::default(),
            gone: Mutex::default(),
            telemetry,
        }
    }

    pub(super) fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }

    /// Locks the subscriptions, and removes those that have ended. No user code runs under this
    /// lock.
    pub(super) fn lock(&self) -> MutexGuard<'_, Subscriptions> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = std::mem::take(&mut *self.gone.lock().unwrap_or_else(PoisonError::into_inner));
        for subscriber in gone {
            remove(&mut state, &subscriber);
        }
        state
    }

    /// A subscription that is not registered yet. Its callback is called from its registration
    /// until it is cancelled.
    pub fn subscription(
        self: &Arc<Self>,
        table: &Table,
        delivery_options: DeliveryOptions,
        function: Box<dyn FnMut(Event) + Send>,
    ) -> Subscription {
        let DeliveryOptions { executor, capacity } = delivery_options;
        let registration = Registration {
            table: table.clone(),
            registry: Arc::<Self>::downgrade(self),
            target: OnceLock::new(),
        };
        let subscriber = Subscriber::new(executor, capacity, function, registration);
        Subscription(Arc::new(subscriber))
    }

    /// Whether an equal live query exists, so that the result need not be fetched.
    #[must_use]
    pub fn follows(&self, table: &Table, query: &ShapedQuery) -> bool {
        let state = self.lock();
        let table = state.get(table.name.as_ref());
        table.is_some_and(|table| table.live_queries.follows(query))
    }

    /// Whether subscribers may keep objects of a table. It never waits: while another thread uses
    /// the subscriptions, the result is true.
    #[must_use]
    pub fn is_observed(&self, table: &Table) -> bool {
        let state = self.state.try_lock();
        state.map_or(true, |state| has_subscribers(&state, table))
    }

    /// Whether there may be objects or results that could not be read. It never waits: while
    /// another thread uses the subscriptions, the result is true.
    #[must_use]
    pub fn may_have_unread(&self) -> bool {
        let state = self.state.try_lock();
        state.map_or(true, |state| state.values().any(|t| t.may_have_unread()))
    }

    /// The deliveries of a commit: of objects first, then of results.
    pub fn publish(&self, changes: &ChangeSet, refetch: &dyn Refetch) -> Option<Arc<Publication>> {
        let mut state = self.lock();
        if state.is_empty() {
            return None;
        }
        let (mut calls, mut replaced) = (VecDeque::new(), Vec::new());
        let mut failed = Vec::new();
        let tables = changes.tables.iter();
        let changed: SmallVec<[_; 1]> = tables.map(complete(&state, changes)).collect();
        for (name, table) in &changed {
            let Some(subscriptions) = state.get_mut(*name) else {
                continue;
            };
            match table {
                Some(table) => {
                    let commit = (table.as_ref(), changes.seq);
                    failed.extend(subscriptions.follow_objects(commit, refetch, &mut calls));
                }
                None => failed.extend(subscriptions.renew_objects(refetch, &mut calls)),
            }
        }
        for (name, table) in &changed {
            let Some(subscriptions) = state.get_mut(*name) else {
                continue;
            };
            let live_queries = &mut subscriptions.live_queries;
            match table {
                Some(table) => {
                    live_queries.follow(table, changes.seq, refetch, &mut calls);
                    replaced.append(&mut live_queries.take_replaced());
                }
                None => live_queries.renew(refetch, &mut calls),
            }
        }
        drop(state);
        fail(failed);
        Publication::of(&self.telemetry, calls, replaced)
    }

    /// Ends all subscriptions and drops their callbacks, so that streams end as well.
    pub fn close(&self) {
        let tables = std::mem::take(&mut *self.lock());
        for mut table in tables.into_values() {
            let live_queries = table.live_queries.drain();
            for subscriber in table.objects.drain().chain(live_queries) {
                subscriber.cancel(false);
            }
        }
    }
}

impl Forget for Registry {
    fn forget(&self, subscriber: &Arc<Subscriber>) {
        match self.state.try_lock() {
            Ok(mut state) => remove(&mut state, subscriber),
            // It is removed when the subscriptions are locked next; this thread does not wait.
            Err(_) => {
                let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
                gone.push(Arc::clone(subscriber));
            }
        }
    }
}

/// Whether a table has subscribers.
fn has_subscribers(state: &Subscriptions, table: &Table) -> bool {
    let subscriptions = state.get(table.name.as_ref());
    subscriptions.is_some_and(|subscriptions| !subscriptions.is_empty())
}

/// The name of a changed table, and its changes, with every row in the list and objects that can be
/// kept alone; `None` if its rows cannot be read, so that its subscriptions are read again.
/// Nothing is read or copied for a table without subscribers.
fn complete<'c>(
    state: &Subscriptions,
    set: &'c ChangeSet,
) -> impl Fn(&'c TableChanges) -> (&'c str, Option<Cow<'c, TableChanges>>) {
    |changes| {
        let name = changes.table.name.as_ref();
        if !has_subscribers(state, &changes.table) {
            return (name, Some(Cow::Borrowed(changes)));
        }
        let listed = match changes.inserted {
            Some(_) => set.listed(changes).map(Cow::Owned),
            None => Ok(Cow::Borrowed(changes)),
        };
        let listed = listed.inspect_err(|error| {
            tracing::warn!(target: TARGET, %error, "inserted rows cannot be read");
        });
        let detached = |listed: Cow<'c, TableChanges>| match listed.is_attached {
            true => Cow::Owned(listed.detached()),
            false => listed,
        };
        (name, listed.ok().map(detached))
    }
}

fn remove(state: &mut Subscriptions, subscriber: &Arc<Subscriber>) {
    let Some(subscriptions) = state.get_mut(subscriber.registration.table.name.as_ref()) else {
        return;
    };
    match subscriber.registration.target.get() {
        Some(Target::Object(row_id)) => subscriptions.objects.remove(*row_id, subscriber),
        Some(Target::LiveQuery(slot)) => subscriptions.live_queries.unsubscribe(*slot, subscriber),
        None => subscriptions.objects.remove_unplaced(subscriber),
    }
}
