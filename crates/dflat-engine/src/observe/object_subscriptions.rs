//! Subscriptions to objects.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use dflat_model::{CommitSeq, RowId, Table};

use super::live_query::Refetch;
use super::publication::Call;
use super::subscriber::{Subscriber, Target};
use super::{Event, ObjectEvent};
use crate::change_set::TableChanges;
use crate::error::{Error, Result};
use crate::object::{Object, equal};
use crate::query::hash::Prehashed;

/// Subscribers whose objects can't be read, with the errors.
pub(super) type FailedSubscribers = Vec<(Arc<Subscriber>, Error)>;

/// The subscribers to objects of a table.
#[derive(Default)]
pub(super) struct ObjectSubscriptions {
    by_row: HashMap<RowId, Vec<ObjectSubscriber>, Prehashed>,
    /// Whether at least one of them is unread.
    have_unread: bool,
    /// Subscribers with an object of another engine that could not be looked up by its key yet.
    unplaced: Vec<ObjectSubscriber>,
}

/// A subscriber to an object.
struct ObjectSubscriber {
    subscriber: Arc<Subscriber>,
    /// The state that was delivered last.
    known: Object,
    /// The commit of that state, if it was read and may be later than the commits delivered.
    seq: CommitSeq,
    /// Whether the object could not be read, so that it is to be read again. The subscriber may
    /// know an earlier state than the commits delivered, or a later one.
    unread: bool,
}

impl ObjectSubscriber {
    fn new(subscriber: &Arc<Subscriber>, known: &Object, unread: bool) -> Self {
        Self {
            subscriber: Arc::clone(subscriber),
            known: alone(known),
            seq: CommitSeq::default(),
            unread,
        }
    }

    /// Notes a new state. Returns the call to make if `is_other`: if the state differs from the one
    /// delivered last.
    fn note(&mut self, object: &Object, is_other: bool) -> Option<Call> {
        self.known = object.clone();
        is_other.then(|| self.call(ObjectEvent::Updated(object.clone())))
    }

    /// Notes a state that was read as of a commit. Returns the call to make if the subscriber does
    /// not know it.
    fn read(&mut self, table: &Table, object: &Object, seq: CommitSeq) -> Option<Call> {
        (self.seq, self.unread) = (self.seq.max(seq), false);
        let is_other = !self.knows(table, object);
        self.note(object, is_other)
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
        let entry = ObjectSubscriber::new(subscriber, known, false);
        self.place(known.row_id(), entry);
    }

    /// Adds a subscriber to an object that could not be read. The row id is that in this engine;
    /// `None` if it is not known.
    pub(super) fn add_unread(
        &mut self,
        subscriber: &Arc<Subscriber>,
        known: &Object,
        row_id: Option<RowId>,
    ) {
        let entry = ObjectSubscriber::new(subscriber, known, true);
        match row_id {
            Some(row_id) => {
                self.have_unread = true;
                self.place(row_id, entry);
            }
            None => self.unplaced.push(entry),
        }
    }

    fn place(&mut self, row_id: RowId, entry: ObjectSubscriber) {
        let entries = self.by_row.entry(row_id);
        entries.or_insert_with(|| Vec::with_capacity(1)).push(entry);
    }

    pub(super) fn remove(&mut self, row_id: RowId, subscriber: &Arc<Subscriber>) {
        if let Some(entries) = self.by_row.get_mut(&row_id) {
            entries.retain(|entry| !Arc::ptr_eq(&entry.subscriber, subscriber));
            if entries.is_empty() {
                self.by_row.remove(&row_id);
            }
        }
    }

    /// Removes a subscriber whose object has not been found yet, if it is there.
    pub(super) fn remove_unplaced(&mut self, subscriber: &Arc<Subscriber>) {
        let is_other = |entry: &ObjectSubscriber| !Arc::ptr_eq(&entry.subscriber, subscriber);
        self.unplaced.retain(is_other);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_row.is_empty() && self.unplaced.is_empty()
    }

    /// Whether there may be objects that could not be read.
    pub(super) const fn have_unread(&self) -> bool {
        self.have_unread || !self.unplaced.is_empty()
    }

    /// The table, if there are subscribers.
    pub(super) fn table(&self) -> Option<Table> {
        let mut entries = self.by_row.values().flatten().chain(&self.unplaced);
        let entry = entries.next()?;
        Some(entry.subscriber.registration.table.clone())
    }

