//! Reads of one state.

use std::ops::ControlFlow;

use dflat_model::{Table, ValueRef};

use super::{
    Indexes, KeyScan, NamedRow, NamedTable, NotedRow, Records, Row, ScanPlan, Source, StateId,
    StepId, StepRow,
};
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::Result;

/// Reads.
pub trait Snapshot: Send {
    /// Calls `visit` with each row of the plan, until `visit` returns `Break`.
    ///
    /// The rows come in the order that [`ScanPlan`] states. The bytes of a row are lent until its
    /// visit returns.
    ///
    /// # Errors
    /// The errors of reading the file; rows already visited are valid.
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()>;

    /// Calls `visit` with the row of each of these primary keys that has one, with its payload and
    /// the position of the key, in the order of the keys. A key without values, or with a NULL, has
    /// no row. A backend whose calls are costly reads many rows in one call.
    ///
    /// # Errors
    /// The errors of reading the file; rows already visited are valid.
    fn find_many(
        &mut self,
        table: &Table,
        keys: &[&[ValueRef<'_>]],
        visit: &mut dyn FnMut(usize, Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        for (position, key) in keys.iter().enumerate() {
            if key.is_empty() || key.iter().any(|part| part.is_null()) {
                continue;
            }
            let plan = ScanPlan {
                table,
                source: Source::PrimaryKey(key),
                payload: true,
            };
            let mut flow = ControlFlow::Continue(());
            self.scan(&plan, &mut |row| {
                flow = visit(position, row);
                ControlFlow::Break(())
            })?;
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Counts the rows of a range by their values in the key's first `parts` fields: calls `visit`
    /// with these values and the number of rows that have them, in any order, until `visit` returns
    /// `Break`. The same values may be visited several times, with a part of the rows each time.
    /// With no parts, only the number of all rows is visited. Returns false, and visits nothing, if
    /// the backend does not count rows faster than by visiting them.
    ///
    /// `proceed` is called at least every 64 rows, unless the range is a whole key: its rows may be
    /// counted in one step. The call ends without an error if `proceed` returns `Break`.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    fn tally(
        &mut self,
        table: &Table,
        (scan, parts): (&KeyScan<'_>, usize),
        proceed: &mut dyn FnMut() -> ControlFlow<()>,
        visit: &mut dyn FnMut(&[ValueRef<'_>], usize) -> ControlFlow<()>,
    ) -> Result<bool> {
        let _ = (table, scan, parts, proceed, visit);
        Ok(false)
    }

    /// Fixes the state that a pinned snapshot sees, as its first scan would, and returns the id of
    /// this state. A backend to which no other program can write may return one id for all states.
    ///
    /// # Errors
    /// The errors of reading the file.
    fn pin(&mut self) -> Result<StateId> {
        Ok(StateId::default())
    }

    /// Whether another program has committed after the state `since` and before the state that this
    /// pinned snapshot sees, or this is an earlier state than `since`. False for a backend to which
    /// no other program can write.
    fn is_overtaken(&self, since: StateId) -> bool {
        let _ = since;
        false
    }

    /// Calls `visit` with each change record of the commits after the state `since` and up to the
    /// state that this pinned snapshot sees, from the latest record back to the first. A write
    /// transaction reads the records up to its base state.
    ///
    /// The backend alone judges whether the records account for every commit, by whichever program;
    /// it does not decode them. Commits of this backend need no records, but are visited if they
    /// have some. If a commit is not accounted for, no record is visited, and the result is
    /// [`Records::Broken`]; so it is if `visit` returns `Break`.
    ///
    /// # Errors
    /// The errors of reading the file.
    fn records(
        &mut self,
        since: StateId,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Records> {
        let _ = (since, visit);
        Ok(Records::Broken)
    }

    /// Calls `visit` with the steps of the history from the latest one back to the first; of those
    /// with smaller ids than `below`, if it is given. A backend without a history has none.
    ///
    /// # Errors
    /// The errors of reading the file; steps already visited are valid.
    fn steps(
        &mut self,
        below: Option<StepId>,
        visit: &mut dyn FnMut(StepRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let _ = (below, visit);
        Ok(())
    }

    /// Calls `visit` with each row of a versioned table that another program has changed since
    /// [`forget_notes`](super::WriteTransaction::forget_notes), by ascending row id, and with the
    /// payload of the row before, if there was the row.
    ///
    /// # Errors
    /// The errors of reading the file.
    fn noted(
        &mut self,
        table: &Table,
        visit: &mut dyn FnMut(NotedRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let _ = (table, visit);
        Ok(())
    }

    /// Whether [`noted`](Self::noted) has all rows of a versioned table that other programs have
    /// changed since [`keep_notes`](super::WriteTransaction::keep_notes): no program has prevented
    /// the notes meanwhile, as far as the backend can see.
    ///
    /// # Errors
    /// The errors of reading the file.
    fn has_all_notes(&mut self, table: &Table) -> Result<bool> {
        let _ = table;
        Ok(true)
    }

    /// Calls `visit` with the rows that have these names, in the order of the names; a name without
    /// a row is left out. A backend without a history has none.
    ///
    /// # Errors
    /// The errors of reading the file; rows already visited are valid.
    fn named(
        &mut self,
        table: NamedTable,
        names: &[&[u8]],
        visit: &mut dyn FnMut(NamedRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let _ = (table, names, visit);
        Ok(())
    }

    /// Calls `visit` with all rows of a table of named bytes from the latest one back to the first;
    /// with those whose numbers are smaller than `below`, if it is given.
    ///
    /// # Errors
    /// The errors of reading the file; rows already visited are valid.
    fn all_named(
        &mut self,
        table: NamedTable,
        below: Option<i64>,
        visit: &mut dyn FnMut(NamedRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let _ = (table, below, visit);
        Ok(())
    }

    /// How far the table's indexes are complete, as this snapshot sees them. Called before each
    /// query that an index may serve, so it should not read the storage each time.
    ///
    /// # Errors
    /// The errors of reading the file.
    fn indexes(&mut self, table: &Table) -> Result<Indexes>;
}
