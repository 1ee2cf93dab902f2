//! Subscriptions to objects.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use dflat_model::{CommitSeq, RowId, Table};

use super::live_query::Refetch;
use super::publication::Call;
use super::subscriber::Subscriber;
use super::{Event, ObjectEvent};
use crate::change_set::TableChanges;
use crate::error::Error;
use crate::object::{Object, equal};
use crate::query::hash::Prehashed;

/// The subscribers to objects of a table, by row id.
#[derive(Default)]
pub(super) struct ObjectSubscriptions(HashMap<RowId, Vec<ObjectSubscriber>, Prehashed>);

/// A subscriber to an object.
struct ObjectSubscriber {
    subscriber: Arc<Subscriber>,
    /// The state that was delivered last.
    known: Object,
    /// The commit of that state, if it was read and may be later than the commits delivered.
    seq: CommitSeq,
}

impl ObjectSubscriber {
    /// Notes a new state. Returns the call to make if `is_other`: if the state differs from the one
    /// delivered last.
    fn note(&mut self, object: &Object, is_other: bool) -> Option<Call> {
        self.known = object.clone();
        is_other.then(|| self.call(ObjectEvent::Updated(object.clone())))
    }

    fn knows(&self, table: &Table, object: &Object) -> bool {
        equal(&table.types, self.known.payload(), object.payload())
    }

    fn call(&self, event: ObjectEvent) -> Call {
        Call {
            subscriber: Arc::clone(&self.subscriber),
            event: Event::Object(event),
        }
    }
}

impl ObjectSubscriptions {
    /// Adds a subscriber to an object; `known` is the state that it has.
    pub(super) fn add(&mut self, subscriber: &Arc<Subscriber>, known: &Object) {
        let entries = self.0.entry(known.row_id());
        // Copied, because objects that were fetched together keep one another in memory.
        let attached = known.is_attached();
        let entry = ObjectSubscriber {
            subscriber: Arc::clone(subscriber),
            known: if attached {
                known.detach()
            } else {
                known.clone()
            },
            seq: CommitSeq::default(),
        };
        entries.or_insert_with(|| Vec::with_capacity(1)).push(entry);
    }

    pub(super) fn remove(&mut self, row_id: RowId, subscriber: &Arc<Subscriber>) {
        if let Some(entries) = self.0.get_mut(&row_id) {
            entries.retain(|entry| !Arc::ptr_eq(&entry.subscriber, subscriber));
            if entries.is_empty() {
                self.0.remove(&row_id);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The table, if there are subscribers.
    pub(super) fn table(&self) -> Option<Table> {
        let entry = self.0.values().flatten().next()?;
        Some(entry.subscriber.registration.table.clone())
    }

    /// Removes all subscribers and returns them.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Arc<Subscriber>> {
        let entries = std::mem::take(&mut self.0).into_values().flatten();
        entries.map(|entry| entry.subscriber)
    }

    /// Applies a commit, and adds the calls to make.
    pub(super) fn follow(
        &mut self,
        changes: &TableChanges,
        seq: CommitSeq,
        calls: &mut VecDeque<Call>,
    ) {
        if self.0.is_empty() {
            return;
        }
        calls.reserve(self.0.len().min(changes.rows.len()));
        for (row_id, change) in &changes.rows {
            let Some(entries) = self.0.get_mut(row_id) else {
                continue;
            };
            // Other subscribers received a state that was read as of a later commit.
            let behind = entries.iter_mut().filter(|entry| entry.seq < seq);
            if let Some(after) = &change.after {
                calls.extend(behind.filter_map(|entry| {
                    // The subscriber has the state before the commit.
                    let is_other = !changes.repeated || !entry.knows(&changes.table, after);
                    entry.note(after, is_other)
                }));
                continue;
            }
            calls.extend(behind.map(|entry| entry.call(ObjectEvent::Deleted)));
            // No event follows a deletion.
            entries.retain(|entry| entry.seq >= seq);
            if entries.is_empty() {
                self.0.remove(row_id);
            }
        }
    }

    /// Reads all objects again, and adds the calls to make. Returns the subscribers whose objects
    /// can't be read, with the errors.
    pub(super) fn renew(
        &mut self,
        table: &Table,
        reread: &dyn Refetch,
        calls: &mut VecDeque<Call>,
    ) -> Vec<(Arc<Subscriber>, Error)> {
        let mut row_ids: Vec<RowId> = self.0.keys().copied().collect();
        row_ids.sort_unstable();
        let (objects, seq) = match reread.objects(table, &row_ids) {
            Ok(read) => read,
            // Changes that they missed can't be delivered later, so their subscriptions end.
            Err(error) => return self.drain().map(|s| (s, error.clone())).collect(),
        };
        let mut failed = Vec::new();
        for (row_id, object) in row_ids.iter().zip(objects) {
            let Some(entries) = self.0.get_mut(row_id) else {
                continue;
            };
            if let Ok(Some(object)) = object {
                calls.extend(entries.iter_mut().filter_map(|entry| {
                    entry.seq = entry.seq.max(seq);
                    let is_other = !entry.knows(table, &object);
                    entry.note(&object, is_other)
                }));
                continue;
            }
            for entry in self.0.remove(row_id).into_iter().flatten() {
                match &object {
                    Err(error) => failed.push((entry.subscriber, error.clone())),
                    Ok(_) => calls.push_back(entry.call(ObjectEvent::Deleted)),
                }
            }
        }
        failed
    }
}
