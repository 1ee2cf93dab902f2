//! Subscribing: a registration takes its turn on the table like a transaction.

use std::sync::Arc;

use dflat_model::Table;

use super::read::Reader;
use super::{Engine, Inner, WeakEngine};
use crate::delivery::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{self, Fetched, Grouping};
use crate::object::Object;
use crate::observe::{
    DeliveryOptions, Event, InitialState, LatestResult, Refetch, ShapedQuery, Subscriber,
    Subscription, unlimited, with_margin,
};
use crate::storage::{Looked, StateId, View};

/// The subject of a subscription.
pub enum Subject {
    /// An object.
    Object(Object),
    /// The result of a query.
    Result {
        /// The query.
        query: ShapedQuery,
        /// The result that the subscriber has fetched already. The subscriber is notified if this
        /// result is out of date; without a result, it is notified of the result first.
        known: Option<Fetched>,
    },
    /// The number of a query's objects.
    Count(ShapedQuery),
    /// The groups of a query's objects.
    Groups(ShapedQuery, Arc<Grouping>),
}

impl Engine {
    /// Subscribes. The subscriber is notified of transactions performed after this call. It is not
    /// notified of transactions performed before this call, unless its known state is older than
    /// their changes. If the first state can't be read, the subscriber gets the error, and the
    /// state once that can be read; a subscriber to an object gets only the state.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`] after shutdown;
    /// [`ErrorKind::InvalidArgument`] for a query that can't be
    /// run, and for an object of another table.
    pub fn observe(
        &self,
        table: &Table,
        subject: Subject,
        delivery_options: DeliveryOptions,
        function: Box<dyn FnMut(Event) + Send>,
    ) -> Result<Subscription> {
        if let Subject::Object(known) = &subject {
            fetch::check_table("subscribe to", table, known)?;
        }
        if let Subject::Result { query, .. } | Subject::Count(query) = &subject {
            fetch::check(table, &query.query())?;
        }
        if let Subject::Groups(query, _) = &subject {
            fetch::check_groups(table, &query.query())?;
        }
        let registry = &self.inner.registry;
        let subscription = registry.subscription(table, delivery_options, function);
        let subscriber = subscription.subscriber();
        let (engine, table) = (self.clone(), table.clone());
        let operation = format_args!("subscribe to {}", subscription.type_name());
        let requests = self.while_open(operation, || {
            self.client.hold_subscription(&subscription);
            let register = Box::new({
                let table = table.clone();
                move || engine.register(&table, &subject, &subscriber)
            });
            let queued = self
                .inner
                .scheduler
                .enqueue([table.name.as_ref()], register);
            queued.map_err(|refused| refused.error.context(format_args!("cannot {operation}")))
        })?;
        drop(requests);
        Ok(subscription)
    }

    /// Checks whether another program has committed, without this engine, since the last call of
    /// this method or the first subscription. If so, or if that can't be determined, subscribers
    /// are notified of the changes. It does not wait for these notifications, nor for a transaction
    /// that writes; it may wait for a commit of this engine that is under way.
    /// Snapshots that are too old are handled as after a commit.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`] after shutdown; otherwise the errors of
    /// reading.
    pub fn refresh(&self) -> Result<()> {
        let operation = format_args!("look for commits of other programs");
        self.while_open(operation, || self.inner.look(true).map(drop))
    }

    /// Lets the backend report commits of other processes from now on.
    pub(super) fn follow(&self) {
        self.inner.follow.call_once(|| {
            let engine = self.downgrade();
            let backend = &self.inner.reader.backend;
            backend.follow(Arc::new(move || engine.look()));
        });
    }

    /// Registers in the table's turn: the state that is read now contains all earlier commits, and
    /// later commits are delivered later.
    fn register(&self, table: &Table, subject: &Subject, subscriber: &Arc<Subscriber>) {
        if subscriber.is_cancelled() {
            return;
        }
        /// How often the first state is read again because other programs commit meanwhile.
        const TRIES: usize = 16;
        let Inner {
            groups,
            deliveries,
            reader,
            ..
        } = &*self.inner;
        groups.flush(table);
        // Order: before anything is read, so that a commit of another program that is queued from
        // now on has the rows of the table.
        reader.follower.note_observed(table);
        let expected = deliveries.expect_registration();
        for tries in 1.. {
            let (renewals, first) = self.numbered_state(table, subject);
            let first = match first.or_else(|error| self.unread_state(subject, error)) {
                Ok(first) => first,
                Err(error) => return subscriber.fail(error),
            };
            let (registry, reader) = (Arc::clone(&self.inner.registry), reader.clone());
            let subscriber = Arc::clone(subscriber);
            let register = Box::new(move || {
                let publication = registry.register(&subscriber, first, &reader)?;
                Some(publication as Arc<dyn Calls>)
            });
            if tries == TRIES {
                deliveries.register(register, renewals);
                break;
            }
            if deliveries.try_register(register, renewals).is_ok() {
                break;
            }
        }
        drop(expected);
        deliveries.hand_over();
    }

    /// How often commits of other programs were noticed before the first state was read, and that
    /// state.
    fn numbered_state(&self, table: &Table, subject: &Subject) -> (u64, Result<InitialState>) {
        // Order: before the state is read that commits of other processes follow.
        self.follow();
        let numbered = self.number_commits(subject);
        let renewals = self.inner.deliveries.renewals();
        let first = numbered.and_then(|()| self.initial_state(table, subject));
        (renewals, first)
    }

