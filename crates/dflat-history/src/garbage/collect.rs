//! Deletes what is not needed, in small transactions.

use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::storage::{NamedTable, Snapshot};
use dflat_engine::transaction::Transaction;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use super::mark::{KeepTrees, Marked, mark, tips};
use crate::chunk::ChunkStore;
use crate::commits::{CommitId, FileStore, collections, count_collection, rebuilds};
use crate::received::commit_of;
use crate::tree::Trees;

/// The rows that one transaction looks at, and so the most that it deletes.
const ROWS: usize = 512;

/// How often a collection begins anew because branches have changed meanwhile.
const TRIES: u32 = 100;

/// The outcome of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Collected {
    /// The number of deleted commits.
    pub commits: u64,
    /// The number of deleted nodes.
    pub nodes: u64,
    /// The bytes of these nodes, and of the changes of received commits.
    pub bytes: u64,
}

/// The rows that a pass over a table has found: their names and the number of their bytes.
type Rows = Vec<(Vec<u8>, u64)>;

/// Deletes the commits that no branch has, and the nodes of trees that are not kept or whose type
/// is not versioned. `tables` are all versioned tables.
///
/// # Errors
/// - [`ErrorKind::Corrupt`] if a commit or a node is damaged or missing.
/// - [`ErrorKind::Busy`] if others make commits, or collect, again and again.
/// - Otherwise those of [`Engine::perform_here`].
pub fn collect(engine: &Engine, tables: &[Table], keep: &KeepTrees) -> Result<Collected> {
    match tables.first() {
        Some(first) => collect_through(engine, first, tables, keep),
        None => Ok(Collected::default()),
    }
}

/// As [`collect`], in transactions on `table`, which need not be versioned.
///
/// # Errors
/// As [`collect`].
pub fn collect_through(
    engine: &Engine,
    table: &Table,
    tables: &[Table],
    keep: &KeepTrees,
) -> Result<Collected> {
    let mut collected = Collected::default();
    for _ in 0..TRIES {
        let trees = Trees::with_cache(FileStore::new(engine) as Arc<dyn ChunkStore>, 0);
        let before = engine.read_history(collections)?;
        let marked = match mark(engine, &trees, tables, keep) {
            // Another collection has deleted nodes that were marked.
            Err(error)
                if error.kind() == ErrorKind::Corrupt
                    && engine.read_history(collections)? != before =>
            {
                continue;
            }
            marked => marked?,
        };
        let mut sweep = Sweep {
            engine,
            table,
            trees: &trees,
            marked,
            collected: &mut collected,
        };
        if sweep.commits()? && sweep.parts()? && sweep.nodes()? {
            return Ok(collected);
        }
    }
    let message = "cannot collect garbage: others make commits, or collect, again and again";
    Err(Error::new(ErrorKind::Busy, message))
}

struct Sweep<'s> {
    engine: &'s Engine,
    table: &'s Table,
    trees: &'s Trees,
    marked: Marked,
    collected: &'s mut Collected,
}

impl Sweep<'_> {
    /// Deletes commits. False if the branches have changed since the marking.
    fn commits(&mut self) -> Result<bool> {
        let mut below = None;
        loop {
            let is_needed = |name: &[u8]| {
                let id = name.try_into().map(CommitId::from_bytes);
                id.is_ok_and(|id| self.marked.commits.contains(&id))
            };
            let pass = self.pass(NamedTable::Commits, &mut below, &is_needed)?;
            let Some(mut garbage) = pass else {
                return Ok(true);
            };
            if !self.delete(NamedTable::Commits, &mut garbage)? {
                return Ok(false);
            }
            self.collected.commits += garbage.len() as u64;
        }
    }

    /// Deletes the changes of received commits that are not there. The latest parts go first, so
    /// all parts before a part are always there. False if the branches have changed.
    fn parts(&mut self) -> Result<bool> {
        let mut below = None;
        loop {
            let is_needed = |name: &[u8]| {
                let commit = commit_of(name);
                commit.is_some_and(|commit| self.marked.needs_parts(commit))
            };
            let pass = self.pass(NamedTable::Received, &mut below, &is_needed)?;
            let Some(mut garbage) = pass else {
                return Ok(true);
            };
            if !self.delete(NamedTable::Received, &mut garbage)? {
                return Ok(false);
            }
            self.collected.bytes += garbage.iter().map(|(_, bytes)| bytes).sum::<u64>();
        }
    }

    /// Deletes nodes. A node stands behind its children, so the latest go first: no node is ever
    /// there without its children.
    fn nodes(&mut self) -> Result<bool> {
        let mut below = None;
        loop {
            let is_needed = |name: &[u8]| self.marked.has_node(name);
            let pass = self.pass(NamedTable::Chunks, &mut below, &is_needed)?;
            let Some(mut garbage) = pass else {
                return Ok(true);
            };
            if !self.delete(NamedTable::Chunks, &mut garbage)? {
                return Ok(false);
            }
            self.collected.nodes += garbage.len() as u64;
            self.collected.bytes += garbage.iter().map(|(_, bytes)| bytes).sum::<u64>();
        }
    }

    /// The rows among the next ones that are not needed; `None` after the first row.
    fn pass(
        &self,
        of: NamedTable,
        below: &mut Option<i64>,
        is_needed: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<Rows>> {
        let (mut garbage, mut count) = (Rows::new(), 0);
        self.engine.read_history(|snapshot| {
            snapshot.all_named(of, *below, &mut |row| {
                (*below, count) = (Some(row.id), count + 1);
                if !is_needed(row.name) {
                    garbage.push((row.name.to_vec(), row.bytes.len() as u64));
                }
                match count < ROWS {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            })
        })?;
        Ok((count > 0).then_some(garbage))
    }

    /// Deletes rows in a transaction, unless the branches have changed. The rows that were not
    /// deleted, because trees that are being built need them now, are taken out.
    fn delete(&mut self, of: NamedTable, rows: &mut Rows) -> Result<bool> {
        if rows.is_empty() {
            return Ok(true);
        }
        let options = PerformOptions { write_first: true };
        let handler = |transaction: &Rc<Transaction>| {
            transaction.write_history(self.table, |writer| {
                let snapshot: &mut dyn Snapshot = writer;
                let is_same = tips(snapshot)? == self.marked.tips
                    && rebuilds(snapshot)? == self.marked.rebuilds;
                if !is_same {
                    return Ok(false);
                }
                self.marked.add_building(snapshot, self.trees)?;
                rows.retain(|(name, _)| of != NamedTable::Chunks || !self.marked.has_node(name));
                count_collection(writer)?;
                for (name, _) in &*rows {
                    writer.delete_named(of, name)?;
                }
                Ok(true)
            })
        };
        self.engine
            .perform_here([self.table.clone()], options, handler, |_| ())
    }
}
