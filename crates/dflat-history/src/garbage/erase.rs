//! Takes objects out of a history.

use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::storage::WriteTransaction;
use dflat_engine::transaction::Transaction;
use dflat_model::Table;

use super::collect::collect_through;
use super::mark::KeepTrees;
use crate::chunk::ChunkStore;
use crate::commits::{
    Erased, FileStore, building, count_collection, count_rebuild, delete_uncollected,
    forget_in_commits, put_building, put_uncollected, uncollected,
};
use crate::received::{self, ObjectKeys};
use crate::steps::without_objects;
use crate::tree::{Edit, Trees};

/// How much of an object was forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForgottenObject {
    /// The number of its changes in steps and in commits of other files.
    pub changes: u64,
    /// The number of commits that had it.
    pub commits: u64,
}

/// Deletes objects, which the tables do not have, from all steps, received changes and trees of
/// commits. [`collect_erased`] deletes the nodes of the trees before.
///
/// # Errors
/// [`Corrupt`](dflat_engine::ErrorKind::Corrupt) if the history is damaged; otherwise the errors of
/// reading and writing.
pub(super) fn erase(
    writer: &mut dyn WriteTransaction,
    store: &Arc<FileStore>,
    tables: &[Table],
    objects: &ObjectKeys,
) -> Result<ForgottenObject> {
    let trees = Trees::new(Arc::clone(store) as Arc<dyn ChunkStore>);
    let presence = without_objects(writer, tables, objects)?;
    let erased = Erased {
        objects,
        presence: &presence,
    };
    forget_in_building(writer, &trees, objects)?;
    let commits = forget_in_commits(writer, (store, &trees), &erased)?;
    count_rebuild(writer)?;
    // Order: after the commits, because the changes tell which of them have the objects.
    let received = received::without_objects(writer, objects)?;
    // Trees that others are building may have the objects.
    count_collection(writer)?;
    put_uncollected(writer)?;
    Ok(ForgottenObject {
        changes: presence.changes + received,
        commits,
    })
}

/// Takes objects out of trees that are being built: no step says any more that they were deleted.
fn forget_in_building(
    writer: &mut dyn WriteTransaction,
    trees: &Trees,
    objects: &ObjectKeys,
) -> Result<()> {
    for (table, keys) in objects {
        if let Some(mut of) = building(writer, table)? {
            let edits = keys.iter().map(|key| Edit::delete(key.as_slice()));
            of.root = trees.apply(&of.root, edits)?;
            put_building(writer, table, &of)?;
        }
    }
    Ok(())
}

/// Collects the nodes of trees with objects that were forgotten, if that is not done yet. `table`
/// is any table, and `tables` are all versioned ones.
///
/// # Errors
/// Those of [`collect_through`].
pub(super) fn collect_erased(engine: &Engine, table: &Table, tables: &[Table]) -> Result<()> {
    let Some(note) = engine.read_history(uncollected)? else {
        return Ok(());
    };
    collect_through(engine, table, tables, &KeepTrees::ALL)?;
    let options = PerformOptions { write_first: true };
    let handler = |transaction: &std::rc::Rc<Transaction>| {
        transaction.write_history(table, |writer| delete_uncollected(writer, &note))
    };
    engine.perform_here([table.clone()], options, handler, |_| ())
}
