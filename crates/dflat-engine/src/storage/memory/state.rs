//! The stored tables: persistent maps, whose copies share the parts that a change leaves alone.

use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use dflat_model::{Direction, IndexDescriptor, RowId, Table, Value};
use rpds::{HashTrieMapSync, RedBlackTreeMapSync};

use crate::error::{Error, ErrorKind};
use crate::storage::{
    Conflict, IndexEntry, IndexState, Indexes, Key, KeyScan, Row, RowWrite, ScanPlan, Source,
    WriteError,
};

/// All tables and their descriptors; a clone copies pointers.
#[derive(Clone, Debug, Default)]
pub(super) struct MemoryState {
    pub(super) tables: HashTrieMapSync<String, TableState>,
    /// The descriptor of the newest code that wrote to each table, encoded.
    pub(super) schemas: HashTrieMapSync<String, Vec<u8>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct TableState {
    pub(super) rows: RedBlackTreeMapSync<RowId, StoredRow>,
    keys: RedBlackTreeMapSync<KeyValues, RowId>,
    /// Indexes by storage key.
    pub(super) indexes: HashTrieMapSync<String, IndexStore>,
    pub(super) last_row_id: i64,
}

#[derive(Clone, Debug)]
pub(super) struct StoredRow {
    key: KeyValues,
    payload: Arc<[u8]>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct IndexStore {
    entries: RedBlackTreeMapSync<(KeyValues, RowId), ()>,
    values: RedBlackTreeMapSync<RowId, KeyValues>,
    /// Whether the index is unique, as the latest descriptor says.
    unique: bool,
    /// A hash of the index's definition in the latest descriptor.
    definition: u64,
    /// Whether the index may hold equal values although it is unique.
    admits_duplicates: bool,
    /// How far an index with a condition is filled; `None` if it is ready, or has no condition.
    up_to: Option<RowId>,
}

/// Whether a write refuses an equal value in a unique index that admits duplicates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Duplicates {
    Refused,
    Kept,
}

/// The values of a key's parts, ordered by the total order of values.
#[derive(Clone, Debug)]
pub(super) struct KeyValues(Arc<[Value]>);

impl Ord for KeyValues {
    fn cmp(&self, other: &Self) -> Ordering {
        let pairs = self.0.iter().zip(other.0.iter());
        let unequal = pairs
            .map(|(a, b)| a.as_ref().order(b.as_ref()))
            .find(|o| o.is_ne());
        unequal.unwrap_or_else(|| self.0.len().cmp(&other.0.len()))
    }
}

impl PartialOrd for KeyValues {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for KeyValues {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for KeyValues {}

impl MemoryState {
    pub(super) fn scan(
        &self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) {
        let Some(table) = self.tables.get(plan.table.name.as_ref()) else {
            return;
        };
        let wanted = plan.payload || matches!(plan.source, Source::Entries(..));
        let mut lend = |row_id: RowId, stored: &StoredRow| {
            visit(Row {
                row_id,
                payload: if wanted { &stored.payload } else { &[] },
                entry: None,
            })
        };
        let _ = match &plan.source {
            Source::Rows => table
                .rows
                .iter()
                .try_for_each(|(id, stored)| lend(*id, stored)),
            Source::RowsAfter(after) => table
                .rows
                .range((Bound::Excluded(*after), Bound::Unbounded))
                .try_for_each(|(id, stored)| lend(*id, stored)),
            Source::RowIds(ids) => table.each(ids, lend),
            Source::PrimaryKey(parts) => {
                let key: Vec<Value> = parts.iter().map(|part| part.to_value()).collect();
                let scan = KeyScan {
                    key: Key::Primary,
                    prefix: &key,
                    lower: Bound::Unbounded,
                    upper: Bound::Unbounded,
                    direction: Direction::Ascending,
                    after: None,
                };
                table.each(&table.range(plan.table, &scan), lend)
            }
            Source::Key(scan) | Source::Entries(scan) => {
                table.each(&table.range(plan.table, scan), lend)
            }
        };
    }

