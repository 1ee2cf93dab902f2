//! Subscriptions to objects.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use dflat_model::{CommitSeq, RowId, Table};

use super::hash::Prehashed;
use super::live_query::Refetch;
use super::publication::Call;
use super::subscriber::Subscriber;
use super::{Event, ObjectEvent};
use crate::change_set::TableChanges;
use crate::error::Error;
use crate::object::{Object, equal};

/// Who is told of the objects of a table, by row id.
#[derive(Default)]
pub(super) struct ObjectSubscriptions(HashMap<RowId, Vec<ObjectSubscriber>, Prehashed>);

/// A subscriber to an object.
struct ObjectSubscriber {
    subscriber: Arc<Subscriber>,
    /// What was told last.
    known: Object,
    /// The commit that it is as of, if it may be ahead of those that are told.
    seq: CommitSeq,
}

impl ObjectSubscriber {
    /// Notes a state as of a commit, and whether it is another; what is to be told of it, if
    /// anything.
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
    /// Tells a subscriber of an object from now on, of which it knows this.
    pub(super) fn add(&mut self, subscriber: &Arc<Subscriber>, known: &Object) {
        let entries = self.0.entry(known.row_id());
        // Objects that were fetched together would keep one another in memory.
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

    /// The table, if anybody is told.
    pub(super) fn table(&self) -> Option<Table> {
        let entry = self.0.values().flatten().next()?;
        Some(entry.subscriber.registration.table.clone())
    }

    /// All subscribers, which are taken out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Arc<Subscriber>> {
        let entries = std::mem::take(&mut self.0).into_values().flatten();
        entries.map(|entry| entry.subscriber)
    }

    /// Follows a commit.
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
            // Others have been told what was read as of a later commit.
            let behind = entries.iter_mut().filter(|entry| entry.seq < seq);
            if let Some(after) = &change.after {
                calls.extend(behind.filter_map(|entry| {
                    // It knows what was before.
                    let is_other = !changes.repeated || !entry.knows(&changes.table, after);
                    entry.note(after, is_other)
                }));
                continue;
            }
            calls.extend(behind.map(|entry| entry.call(ObjectEvent::Deleted)));
            // Nothing follows a deletion.
            entries.retain(|entry| entry.seq >= seq);
            if entries.is_empty() {
                self.0.remove(row_id);
            }
        }
    }

    /// Reads all objects again; those whose objects can't be read, with the error.
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
            // What they missed can't be told later: their subscriptions end.
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
