//! Finds the rows of an earlier state that differ from the present one.

use dflat_engine::Result;
use dflat_engine::storage::Snapshot;
use dflat_model::Table;

use super::forward::{changes_of, forward};
use super::overlay::Overlay;
use super::place::{Moment, check_before_all, is_reached};
use crate::steps::{Backwards, CommitId, check_notes};

impl Overlay {
    /// Goes back over all steps after the place of a moment, and forward over the received commits
    /// that lead from there to the state.
    ///
    /// # Errors
    /// See [`PastBackend::open`](super::PastBackend::open).
    pub(crate) fn build(
        snapshot: &mut dyn Snapshot,
        tables: &[Table],
        moment: &Moment,
    ) -> Result<Self> {
        let mut overlay = Self::default();
        let (lacking, led_to): (Vec<Table>, Vec<Table>) = tables
            .iter()
            .cloned()
            .partition(|table| moment.lacks(table));
        if !moment.is_without_steps() {
            overlay.go_back(snapshot, &led_to, moment)?;
        }
        overlay.empty(&lacking);
        overlay.receive(snapshot, tables, moment.received())?;
        Ok(overlay)
    }

    fn go_back(
        &mut self,
        snapshot: &mut dyn Snapshot,
        tables: &[Table],
        moment: &Moment,
    ) -> Result<()> {
        check_notes(snapshot, tables)?;
        let mut steps = Backwards::below(None);
        loop {
            let Some(step) = steps.next(snapshot)? else {
                check_before_all(moment)?;
                break;
            };
            if is_reached(&step, moment)? {
                break;
            }
            self.reverse(snapshot, tables, &step)?;
        }
        self.index(tables);
        Ok(())
    }

    /// Goes forward over the changes of received commits, of which the last one comes first.
    fn receive(
        &mut self,
        snapshot: &mut dyn Snapshot,
        tables: &[Table],
        commits: &[CommitId],
    ) -> Result<()> {
        for (name, changes) in changes_of(snapshot, commits)? {
            // The history of a type that is versioned no more was deleted.
            if let Some(table) = tables.iter().find(|table| table.name == name) {
                forward(snapshot, table, self.table_mut(&name), changes)?;
            }
        }
        Ok(())
    }
}
