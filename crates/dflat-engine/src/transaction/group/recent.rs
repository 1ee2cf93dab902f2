//! Which rows have changed recently. An object that was fetched before a transaction need not be
//! looked up again inside the transaction if its row has not changed.

use dflat_model::{CommitSeq, RowId, Table};

use super::super::write_set::WriteSet;

/// Limit of the rows of a transaction that are noted one by one. Beyond it, noting each row would
/// cost more than it saves.
const CHANGES_MAX: usize = 256;

/// Number of slots of a table: a power of two, so that the row id's last bits are the slot. Of 8
/// bytes each, they take 128 KiB for a table that is written to, and tell 16,384 neighbouring rows
/// from one another.
const SLOTS: usize = 16 * 1024;

/// Which rows have changed recently, by table.
#[derive(Default)]
pub(super) struct RecentChanges {
    tables: Vec<(Table, RecentRows)>,
    /// Objects of any table that were read before this commit may be out of date, because another
    /// program has written.
    everything: CommitSeq,
}

/// The latest changes of a table's rows. A row has a slot, which it shares with other rows: a row
/// may seem to have changed because another row of its slot has changed, but no change is missed.
/// Rows with neighbouring ids have neighbouring slots, because they are often changed one after the
/// other. Slots that were never used take no memory if the system allocates memory by the page.
#[derive(Default)]
struct RecentRows {
    /// The latest commit that changed a row of each slot.
    slots: Vec<u64>,
    /// All rows may have changed with this commit.
    all: CommitSeq,
}

impl RecentChanges {
    /// Notes changes that will be committed as `seq`, or not at all.
    pub(super) fn note(&mut self, changes: &WriteSet, seq: CommitSeq) {
        for (table, rows) in changes.rows() {
            let is_of = |(other, _): &(Table, _)| other.is_stored_as(table);
            let position = self.tables.iter().position(is_of);
            let position = position.unwrap_or_else(|| {
                self.tables.push((table.clone(), RecentRows::default()));
                self.tables.len() - 1
            });
            if let Some((_, recent)) = self.tables.get_mut(position) {
                if changes.has_range(table) {
                    recent.all = seq;
                } else {
                    recent.note(rows.iter().map(|(row_id, _)| *row_id), seq);
                }
            }
        }
    }

    /// Notes that another program has written unknown rows after the commit `seq`.
    pub(super) fn distrust(&mut self, seq: CommitSeq) {
        // Objects read after that commit may have been read before the foreign write.
        self.everything = CommitSeq(seq.0 + 1);
    }

    /// Whether a row is certain to be unchanged since `seq` was the latest commit.
    pub(super) fn is_unchanged(&self, table: &Table, row_id: RowId, seq: CommitSeq) -> bool {
        // An object that was read before the first commit, or is not committed, has no commit
        // number to compare.
        if seq < self.everything || seq == CommitSeq::default() {
            return false;
        }
        let is_of = |(other, _): &&(Table, _)| other.is_stored_as(table);
        let known = self.tables.iter().find(is_of);
        known.is_none_or(|(_, recent)| recent.latest(row_id) <= seq)
    }
}

impl RecentRows {
    fn note(&mut self, rows: impl ExactSizeIterator<Item = RowId>, seq: CommitSeq) {
        if rows.len() > CHANGES_MAX {
            self.all = seq;
            return;
        }
        if self.slots.is_empty() {
            self.slots = vec![0; SLOTS];
        }
        for row_id in rows {
            if let Some(changed) = self.slots.get_mut(slot(row_id)) {
                *changed = seq.0;
            }
        }
    }

    /// The latest commit with which a row may have changed.
    fn latest(&self, row_id: RowId) -> CommitSeq {
        let changed = self.slots.get(slot(row_id)).copied();
        CommitSeq(changed.unwrap_or_default()).max(self.all)
    }
}

