//! The live queries of a table.

use std::collections::VecDeque;
use std::sync::Arc;

use dflat_model::CommitSeq;
use smallvec::SmallVec;

use super::live_query::{LiveOutput, LiveQuery, Refetch};
use super::matching::{
    Candidates, Hits, MatchBy, Matcher, ShapedQuery, Shapes, Slots, SortedRows, matching_rows,
};
use super::publication::Call;
use super::result::{Scratch, with_states_before};
use super::subscriber::Subscriber;
use crate::change_set::TableChanges;
use crate::fetch::Fetched;
use crate::object::Object;

/// Live queries by slot. Equal queries share one.
#[derive(Default)]
pub(super) struct LiveQueries {
    slots: Vec<Option<Box<LiveQuery>>>,
    free: Vec<u32>,
    /// The slots by the hash of their query.
    by_query: Slots,
    shapes: Shapes,
    matcher: Matcher,
    /// Whether at least one must be fetched again.
    failed: bool,
    scratch: Scratch,
}

impl LiveQueries {
    fn live_query(&self, slot: u32) -> Option<&LiveQuery> {
        self.slots.get(slot as usize)?.as_deref()
    }

    fn live_query_mut(&mut self, slot: u32) -> Option<&mut LiveQuery> {
        self.slots.get_mut(slot as usize)?.as_deref_mut()
    }

    /// Whether there are no live queries.
    pub(super) fn is_empty(&self) -> bool {
        self.by_query.is_empty()
    }

    /// Whether a live query with this result exists.
    pub(super) fn follows(&self, query: &ShapedQuery) -> bool {
        let query = self.shapes.known(query);
        query.is_some_and(|query| self.shared(&query).is_some())
    }

    /// The query with a shape that it shares with others of the same shape.
    pub(super) fn shaped(&mut self, query: &ShapedQuery) -> ShapedQuery {
        self.shapes.shaped(query)
    }

    /// The slot of the live query with this result, and the present result.
    pub(super) fn shared(&self, query: &ShapedQuery) -> Option<(u32, Fetched)> {
        let slots = self.by_query.get(query.hash()).iter();
        let mut current = slots.filter_map(|slot| match &self.live_query(*slot)?.live {
            LiveOutput::Result(live) if live.query().is(query) => Some((*slot, live.current()?)),
            LiveOutput::Result(_) | LiveOutput::Count(_) | LiveOutput::Groups(_) => None,
        });
        current.next()
    }

    /// Adds a live query, and returns its slot.
    pub(super) fn add(&mut self, live: LiveOutput) -> u32 {
        let hash = live.query().hash();
        let found = MatchBy::of(live.query().predicate().as_deref());
        self.failed |= live.is_failed();
        let live_query = Box::new(LiveQuery {
            live,
            subscribers: SmallVec::new(),
        });
        // More live queries than fit in 32 bits do not fit in memory.
        let next = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        let slot = self.free.pop().unwrap_or(next);
        self.matcher.insert(slot, &found);
        match self.slots.get_mut(slot as usize) {
            Some(free) => *free = Some(live_query),
            None => self.slots.push(Some(live_query)),
        }
        self.by_query.insert(hash, slot);
        slot
    }

    pub(super) fn subscribe(&mut self, slot: u32, subscriber: Arc<Subscriber>) {
        if let Some(live_query) = self.live_query_mut(slot) {
            live_query.subscribers.push(subscriber);
        }
    }

    pub(super) fn unsubscribe(&mut self, slot: u32, subscriber: &Arc<Subscriber>) {
        let Some(live_query) = self.live_query_mut(slot) else {
            return;
        };
        live_query
            .subscribers
            .retain(|other| !Arc::ptr_eq(other, subscriber));
        if !live_query.subscribers.is_empty() {
            return;
        }
        let query = live_query.live.query().clone();
        self.by_query.remove(query.hash(), slot);
        let found = MatchBy::of(query.predicate().as_deref());
        self.matcher.remove(slot, &found);
        if let Some(gone) = self.slots.get_mut(slot as usize) {
            *gone = None;
            self.free.push(slot);
        }
    }

    /// Removes all live queries and returns their subscribers.
    pub(super) fn drain(&mut self) -> Vec<Arc<Subscriber>> {
        let live_queries = std::mem::take(self).slots.into_iter().flatten();
        live_queries
            .flat_map(|live_query| live_query.subscribers)
            .collect()
    }

    /// Reads all results and counts again, and adds the calls to make.
    pub(super) fn renew(&mut self, reread: &dyn Refetch, calls: &mut VecDeque<Call>) {
        self.renew_those(|_| true, reread, calls);
    }

    /// Reads the results and counts again whose last reading has failed, and adds the calls to
    /// make.
    pub(super) fn retry(&mut self, reread: &dyn Refetch, calls: &mut VecDeque<Call>) {
        if self.failed {
            self.renew_those(LiveOutput::is_failed, reread, calls);
        }
    }