    /// Numbers the commits of other programs, as far as the first state needs it.
    fn number_commits(&self, subject: &Subject) -> Result<()> {
        let reader = &self.inner.reader;
        reader.stand().inspect_err(|_| {
            // The subscriber stays nevertheless. From an unknown state on, the next look has
            // everything read again, so that no commit of another program is missed.
            reader.follower.stand(StateId::UNKNOWN);
        })?;
        match subject {
            // Order: the commits of other programs have numbers before a known state is compared
            // with the latest change.
            Subject::Object(_) | Subject::Result { known: Some(_), .. } => {
                let mut snapshot = reader.snapshot(View::Pinned)?;
                reader.follower.pin(snapshot.as_mut())?;
            }
            Subject::Result { known: None, .. } | Subject::Count(_) | Subject::Groups(..) => {
                reader.follower.wait();
            }
        }
        Ok(())
    }

    /// The state of a subscriber whose first state could not be read: it is read again later, as
    /// one that could be read at first.
    ///
    /// # Errors
    /// The error, if the subscription ends with it.
    fn unread_state(&self, subject: &Subject, error: Error) -> Result<InitialState> {
        if error.kind() == ErrorKind::ShutDown {
            return Err(error);
        }
        Ok(match subject {
            Subject::Object(known) if error.may_pass() => {
                let is_own = known.origin().engine == self.inner.reader.engine;
                InitialState::UnreadObject {
                    known: known.clone(),
                    row_id: is_own.then(|| known.row_id()),
                }
            }
            Subject::Object(_) => return Err(error),
            Subject::Result { query, known } => InitialState::Result {
                query: query.clone(),
                known: known.clone(),
                latest: LatestResult::Fetched(Err(error)),
            },
            Subject::Count(query) => InitialState::Count {
                query: query.clone(),
                total: Err(error),
            },
            Subject::Groups(query, grouping) => InitialState::Groups {
                query: query.clone(),
                grouping: Arc::clone(grouping),
                groups: Err(error),
            },
        })
    }

    /// The state that the subscriber has, and the latest state.
    fn initial_state(&self, table: &Table, subject: &Subject) -> Result<InitialState> {
        let reader = &self.inner.reader;
        let changed = self.inner.deliveries.changed(table);
        Ok(match subject {
            Subject::Object(known) => {
                let origin = known.origin();
                let is_own = origin.engine == reader.engine;
                let latest = if is_own && origin.seq.0 > 0 && origin.seq >= changed {
                    Some(known.clone())
                } else {
                    find(reader, table, known)?
                };
                let known = known.clone();
                InitialState::Object { known, latest }
            }
            Subject::Result { query, known } => {
                let is_current =
                    |k: &&Fetched| k.engine == reader.engine && k.seq.0 > 0 && k.seq >= changed;
                let latest = match known.as_ref().filter(is_current) {
                    Some(_) => LatestResult::Unchanged,
                    None if self.inner.registry.follows(table, query) => LatestResult::Shared,
                    None => {
                        LatestResult::Fetched(reader.fetch(table, &with_margin(&query.query())))
                    }
                };
                InitialState::Result {
                    query: query.clone(),
                    known: known.clone(),
                    latest,
                }
            }
            Subject::Count(query) => {
                let total = reader.count(table, &unlimited(&query.query()));
                let query = query.clone();
                InitialState::Count { query, total }
            }
            Subject::Groups(query, grouping) => InitialState::Groups {
                query: query.clone(),
                grouping: Arc::clone(grouping),
                groups: reader.groups(table, &query.query(), grouping),
            },
        })
    }
}

impl WeakEngine {
    /// Looks for commits of other processes. After the engine has ended, nothing is new. An error
    /// of reading is returned by the next read.
    fn look(&self) -> Looked {
        match self.open().map(|inner| inner.look(false)) {
            Some(Ok(true)) => Looked::New,
            Some(Ok(false)) | None => Looked::Known,
            Some(Err(_)) => Looked::Failed,
        }
    }
}

impl Inner {
    /// Delivers commits of other processes, and returns whether there was one since the last call.
    /// Before the first subscription and the first call, this is not known; `or_unknown` is taken
    /// for the answer then.
    fn look(&self, or_unknown: bool) -> Result<bool> {
        self.snapshots.look(&self.telemetry);
        let reader = &self.reader;
        if !or_unknown && !reader.follower.stands() {
            return Ok(false);
        }
        let mut snapshot = reader.snapshot(View::Pinned)?;
        let has_news = reader.follower.refresh(snapshot.as_mut())?;
        let may_have_unread = self.registry.may_have_unread();
        if may_have_unread {
            // The cause may be over, such as a lack of file descriptors.
            let (registry, reader) = (Arc::clone(&self.registry), reader.clone());
            self.deliveries.add_work(Box::new(move || {
                let publication = registry.retry(&reader)?;
                Some(publication as Arc<dyn Calls>)
            }));
        }
        if has_news || may_have_unread {
            self.deliveries.hand_over();
        }
        Ok(has_news)
    }
}

/// The latest state of an object, found by its row id, or by its primary key if the object is of
/// another engine.
fn find(reader: &Reader, table: &Table, known: &Object) -> Result<Option<Object>> {
    if known.origin().engine != reader.engine {
        return reader.get(table, &fetch::key_of(table, known)?);
    }
    // As of a known commit, so that no later delivery has an earlier state.
    let (objects, _) = reader.objects(table, &[known.row_id()])?;
    objects.into_iter().next().unwrap_or(Ok(None))
}
