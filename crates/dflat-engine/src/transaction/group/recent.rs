//! Which rows have changed lately, so that an object fetched before a transaction need not be
//! looked up again inside it if it is still what is stored.

use std::collections::HashMap;

use dflat_model::{CommitSeq, RowId, Table};

use super::super::write_set::WriteSet;

/// The most rows of a table that are kept apart.
const ROWS_MAX: usize = 16 * 1024;

/// The most rows of a transaction that are kept apart: beyond that, noting each would cost more
/// than it saves.
const CHANGES_MAX: usize = 256;

/// Which rows have changed lately, by table.
#[derive(Default)]
pub(super) struct RecentChanges {
    tables: Vec<(String, RecentRows)>,
    /// Somebody else may have changed any table at this commit.
    everything: CommitSeq,
}

#[derive(Default)]
struct RecentRows {
    /// The latest change of each row, if it is later than `others`.
    rows: HashMap<RowId, CommitSeq>,
    /// No other row has changed later than with this commit.
    others: CommitSeq,
}

impl RecentChanges {
    /// Notes what will be committed as `seq`, or not at all.
    pub(super) fn note(&mut self, changes: &WriteSet, seq: CommitSeq) {
        for (table, rows) in changes.rows() {
            let position = self.tables.iter().position(|(name, _)| *name == table.name);
            let position = position.unwrap_or_else(|| {
                self.tables
                    .push((table.name.to_string(), RecentRows::default()));
                self.tables.len() - 1
            });
            if let Some((_, recent)) = self.tables.get_mut(position) {
                recent.note(rows.iter().map(|(row_id, _)| *row_id), seq);
            }
        }
    }

    /// Notes that somebody else has written, nobody knows what, after the commit `seq`.
    pub(super) fn distrust(&mut self, seq: CommitSeq) {
        self.tables.clear();
        // Objects read after that commit may have been read before what somebody else wrote.
        self.everything = CommitSeq(seq.0 + 1);
    }

    /// Whether a row is certain to be as it was when `seq` was the latest commit.
    pub(super) fn is_unchanged(&self, table: &Table, row_id: RowId, seq: CommitSeq) -> bool {
        // What was read before the first commit, or is not committed, has no commit to go by.
        if seq < self.everything || seq == CommitSeq::default() {
            return false;
        }
        let known = self.tables.iter().find(|(name, _)| *name == table.name);
        known.is_none_or(|(_, recent)| {
            recent.others <= seq
                && recent
                    .rows
                    .get(&row_id)
                    .is_none_or(|changed| *changed <= seq)
        })
    }
}

impl RecentRows {
    fn note(&mut self, rows: impl ExactSizeIterator<Item = RowId>, seq: CommitSeq) {
        if rows.len() > CHANGES_MAX || self.rows.len() + rows.len() > ROWS_MAX {
            self.rows = HashMap::new();
            self.others = seq;
        } else {
            self.rows.extend(rows.map(|row_id| (row_id, seq)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use dflat_model::TableDescriptor;

    use super::*;

    fn table(name: &'static str) -> Table {
        Table::new(TableDescriptor {
            name: Cow::Borrowed(name),
            type_name: Cow::Borrowed(name),
            primary_key: Cow::Borrowed(&[]),
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
    fn what_has_no_commit_to_go_by_is_never_trusted() {
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

        let rows = i64::try_from(ROWS_MAX).unwrap();
        for row_id in 0..=rows {
            recent.note(&changes(&a, [row_id]), CommitSeq(6));
        }
        assert!(!recent.is_unchanged(&a, RowId(rows + 1), CommitSeq(5)));
        assert!(recent.is_unchanged(&a, RowId(rows), CommitSeq(6)));
    }

    #[test]
    fn after_somebody_else_wrote_nothing_read_before_the_next_commit_is_trusted() {
        let a = table("a");
        let mut recent = RecentChanges::default();
        recent.distrust(CommitSeq(5));
        assert!(!recent.is_unchanged(&a, RowId(1), CommitSeq(5)));
        assert!(recent.is_unchanged(&a, RowId(1), CommitSeq(6)));
    }
}