    /// Whether the last reading of a result or count may have failed.
    pub(super) const fn may_have_failed(&self) -> bool {
        self.failed
    }

    fn renew_those(
        &mut self,
        is_due: impl Fn(&LiveOutput) -> bool,
        reread: &dyn Refetch,
        calls: &mut VecDeque<Call>,
    ) {
        self.failed = false;
        let slots = self.slots.iter_mut().flatten();
        for live_query in slots.filter(|live_query| is_due(&live_query.live)) {
            let Some(subscriber) = live_query.subscribers.first() else {
                continue;
            };
            if let Some(event) = live_query
                .live
                .renew(&subscriber.registration.table, reread)
            {
                notify(&live_query.subscribers, event, calls);
            }
            self.failed |= live_query.live.is_failed();
        }
    }

    /// Applies rows that other programs have written, and adds the calls to make. A result that has
    /// all of its objects has the states before, too; other results, counts and groups are read
    /// again.
    pub(super) fn reread(
        &mut self,
        changes: &TableChanges,
        seq: CommitSeq,
        reread: &dyn Refetch,
        calls: &mut VecDeque<Call>,
    ) {
        let Self {
            slots,
            scratch,
            matcher,
            failed,
            ..
        } = self;
        for live_query in slots.iter_mut().flatten() {
            let known = match &live_query.live {
                LiveOutput::Result(live) => {
                    let objects = live.all_objects();
                    objects.map(|objects| with_states_before(changes, objects))
                }
                LiveOutput::Count(_) | LiveOutput::Groups(_) => None,
            };
            let event = match &known {
                Some(known) => {
                    let mut sorted = SortedRows::new(matcher, &known.rows);
                    let query = live_query.live.query();
                    let changed = matching_rows(query, Candidates::All, &mut sorted);
                    live_query
                        .live
                        .follow((known, seq), changed, scratch, reread)
                }
                None => live_query.live.renew(&changes.table, reread),
            };
            if let Some(event) = event {
                notify(&live_query.subscribers, event, calls);
            }
            *failed |= live_query.live.is_failed();
        }
    }

    /// Takes the lists that were replaced since the last call.
    pub(super) fn take_replaced(&mut self) -> Vec<Arc<Vec<Object>>> {
        std::mem::take(&mut self.scratch.replaced)
    }

    /// Applies a commit, and adds the calls to make.
    pub(super) fn follow(
        &mut self,
        changes: &TableChanges,
        seq: CommitSeq,
        reread: &dyn Refetch,
        calls: &mut VecDeque<Call>,
    ) {
        let rows = changes.rows.as_slice();
        let hits = if self.failed {
            Hits::Sorted
        } else {
            self.matcher.hits(rows)
        };
        let Self {
            slots,
            scratch,
            matcher,
            failed,
            ..
        } = self;
        let mut sorted = SortedRows::new(matcher, rows);
        *failed = false;
        let mut follow = |live_query: &mut LiveQuery, candidates: Candidates| {
            let changed = matching_rows(live_query.live.query(), candidates, &mut sorted);
            let live = &mut live_query.live;
            if let Some(event) = live.follow((changes, seq), changed, scratch, reread) {
                notify(&live_query.subscribers, event, calls);
            }
            *failed |= live_query.live.is_failed();
        };
        let hits = match hits {
            Hits::Of(hits) => hits,
            Hits::Each => {
                let live_queries = slots.iter_mut().flatten();
                return live_queries.for_each(|live_query| follow(live_query, Candidates::All));
            }
            Hits::Sorted => {
                let live_queries = slots.iter_mut().flatten();
                return live_queries.for_each(|live_query| follow(live_query, Candidates::Sorted));
            }
        };
        for hits in hits.chunk_by(|a, b| a.slot() == b.slot()) {
            let slot = hits
                .first()
                .and_then(|hit| slots.get_mut(hit.slot() as usize));
            if let Some(Some(live_query)) = slot {
                follow(live_query, Candidates::of(hits));
            }
        }
        for slot in matcher.unkeyed() {
            if let Some(Some(live_query)) = slots.get_mut(*slot as usize) {
                follow(live_query, Candidates::All);
            }
        }
        matcher.recycle(hits);
    }
}

/// Adds a call with the same event for each subscriber.
fn notify(subscribers: &[Arc<Subscriber>], event: super::Event, calls: &mut VecDeque<Call>) {
    let Some((last, others)) = subscribers.split_last() else {
        return;
    };
    let call = |subscriber: &Arc<Subscriber>, event| Call {
        subscriber: Arc::clone(subscriber),
        event,
    };
    calls.extend(
        others
            .iter()
            .map(|subscriber| call(subscriber, event.clone())),
    );
    calls.push_back(call(last, event));
}