const fn slot(row_id: RowId) -> usize {
    row_id.0 as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::collections::HashMap;

    use dflat_model::TableDescriptor;

    use super::*;

    fn table(name: &'static str) -> Table {
        Table::new(TableDescriptor {
            name: Cow::Borrowed(name),
            type_name: Cow::Borrowed(name),
            primary_key: Cow::Borrowed(&[]),
            auto_key: None,
            indexes: Cow::Borrowed(&[]),
            types: Cow::Borrowed(&[]),
        })
    }

    fn changes(table: &Table, rows: impl IntoIterator<Item = i64>) -> WriteSet {
        let mut changes = WriteSet::default();
        for row_id in rows {
            changes.note(table, RowId(row_id), None, None);
        }
        changes
    }

    #[test]
    fn a_row_is_unchanged_since_its_last_change_and_no_longer() {
        let (a, b) = (table("a"), table("b"));
        let mut recent = RecentChanges::default();
        recent.note(&changes(&a, [1, 2]), CommitSeq(5));
        assert!(!recent.is_unchanged(&a, RowId(1), CommitSeq(4)));
        assert!(recent.is_unchanged(&a, RowId(1), CommitSeq(5)));
        assert!(recent.is_unchanged(&a, RowId(3), CommitSeq(4)));
        assert!(recent.is_unchanged(&b, RowId(1), CommitSeq(4)));
        recent.note(&changes(&a, [2]), CommitSeq(7));
        assert!(recent.is_unchanged(&a, RowId(1), CommitSeq(5)));
        assert!(!recent.is_unchanged(&a, RowId(2), CommitSeq(6)));
    }

    #[test]
    fn an_object_without_a_commit_number_is_never_trusted() {
        let recent = RecentChanges::default();
        assert!(!recent.is_unchanged(&table("a"), RowId(1), CommitSeq::default()));
    }

    #[test]
    fn many_rows_are_forgotten_together() {
        let a = table("a");
        let mut recent = RecentChanges::default();
        let many = i64::try_from(CHANGES_MAX).unwrap() + 1;
        recent.note(&changes(&a, 1..=many), CommitSeq(5));
        assert!(!recent.is_unchanged(&a, RowId(many + 1), CommitSeq(4)));
        assert!(recent.is_unchanged(&a, RowId(1), CommitSeq(5)));
        recent.note(&changes(&a, [1]), CommitSeq(6));
        assert!(!recent.is_unchanged(&a, RowId(1), CommitSeq(5)));
        assert!(!recent.is_unchanged(&a, RowId(2), CommitSeq(4)));
        assert!(recent.is_unchanged(&a, RowId(2), CommitSeq(5)));
    }

    #[test]
    fn a_row_never_seems_unchanged_however_many_share_its_slot() {
        let a = table("a");
        let slots = i64::try_from(SLOTS).unwrap();
        let rows = (0..slots).chain((0..slots).map(|n| (n * 2_654_435_761) ^ n << 40));
        let mut recent = RecentChanges::default();
        let mut changed = HashMap::new();
        for (seq, row) in (1..).zip(rows) {
            let row_id = RowId(row);
            recent.note(&changes(&a, [row]), CommitSeq(seq));
            changed.insert(row_id, CommitSeq(seq));
            let (first, half) = (RowId(0), RowId(slots / 2));
            for row_id in [row_id, first, half] {
                let changed = changed.get(&row_id).copied().unwrap_or_default();
                assert!(!recent.is_unchanged(&a, row_id, CommitSeq(changed.0.saturating_sub(1))));
            }
        }
        for (row_id, changed) in &changed {
            assert!(!recent.is_unchanged(&a, *row_id, CommitSeq(changed.0 - 1)));
        }
    }

    #[test]
    fn changes_of_neighbouring_rows_are_distinguished() {
        let a = table("a");
        let mut recent = RecentChanges::default();
        let rows = i64::try_from(SLOTS).unwrap();
        for row in 1..=rows {
            let seq = CommitSeq(row.cast_unsigned() + 1);
            recent.note(&changes(&a, [row]), seq);
            assert!(recent.is_unchanged(&a, RowId(row), seq));
            let next = recent.is_unchanged(&a, RowId(row + 1), CommitSeq(1));
            assert_eq!(next, row < rows, "after {row}");
        }
    }

    #[test]
    fn an_object_read_before_a_foreign_commit_is_not_trusted() {
        let a = table("a");
        let mut recent = RecentChanges::default();
        recent.distrust(CommitSeq(5));
        assert!(!recent.is_unchanged(&a, RowId(1), CommitSeq(5)));
        assert!(recent.is_unchanged(&a, RowId(1), CommitSeq(6)));
    }
}
