//! The live queries of a table.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, DefaultHasher, Hasher};
use std::sync::Arc;

use dflat_model::{CommitSeq, Query};

use super::Interest;
use super::follower::{Follower, Live, Reread};
use super::matcher::{Found, Hits, Matcher, Sorted, touched};
use super::merge::{Scratch, Touched};
use super::publication::Call;
use super::registry::Subscriber;
use crate::change_set::TableChanges;
use crate::fetch::Fetched;

/// Live queries by slot. Those that are the same are one.
#[derive(Default)]
pub(super) struct Followers {
    slots: Vec<Option<Box<Follower>>>,
    free: Vec<usize>,
    /// The slots by a hash of their query.
    by_query: HashMap<u64, Vec<usize>>,
    matcher: Matcher,
    /// One of them at least has to be fetched again.
    failed: bool,
    scratch: Scratch,
}

/// A hash of what a query asks.
fn hash(query: &Query) -> u64 {
    struct Written(DefaultHasher);
    impl std::fmt::Write for Written {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut written =
        Written(std::hash::BuildHasherDefault::<DefaultHasher>::default().build_hasher());
    // A hash can't fail to be written to.
    let _ = std::fmt::write(&mut written, format_args!("{query}"));
    written.0.finish()
}

impl Followers {
    /// The slot of a query, if it is followed; without an interest, of its count.
    pub(super) fn find(&self, query: &Query, interest: Option<&Interest>) -> Option<usize> {
        let slots = self.by_query.get(&hash(query))?;
        let is_it = |slot: &usize| {
            let follower = self.slots.get(*slot).and_then(Option::as_ref);
            follower.is_some_and(|f| f.live.is(query, interest) && !f.live.is_failed())
        };
        slots.iter().copied().find(is_it)
    }

    /// The slot of a result that is followed, and what it is.
    pub(super) fn shared(&self, query: &Query, interest: &Interest) -> Option<(usize, Fetched)> {
        let slot = self.find(query, Some(interest))?;
        match &self.slots.get(slot)?.as_ref()?.live {
            Live::Result(live) => Some((slot, live.current()?)),
            Live::Count(_) => None,
        }
    }

    /// Follows a query from now on; its slot.
    pub(super) fn add(&mut self, live: Live) -> usize {
        let hash = hash(live.query());
        let found = Found::of(live.query());
        self.failed |= live.is_failed();
        let follower = Box::new(Follower {
            live,
            subscribers: Vec::with_capacity(1),
        });
        let slot = self.free.pop().unwrap_or(self.slots.len());
        self.matcher.insert(slot as u32, &found);
        match self.slots.get_mut(slot) {
            Some(free) => *free = Some(follower),
            None => self.slots.push(Some(follower)),
        }
        self.by_query.entry(hash).or_default().push(slot);
        slot
    }

    pub(super) fn subscribe(&mut self, slot: usize, subscriber: Arc<Subscriber>) {
        if let Some(Some(follower)) = self.slots.get_mut(slot) {
            follower.subscribers.push(subscriber);
        }
    }

    pub(super) fn unsubscribe(&mut self, slot: usize, subscriber: &Arc<Subscriber>) {
        let Some(Some(follower)) = self.slots.get_mut(slot) else {
            return;
        };
        follower
            .subscribers
            .retain(|other| !Arc::ptr_eq(other, subscriber));
        if !follower.subscribers.is_empty() {
            return;
        }
        let hash = hash(follower.live.query());
        if let Some(slots) = self.by_query.get_mut(&hash) {
            slots.retain(|other| *other != slot);
            if slots.is_empty() {
                self.by_query.remove(&hash);
            }
        }
        self.matcher
            .remove(slot as u32, &Found::of(follower.live.query()));
        if let Some(gone) = self.slots.get_mut(slot) {
            *gone = None;
            self.free.push(slot);
        }
    }

    /// All subscribers, which are taken out.
    pub(super) fn drain(&mut self) -> Vec<Arc<Subscriber>> {
        let followers = std::mem::take(self).slots.into_iter().flatten();
        followers
            .flat_map(|follower| follower.subscribers)
            .collect()
    }

    /// Reads all of them again.
    pub(super) fn renew(&mut self, reread: &dyn Reread, calls: &mut VecDeque<Call>) {
        for follower in self.slots.iter_mut().flatten() {
            let Some(subscriber) = follower.subscribers.first() else {
                continue;
            };
            if let Some(event) = follower.live.renew(&subscriber.table, reread) {
                tell(&follower.subscribers, event, calls);
            }
            self.failed |= follower.live.is_failed();
        }
    }

    /// Follows a commit.
    pub(super) fn follow(
        &mut self,
        changes: &TableChanges,
        seq: CommitSeq,
        reread: &dyn Reread,
        calls: &mut VecDeque<Call>,
    ) {
        let rows = changes.rows.as_slice();
        let hits = if self.failed {
            Hits::Any
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
        let mut sorted = Sorted::new(matcher, rows);
        *failed = false;
        let mut follow = |follower: &mut Follower, known: Option<Touched>| {
            let touched = touched(follower.live.query(), known, &mut sorted);
            let changed = (&changes.table, rows, seq);
            if let Some(event) = follower.live.follow(changed, touched, scratch, reread) {
                tell(&follower.subscribers, event, calls);
            }
            *failed |= follower.live.is_failed();
        };
        let Hits::Of(hits) = hits else {
            slots
                .iter_mut()
                .flatten()
                .for_each(|follower| follow(follower, None));
            return;
        };
        for hits in hits.chunk_by(|(a, ..), (b, ..)| a == b) {
            let slot = hits
                .first()
                .and_then(|(slot, ..)| slots.get_mut(*slot as usize));
            let Some(Some(follower)) = slot else { continue };
            let mut known = Touched::default();
            for (_, is, row) in hits {
                let list = if *is {
                    &mut known.after
                } else {
                    &mut known.before
                };
                list.push(*row);
            }
            follow(follower, Some(known));
        }
        for slot in matcher.unanchored() {
            if let Some(Some(follower)) = slots.get_mut(*slot as usize) {
                follow(follower, None);
            }
        }
    }
}

/// Tells all of them the same.
fn tell(subscribers: &[Arc<Subscriber>], event: super::Event, calls: &mut VecDeque<Call>) {
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
