//! Registrations: the first state of a subscriber, and its place among the subscriptions.

use std::sync::Arc;

use dflat_model::{CommitSeq, RowId, Table};

use super::live_queries::LiveQueries;
use super::live_query::{LiveOutput, Refetch};
use super::matching::ShapedQuery;
use super::publication::{Call, Publication};
use super::registry::Registry;
use super::subscriber::{Subscriber, Target};
use super::{
    Event, LiveCount, LiveGroups, LiveResult, ObjectEvent, ResultUpdate, list_difference,
    with_margin,
};
use crate::error::Result;
use crate::fetch::{Fetched, Grouping, Groups};
use crate::object::{Object, equal};

/// The present state for a new subscriber, as of its place in the order of commits.
pub enum InitialState {
    /// For a subscriber to an object.
    Object {
        /// The state that the subscriber has.
        known: Object,
        /// The present state; absent if the object was deleted.
        latest: Option<Object>,
    },
    /// For a subscriber to an object that can't be read now, and perhaps later.
    UnreadObject {
        /// The state that the subscriber has.
        known: Object,
        /// The row id in this engine; `None` if the object is found by its primary key.
        row_id: Option<RowId>,
    },
    /// For a subscriber to a result.
    Result {
        /// The query.
        query: ShapedQuery,
        /// The state that the subscriber has.
        known: Option<Fetched>,
        /// The present result.
        latest: LatestResult,
    },
    /// For a subscriber to a count.
    Count {
        /// The query.
        query: ShapedQuery,
        /// The present number of objects that meet the query's condition.
        total: Result<(usize, CommitSeq)>,
    },
    /// For a subscriber to groups.
    Groups {
        /// The query.
        query: ShapedQuery,
        /// How the objects are grouped.
        grouping: Arc<Grouping>,
        /// The present groups of the objects that meet the query's condition.
        groups: Result<(Groups, CommitSeq)>,
    },
}

/// A query's result as of a subscriber's place in the order of commits.
pub enum LatestResult {
    /// The result that the subscriber has.
    Unchanged,
    /// A result that was fetched [with a margin](super::with_margin).
    Fetched(Result<Fetched>),
    /// The result of an equal live query, which another subscriber has.
    Shared,
}

impl Registry {
    /// Registers a subscriber, and returns its first delivery, if there is one.
    ///
    /// Registrations and [`publish`](Self::publish) must be called in the order of commits, so that
    /// each commit is delivered exactly once.
    pub fn register(
        &self,
        subscriber: &Arc<Subscriber>,
        first: InitialState,
        refetch: &dyn Refetch,
    ) -> Option<Arc<Publication>> {
        let mut state = self.lock();
        // Checked under the lock: a later cancellation removes the subscriber.
        if subscriber.is_cancelled() {
            return None;
        }
        let table = subscriber.registration.table.clone();
        let subscriptions = state.entry(table.name.to_string()).or_default();
        let live_queries = &mut subscriptions.live_queries;
        let (target, event) = match first {
            InitialState::Object { known, latest } => {
                let Some(latest) = latest else {
                    let event = Event::Object(ObjectEvent::Deleted);
                    return self.publication(subscriber, Some(event));
                };
                // The row id in this engine: the known object may be from another engine.
                let row_id = latest.row_id();
                subscriptions.objects.add(subscriber, &latest);
                let missed = !equal(&table.types, known.payload(), latest.payload());
                let event = missed.then(|| Event::Object(ObjectEvent::Updated(latest)));
                (Some(Target::Object(row_id)), event)
            }
            InitialState::UnreadObject { known, row_id } => {
                subscriptions.objects.add_unread(subscriber, &known, row_id);
                (row_id.map(Target::Object), None)
            }
            InitialState::Result {
                query,
                known,
                latest,
            } => {
                let query = live_queries.shaped(&query);
                let fetch = || refetch.fetch(&table, &with_margin(&query.query()));
                let (slot, latest) =
                    live_result(live_queries, &query, known.as_ref(), latest, fetch);
                live_queries.subscribe(slot, Arc::clone(subscriber));
                let event = first_result(&table, query, known.as_ref(), latest);
                (Some(Target::LiveQuery(slot)), event)
            }
            InitialState::Count { query, total } => {
                let query = live_queries.shaped(&query);
                let (live, event) = first_count(query, total);
                let slot = live_queries.add(live);
                live_queries.subscribe(slot, Arc::clone(subscriber));
                (Some(Target::LiveQuery(slot)), Some(event))
            }
            InitialState::Groups {
                query,
                grouping,
                groups,
            } => {
                let query = live_queries.shaped(&query);
                let (live, event) = first_groups(query, grouping, groups);
                let slot = live_queries.add(live);
                live_queries.subscribe(slot, Arc::clone(subscriber));
                (Some(Target::LiveQuery(slot)), Some(event))
            }
        };
        if let Some(target) = target {
            // The target was not set before: a subscriber is registered once.
            let _ = subscriber.registration.target.set(target);
        }
        self.publication(subscriber, event)
    }

