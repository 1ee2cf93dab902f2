//! Builds the trees of commits anew after they were collected as garbage.

use std::rc::Rc;
use std::sync::Arc;

use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::storage::{Backend, NamedTable, Snapshot, View, WriteTransaction};
use dflat_engine::transaction::Transaction;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use super::commit::Commit;
use super::forgotten::past;
use super::grow::grow;
use super::log::{load, place};
use super::make::{NODE_BYTES, TRIES, write_nodes};
use super::refs;
use super::store::{FileStore, has_trees};
use crate::chunk::ChunkStore;
use crate::past::Moment;
use crate::steps::CommitId;
use crate::tree::{Root, Trees};

/// Those of some commits whose trees are not whole in the file. `tables` are all versioned tables:
/// the trees of other types are not needed.
///
/// # Errors
/// As [`load`].
pub(crate) fn without_trees(
    snapshot: &mut dyn Snapshot,
    tables: &[Table],
    ids: impl IntoIterator<Item = CommitId>,
) -> Result<Vec<CommitId>> {
    let mut without = Vec::new();
    for id in ids {
        let commit = load(snapshot, id)?;
        let roots = tables.iter().map(|table| commit.kept_root(&table.name));
        let is_whole = match roots.collect::<Option<Vec<Root>>>() {
            Some(roots) => has_trees(snapshot, roots)?,
            None => false,
        };
        if !is_whole {
            without.push(id);
        }
    }
    Ok(without)
}

/// Builds the trees of a commit anew, if they were collected as garbage, from all objects of the
/// commit, beside writers. `tables` are all versioned tables. A collection may delete them again,
/// unless the commit is the last one of a branch.
///
/// # Errors
/// - [`ErrorKind::NotFound`] if there is no such commit, or the history of one of its types was
///   forgotten since.
/// - [`ErrorKind::Corrupt`] if the objects are not those of the commit.
/// - [`ErrorKind::Busy`] if others collect garbage again and again.
/// - Otherwise those of [`Engine::perform_here`].
pub fn ensure_trees(engine: &Engine, tables: &[Table], id: CommitId) -> Result<()> {
    for _ in 0..TRIES {
        // To find the place of a commit takes much longer.
        if engine.read_history(|snapshot| Ok(without_trees(snapshot, tables, [id])?.is_empty()))? {
            return Ok(());
        }
        let (commit, place, collections) = engine.read_history(|snapshot| {
            let commit = load(snapshot, id)?;
            let place = place(snapshot, id)?;
            Ok((commit, place, refs::collections(snapshot)?))
        })?;
        let mut lost = Vec::new();
        for table in tables {
            let is_there = match commit.kept_root(&table.name) {
                Some(root) => engine.read_history(|snapshot| has_trees(snapshot, [root]))?,
                None => false,
            };
            if !is_there {
                lost.push(table);
            }
        }
        let Some(first) = lost.first() else {
            continue;
        };
        let past = past(engine, tables, &Moment::Commit(place))?;
        let mut past = (past as Arc<dyn Backend>).snapshot(View::Pinned)?;
        let store = FileStore::new(engine);
        let mut rests = Vec::new();
        for table in &lost {
            let root = build(engine, past.as_mut(), (&commit, table), &store)?;
            rests.push((&*table.name, root));
        }
        let options = PerformOptions { write_first: true };
        let handler = |transaction: &Rc<Transaction>| {
            transaction.write_history(first, |writer| {
                // The first nodes may have been collected meanwhile.
                let is_whole = refs::collections(writer)? == collections;
                if is_whole {
                    store.write(writer)?;
                    put_rests(writer, id, &rests)?;
                    refs::count_rebuild(writer)?;
                }
                Ok(is_whole)
            })
        };
        if engine.perform_here([(*first).clone()], options, handler, |_| ())? {
            return Ok(());
        }
    }
    let message =
        format!("cannot build the trees of commit {id}: others collect garbage again and again");
    Err(Error::new(ErrorKind::Busy, message))
}

/// Notes the trees that were built of the objects that are left of a commit.
fn put_rests(
    writer: &mut dyn WriteTransaction,
    id: CommitId,
    rests: &[(&str, Root)],
) -> Result<()> {
    let mut commit = load(writer, id)?;
    let mut is_new = false;
    for of in commit.tables.iter_mut().filter(|of| of.kept().is_none()) {
        let built = rests.iter().find(|(name, _)| *name == of.name);
        of.rest = built.map(|(_, root)| *root);
        is_new |= of.rest.is_some();
    }
    match is_new {
        true => writer.put_named(NamedTable::Commits, id.as_bytes(), &commit.to_row()),
        false => Ok(()),
    }
}

/// Builds the tree of a table, and returns its root. If objects of the commit were forgotten, any
/// root is taken for the first tree of the others. Nodes are also written in transactions of their
/// own.
fn build(
    engine: &Engine,
    past: &mut dyn Snapshot,
    (commit, table): (&Commit, &Table),
    store: &Arc<FileStore>,
) -> Result<Root> {
    let trees = Trees::new(Arc::clone(store) as Arc<dyn ChunkStore>);
    let mut rest = || match store.new_bytes() > NODE_BYTES {
        true => write_nodes(engine, table, store),
        false => Ok(()),
    };
    let root = grow(&trees, past, table, &mut rest)?;
    if commit
        .kept_root(&table.name)
        .is_none_or(|known| known == root)
    {
        return Ok(root);
    }
    let message = format!(
        "cannot build the tree of {} as commit {} has it: the objects are others; a program has \
         changed objects and kept no history",
        table.type_name, commit.id
    );
    Err(Error::new(ErrorKind::Corrupt, message))
}
