//! Finds the rows of an earlier state that differ from the present one.

use dflat_engine::Result;
use dflat_engine::storage::Snapshot;
use dflat_model::Table;

use super::forward::{changes_of, forward};
use super::overlay::Overlay;
use super::place::{Moment, is_before_all, is_reached, missing};
use crate::steps::{Backwards, CommitId};

impl Overlay {
    /// Goes back over all steps after a moment.
    ///
    /// # Errors
    /// See [`PastBackend::open`](super::PastBackend::open).
    pub(crate) fn build(
        snapshot: &mut dyn Snapshot,
        tables: &[Table],
        moment: Moment,
    ) -> Result<Self> {
        let mut overlay = Self::default();
        let mut steps = Backwards::below(None);
        let reached = loop {
            let Some(step) = steps.next(snapshot)? else {
                break is_before_all(&moment)?;
            };
            if let Some(reached) = is_reached(&step, &moment)? {
                match moment {
                    Moment::Step(id) if step.id != id => return Err(missing(id)),
                    _ => break reached,
                }
            }
            overlay.reverse(snapshot, tables, &step)?;
        };
        match reached.is_empty {
            true => overlay.empty(tables),
            false => overlay.index(tables),
        }
        if let Moment::Commit(place) = moment
            && let Some(received) = place.received.get(..reached.received)
        {
            overlay.receive(snapshot, tables, received)?;
        }
        Ok(overlay)
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