    /// Removes all subscribers and returns them.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Arc<Subscriber>> {
        let Self {
            by_row, unplaced, ..
        } = std::mem::take(self);
        let entries = by_row.into_values().flatten().chain(unplaced);
        entries.map(|entry| entry.subscriber)
    }

    /// Applies a commit, and adds the calls to make.
    pub(super) fn follow(
        &mut self,
        changes: &TableChanges,
        seq: CommitSeq,
        calls: &mut VecDeque<Call>,
    ) {
        if self.by_row.is_empty() {
            return;
        }
        calls.reserve(self.by_row.len().min(changes.rows.len()));
        for (row_id, change) in &changes.rows {
            let Some(entries) = self.by_row.get_mut(row_id) else {
                continue;
            };
            // Other subscribers received a state that was read as of a later commit.
            let behind = entries.iter_mut().filter(|entry| entry.seq < seq);
            if let Some(after) = &change.after {
                let read = behind.filter(|entry| !entry.unread);
                calls.extend(read.filter_map(|entry| {
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
                self.by_row.remove(row_id);
            }
        }
    }

    /// Reads all objects again, and adds the calls to make. Returns the subscribers whose objects
    /// can't be read, with the errors; those whose error may pass stay, and are read again later.
    pub(super) fn renew(
        &mut self,
        table: &Table,
        reread: &dyn Refetch,
        calls: &mut VecDeque<Call>,
    ) -> FailedSubscribers {
        let row_ids = self.by_row.keys().copied().collect();
        self.read_again(row_ids, table, reread, calls)
    }

    /// As [`renew`](Self::renew), for the objects that could not be read before.
    pub(super) fn retry(
        &mut self,
        table: &Table,
        reread: &dyn Refetch,
        calls: &mut VecDeque<Call>,
    ) -> FailedSubscribers {
        if !self.have_unread() {
            return Vec::new();
        }
        let rows = self.by_row.iter();
        let rows = rows.filter(|(_, entries)| entries.iter().any(|entry| entry.unread));
        let row_ids = rows.map(|(row_id, _)| *row_id).collect();
        self.read_again(row_ids, table, reread, calls)
    }

    /// Reads the objects again that have these row ids or are not found yet. The rows are at least
    /// those of all unread objects.
    fn read_again(
        &mut self,
        mut row_ids: Vec<RowId>,
        table: &Table,
        reread: &dyn Refetch,
        calls: &mut VecDeque<Call>,
    ) -> FailedSubscribers {
        self.have_unread = false;
        row_ids.sort_unstable();
        let mut failed = Vec::new();
        if !row_ids.is_empty() {
            match reread.objects(table, &row_ids) {
                Ok((objects, seq)) => {
                    for (row_id, object) in row_ids.into_iter().zip(objects) {
                        failed.extend(self.note_read(row_id, (object, seq), table, calls));
                    }
                }
                Err(error) => failed = self.note_unread(&row_ids, &error),
            }
        }
        failed.extend(self.find_unplaced(table, reread, calls));
        failed
    }

    /// Notes a row that was read, and adds the calls to make.
    fn note_read(
        &mut self,
        row_id: RowId,
        (object, seq): (Result<Option<Object>>, CommitSeq),
        table: &Table,
        calls: &mut VecDeque<Call>,
    ) -> FailedSubscribers {
        if let Ok(Some(object)) = &object {
            let entries = self.by_row.get_mut(&row_id).into_iter().flatten();
            calls.extend(entries.filter_map(|entry| entry.read(table, object, seq)));
            return Vec::new();
        }
        let entries = self.by_row.remove(&row_id).into_iter().flatten();
        match object {
            Ok(_) => {
                calls.extend(entries.map(|entry| entry.call(ObjectEvent::Deleted)));
                Vec::new()
            }
            Err(error) => entries.map(|e| (e.subscriber, error.clone())).collect(),
        }
    }

    /// Notes that rows could not be read.
    fn note_unread(&mut self, row_ids: &[RowId], error: &Error) -> FailedSubscribers {
        if error.may_pass() {
            self.have_unread = true;
            for row_id in row_ids {
                let entries = self.by_row.get_mut(row_id).into_iter().flatten();
                entries.for_each(|entry| entry.unread = true);
            }
            return Vec::new();
        }
        // Changes that they missed can't be delivered later, so their subscriptions end.
        let entries = row_ids.iter().filter_map(|id| self.by_row.remove(id));
        let entries = entries.flatten();
        entries.map(|e| (e.subscriber, error.clone())).collect()
    }

    /// Looks up the objects that are not found yet, and adds the calls to make.
    fn find_unplaced(
        &mut self,
        table: &Table,
        reread: &dyn Refetch,
        calls: &mut VecDeque<Call>,
    ) -> FailedSubscribers {
        let mut failed = Vec::new();
        for mut entry in std::mem::take(&mut self.unplaced) {
            match reread.find(table, &entry.known) {
                Ok((Some(object), seq)) => {
                    let (object, row_id) = (alone(&object), object.row_id());
                    // The target was not set before.
                    let target = &entry.subscriber.registration.target;
                    let _ = target.set(Target::Object(row_id));
                    calls.extend(entry.read(table, &object, seq));
                    self.place(row_id, entry);
                }
                Ok((None, _)) => calls.push_back(entry.call(ObjectEvent::Deleted)),
                Err(error) if error.may_pass() => self.unplaced.push(entry),
                Err(error) => failed.push((entry.subscriber, error)),
            }
        }
        failed
    }
}

/// The object, allocated alone: objects that were fetched together keep one another in memory.
fn alone(object: &Object) -> Object {
    if object.is_attached() {
        object.detach()
    } else {
        object.clone()
    }
}