    pub(super) fn indexes(&self, table: &Table) -> Indexes {
        let stored = self.tables.get(table.name.as_ref());
        let states = table.indexes.iter().map(|index| match stored {
            None => IndexState::Ready,
            Some(stored) => stored.index_state(index),
        });
        Indexes {
            states: states.collect(),
            foreign: Vec::new(),
            is_noted: false,
        }
    }
}

impl TableState {
    fn index_state(&self, index: &IndexDescriptor) -> IndexState {
        let store = self.indexes.get(&index.storage_key());
        let Some(store) = store.filter(|store| store.definition == index.definition()) else {
            return IndexState::Missing;
        };
        if index.condition.is_some() {
            return store
                .up_to
                .map_or(IndexState::Ready, IndexState::Incomplete);
        }
        if store.values.size() == self.rows.size() {
            return IndexState::Ready;
        }
        let last = store.values.last();
        IndexState::Incomplete(last.map_or(RowId(0), |(row_id, _)| *row_id))
    }

    pub(super) fn put_row(&mut self, row_id: RowId, row: &RowWrite<'_>) -> Result<(), WriteError> {
        let before = self.rows.get(&row_id).map(|row| row.key.clone());
        let key = match (row.key, before.clone()) {
            (Some(parts), _) => KeyValues(parts.iter().map(|part| part.to_value()).collect()),
            (None, Some(key)) => key,
            (None, None) => {
                let message = format!("cannot update row {row_id}: it does not exist");
                return Err(Error::new(ErrorKind::NotFound, message).into());
            }
        };
        if self.keys.get(&key).is_some_and(|owner| *owner != row_id) {
            return Err(WriteError::Conflict(Conflict { key: Key::Primary }));
        }
        if let Some(before) = before {
            self.keys.remove_mut(&before);
        }
        self.keys.insert_mut(key.clone(), row_id);
        self.rows.insert_mut(
            row_id,
            StoredRow {
                key,
                payload: row.payload.into(),
            },
        );
        Ok(())
    }

