//! The trees of present states, from all objects.

use std::ops::{Bound, ControlFlow};

use dflat_engine::storage::{Key, KeyScan, ScanPlan, Snapshot, Source};
use dflat_engine::{Error, Result};
use dflat_model::{Direction, Table};

use super::content::Content;
use crate::tree::{Root, Trees};

/// Builds the tree of all objects of a table. `rest` is called between objects, to write the nodes
/// so far.
///
/// # Errors
/// The errors of reading, of the objects and of `rest`.
pub(super) fn grow(
    trees: &Trees,
    snapshot: &mut dyn Snapshot,
    table: &Table,
    rest: &mut dyn FnMut() -> Result<()>,
) -> Result<Root> {
    let content = Content::of(table);
    let mut builder = trees.builder();
    let plan = ScanPlan {
        table,
        source: Source::Key(KeyScan {
            key: Key::Primary,
            prefix: &[],
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            direction: Direction::Ascending,
            after: None,
        }),
        payload: true,
    };
    let mut failed: Option<Error> = None;
    snapshot.scan(&plan, &mut |row| {
        let pushed = content.entry(row.row_id, row.payload).and_then(|entry| {
            if let Some((key, hash)) = entry {
                builder.push(&key, &hash)?;
            }
            rest()
        });
        match pushed {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    match failed {
        Some(error) => Err(error),
        None => builder.finish(),
    }
}
