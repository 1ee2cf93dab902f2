//! The commit whose objects the tables have, before a merge or a move of a branch.

use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::engine::Engine;
use dflat_engine::storage::{ScanPlan, Snapshot, Source};
use dflat_model::Table;

use crate::commits::{self, CommitId, closed, head, load};

/// Commits the present state, and returns the commit. A file without objects needs no commit if its
/// branch has none, or only a first one without objects: it takes a commit of another file as it
/// is.
///
/// # Errors
/// Those of [`commit`](commits::commit).
pub(crate) fn start(engine: &Engine, tables: &[Table]) -> Result<Option<CommitId>> {
    let is_blank =
        !tables.is_empty() && engine.read_history(|snapshot| is_blank(snapshot, tables))?;
    match is_blank {
        true => Ok(None),
        false => commits::commit(engine, tables, None).map(Some),
    }
}

/// Whether the tables still have the objects of a commit that [`start`] has returned.
///
/// # Errors
/// The errors of reading.
pub(super) fn is_there(
    snapshot: &mut dyn Snapshot,
    tables: &[Table],
    ours: Option<CommitId>,
) -> Result<bool> {
    let head = head(snapshot)?;
    match ours {
        Some(_) => Ok(head.commit == ours && closed(snapshot, &head.place())?.0 == 0),
        None => is_blank(snapshot, tables),
    }
}

fn is_blank(snapshot: &mut dyn Snapshot, tables: &[Table]) -> Result<bool> {
    if let Some(id) = head(snapshot)?.commit {
        let commit = load(snapshot, id)?;
        let objects = commit.tables.iter().map(|table| table.objects).sum::<u64>();
        if objects > 0 || !commit.parents.is_empty() {
            return Ok(false);
        }
    }
    let mut is_blank = true;
    for table in tables {
        let plan = ScanPlan {
            table,
            source: Source::Rows,
            payload: false,
        };
        snapshot.scan(&plan, &mut |_| {
            is_blank = false;
            ControlFlow::Break(())
        })?;
    }
    Ok(is_blank)
}