    pub(super) fn put_entries(
        &mut self,
        table: &Table,
        row_id: RowId,
        entries: &[IndexEntry<'_>],
        duplicates: Duplicates,
    ) -> Result<(), WriteError> {
        for entry in entries {
            let Some(index) = table.indexes.get(entry.index) else {
                continue;
            };
            let key = index.storage_key();
            let mut store = self.indexes.get(&key).cloned().unwrap_or_default();
            let Some(values) = entry.values.to_values() else {
                store.remove(row_id);
                self.indexes.insert_mut(key, store);
                continue;
            };
            let value = KeyValues(values.into());
            let looks = !store.admits_duplicates || duplicates == Duplicates::Refused;
            let conflict = index.unique && looks && entry.values.can_conflict() && {
                let same = (value.clone(), RowId(i64::MIN))..=(value.clone(), RowId(i64::MAX));
                store
                    .entries
                    .range(same)
                    .any(|((_, owner), ())| *owner != row_id)
            };
            if conflict {
                return Err(WriteError::Conflict(Conflict {
                    key: Key::Index(entry.index),
                }));
            }
            store.remove(row_id);
            store.entries.insert_mut((value.clone(), row_id), ());
            store.values.insert_mut(row_id, value);
            self.indexes.insert_mut(key, store);
        }
        Ok(())
    }

    /// Puts an entry into an index. A unique index that has the value already keeps both from then
    /// on.
    pub(super) fn put_entry_admitting(
        &mut self,
        table: &Table,
        row_id: RowId,
        entry: &IndexEntry<'_>,
    ) -> crate::Result<()> {
        let entries = std::slice::from_ref(entry);
        let mut put = self.put_entries(table, row_id, entries, Duplicates::Kept);
        if matches!(put, Err(WriteError::Conflict(_))) {
            self.change_index(table, entry.index, |store| store.admits_duplicates = true);
            put = self.put_entries(table, row_id, entries, Duplicates::Kept);
        }
        put.map_err(|error| match error {
            WriteError::Failed(error) => error,
            WriteError::Conflict(_) => {
                let message = format!("cannot index {}: a value exists twice", table.type_name);
                Error::new(ErrorKind::Backend, message)
            }
        })
    }

    /// Notes how far an index with a condition is filled; `None` if it is ready.
    pub(super) fn note_filled(&mut self, table: &Table, index: usize, up_to: Option<RowId>) {
        self.change_index(table, index, |store| store.up_to = up_to);
    }

    /// Removes a row's entries from all indexes of the table.
    pub(super) fn remove_entries(&mut self, table: &Table, row_id: RowId) {
        for index in 0..table.indexes.len() {
            self.change_index(table, index, |store| store.remove(row_id));
        }
    }

    fn change_index(&mut self, table: &Table, index: usize, change: impl FnOnce(&mut IndexStore)) {
        let Some(index) = table.indexes.get(index) else {
            return;
        };
        let key = index.storage_key();
        let mut store = self.indexes.get(&key).cloned().unwrap_or_default();
        change(&mut store);
        self.indexes.insert_mut(key, store);
    }

    pub(super) fn remove_row(&mut self, row_id: RowId) -> bool {
        let Some(key) = self.rows.get(&row_id).map(|row| row.key.clone()) else {
            return false;
        };
        self.rows.remove_mut(&row_id);
        self.keys.remove_mut(&key);
        let indexes: Vec<String> = self.indexes.keys().cloned().collect();
        for name in indexes {
            if let Some(mut store) = self.indexes.get(&name).cloned() {
                store.remove(row_id);
                self.indexes.insert_mut(name, store);
            }
        }
        true
    }

    /// Lends the rows with these ids, as far as they exist.
    fn each(
        &self,
        ids: &[RowId],
        mut lend: impl FnMut(RowId, &StoredRow) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        ids.iter().try_for_each(|id| {
            let stored = self.rows.get(id);
            stored.map_or(ControlFlow::Continue(()), |stored| lend(*id, stored))
        })
    }

    /// The row ids of a key's range, in the scan's order.
    fn range(&self, table: &Table, scan: &KeyScan<'_>) -> Vec<RowId> {
        let mut found: Vec<(KeyValues, RowId)> = match scan.key {
            Key::Primary => {
                let from = KeyValues(scan.prefix.into());
                let range = (Bound::Included(from), Bound::Unbounded);
                let entries = self.keys.range(range).map(|(key, id)| (key.clone(), *id));
                within(entries, scan)
            }
            Key::Index(position) => {
                let index = table.indexes.get(position);
                let store = index.and_then(|i| self.indexes.get(&i.storage_key()));
                let Some(store) = store else {
                    return Vec::new();
                };
                let from = (KeyValues(scan.prefix.into()), RowId(i64::MIN));
                let range = (Bound::Included(from), Bound::Unbounded);
                within(
                    store.entries.range(range).map(|(entry, ())| entry.clone()),
                    scan,
                )
            }
        };
        if scan.direction == Direction::Descending {
            found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        found.into_iter().map(|(_, row_id)| row_id).collect()
    }
}

impl IndexStore {
    /// An index without entries. `has_rows` says whether its table has rows.
    pub(super) fn new(index: &IndexDescriptor, has_rows: bool) -> Self {
        Self {
            unique: index.unique,
            definition: index.definition(),
            up_to: (has_rows && index.condition.is_some()).then_some(RowId(0)),
            ..Self::default()
        }
    }

    /// Whether the index has the definition of this descriptor.
    pub(super) fn is(&self, index: &IndexDescriptor) -> bool {
        self.unique == index.unique && self.definition == index.definition()
    }

    fn remove(&mut self, row_id: RowId) {
        if let Some(value) = self.values.get(&row_id).cloned() {
            self.entries.remove_mut(&(value, row_id));
            self.values.remove_mut(&row_id);
        }
    }
}

/// The entries of a range. `entries` begins with the first entry of the prefix, in ascending order.
fn within(
    entries: impl Iterator<Item = (KeyValues, RowId)>,
    scan: &KeyScan<'_>,
) -> Vec<(KeyValues, RowId)> {
    let depth = scan.prefix.len();
    let prefixed = entries.take_while(|(key, _)| {
        key.0
            .iter()
            .zip(scan.prefix)
            .all(|(a, b)| a.as_ref().order(b.as_ref()).is_eq())
    });
    let in_range = |(key, row_id): &(KeyValues, RowId)| {
        if scan.after.is_some_and(|after| *row_id <= after) {
            return false;
        }
        let Some(value) = key.0.get(depth) else {
            return true;
        };
        let above = match scan.lower {
            Bound::Unbounded => true,
            Bound::Included(bound) => value.as_ref().order(bound.as_ref()).is_ge(),
            Bound::Excluded(bound) => value.as_ref().order(bound.as_ref()).is_gt(),
        };
        let below = match scan.upper {
            Bound::Unbounded => true,
            Bound::Included(bound) => value.as_ref().order(bound.as_ref()).is_le(),
            Bound::Excluded(bound) => value.as_ref().order(bound.as_ref()).is_lt(),
        };
        above && below
    };
    prefixed.filter(in_range).collect()
}