    fn publication(
        &self,
        subscriber: &Arc<Subscriber>,
        event: Option<Event>,
    ) -> Option<Arc<Publication>> {
        let subscriber = Arc::clone(subscriber);
        let calls = event.map(|event| Call { subscriber, event });
        Publication::of(self.telemetry(), calls.into_iter().collect(), Vec::new())
    }
}

/// The slot of the live result of a query, a new one or that of an equal query, and the present
/// result.
fn live_result(
    live_queries: &mut LiveQueries,
    query: &ShapedQuery,
    known: Option<&Fetched>,
    latest: LatestResult,
    fetch: impl FnOnce() -> Result<Fetched>,
) -> (u32, Result<Fetched>) {
    // If the commits of other programs could not be read, the known result may be later than that
    // of the equal query.
    let may_be_earlier = known.is_some() && matches!(latest, LatestResult::Fetched(Err(_)));
    let shared = live_queries.shared(query).filter(|_| !may_be_earlier);
    if let Some((slot, current)) = shared {
        return (slot, Ok(current));
    }
    let (latest, margin) = match (latest, known) {
        (LatestResult::Unchanged, Some(known)) => (Ok(known.clone()), false),
        (LatestResult::Fetched(latest), _) => (latest, true),
        _ => (fetch(), true),
    };
    let known = known.map(|known| Arc::clone(&known.objects));
    let start = latest.as_ref().map_err(|_| known.unwrap_or_default());
    let live = LiveResult::new(query.clone(), start, margin);
    let latest = latest.map(|fetched| live.current().unwrap_or(fetched));
    (live_queries.add(LiveOutput::Result(live)), latest)
}

/// A new live count, and its first delivery.
fn first_count(query: ShapedQuery, total: Result<(usize, CommitSeq)>) -> (LiveOutput, Event) {
    let live = LiveCount::new(query, total.as_ref().ok().copied());
    let count = total.map(|_| live.current().unwrap_or_default());
    (LiveOutput::Count(live), Event::Count(count, 0))
}

/// New live groups, and their first delivery.
fn first_groups(
    query: ShapedQuery,
    grouping: Arc<Grouping>,
    groups: Result<(Groups, CommitSeq)>,
) -> (LiveOutput, Event) {
    let (start, error) = match groups {
        Ok(start) => (Some(start), None),
        Err(error) => (None, Some(error)),
    };
    let live = LiveGroups::new(query, grouping, start);
    let groups = error.map_or_else(|| Ok(live.current().unwrap_or_default()), Err);
    (LiveOutput::Groups(Box::new(live)), Event::Groups(groups, 0))
}

/// The first delivery to a subscriber to a result, unless the subscriber has the present result.
fn first_result(
    table: &Table,
    query: ShapedQuery,
    known: Option<&Fetched>,
    latest: Result<Fetched>,
) -> Option<Event> {
    let before = known.map_or(&[][..], |known| known.objects.as_slice());
    let first = latest.map(|fetched| ResultUpdate {
        difference: list_difference(query.interest(), table, before, &fetched.objects),
        query,
        fetched,
        commits: 0,
    });
    let is_known = |first: &ResultUpdate| known.is_some() && first.difference.is_empty();
    (!first.as_ref().is_ok_and(is_known)).then_some(Event::Result(first.map(Box::new)))
}
