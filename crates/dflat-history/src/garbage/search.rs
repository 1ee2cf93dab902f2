//! Finds the objects of a history that have one of some marks.

use std::ops::ControlFlow;

use dflat_engine::storage::{NamedTable, ScanPlan, Snapshot, Source, StepId};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use crate::chunk::Chunk;
use crate::commits::{Content, Marks, has_trees, head, load};
use crate::node::Node;
use crate::received::{ObjectKeys, Part};
use crate::steps::{Backwards, each_key};

/// The number of keys between two looks at the time.
const KEYS_PER_CHECK: u64 = 1024;

/// The place up to which a history was searched: the latest step, and the latest rows of the tables
/// of received changes and of nodes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Searched {
    has_rows: bool,
    step: Option<StepId>,
    part: Option<i64>,
    node: Option<i64>,
}

/// A search for objects by their marks. Each key of the history is compared with all marks at once.
pub(super) struct Search<'s> {
    pub(super) tables: &'s [Table],
    pub(super) marks: &'s Marks,
    /// Fails once the search has taken too long.
    pub(super) check: &'s dyn Fn() -> Result<()>,
    /// The objects that were found.
    pub(super) found: ObjectKeys,
    /// The number of keys that were compared.
    pub(super) keys: u64,
}

impl Search<'_> {
    /// Searches the history behind a place. The first search begins at the default place, and reads
    /// the objects of the tables, too, if there are no trees of them.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the history is damaged; otherwise the errors of reading and of the
    /// check.
    pub(super) fn run(&mut self, snapshot: &mut dyn Snapshot, from: Searched) -> Result<Searched> {
        if !from.has_rows {
            self.rows(snapshot)?;
        }
        Ok(Searched {
            has_rows: true,
            step: self.steps(snapshot, from.step)?,
            part: self.named(snapshot, NamedTable::Received, from.part)?,
            node: self.named(snapshot, NamedTable::Chunks, from.node)?,
        })
    }

    fn compare(&mut self, table: &Table, key: &[u8]) -> Result<()> {
        if self.keys.is_multiple_of(KEYS_PER_CHECK) {
            (self.check)()?;
        }
        self.keys += 1;
        if self.marks.has(&table.name, key) {
            let of_table = self.found.entry(table.name.to_string()).or_default();
            of_table.insert(key.to_vec());
        }
        Ok(())
    }

    /// Compares the objects of the tables without a tree: neither nodes nor steps have their keys.
    fn rows(&mut self, snapshot: &mut dyn Snapshot) -> Result<()> {
        let commit = head(snapshot)?.commit;
        let commit = commit.map(|id| load(snapshot, id)).transpose()?;
        for table in self.tables {
            let of = commit
                .as_ref()
                .and_then(|commit| commit.tables.iter().find(|of| of.name == *table.name))
                // The type was not versioned for a time, in which objects were written.
                .filter(|of| !of.is_forgotten);
            let is_kept = match of.and_then(|of| of.kept()) {
                Some(root) => has_trees(snapshot, [root])?,
                None => false,
            };
            if is_kept {
                continue;
            }
            let content = Content::of(table);
            let plan = ScanPlan {
                table,
                source: Source::Rows,
                payload: true,
            };
            let mut done = Ok(());
            snapshot.scan(&plan, &mut |row| {
                if let Some(key) = content.key(row.payload) {
                    done = self.compare(table, &key);
                }
                flow(&done)
            })?;
            done?;
        }
        Ok(())
    }

    fn steps(
        &mut self,
        snapshot: &mut dyn Snapshot,
        after: Option<StepId>,
    ) -> Result<Option<StepId>> {
        let (mut steps, mut latest) = (Backwards::below(None), None);
        let tables = self.tables;
        while let Some(step) = steps.next(snapshot)?
            && Some(step.id) > after
        {
            latest = latest.max(Some(step.id));
            each_key(&step, tables, &mut |table, key| self.compare(table, key))?;
        }
        Ok(latest.or(after))
    }

    /// Compares the keys of received changes or of nodes, the latest ones first.
    fn named(
        &mut self,
        snapshot: &mut dyn Snapshot,
        of: NamedTable,
        after: Option<i64>,
    ) -> Result<Option<i64>> {
        let (mut latest, mut done) = (None, Ok(()));
        snapshot.all_named(of, None, &mut |row| {
            if Some(row.id) <= after {
                return ControlFlow::Break(());
            }
            latest = latest.max(Some(row.id));
            done = match of {
                NamedTable::Received => self.part(row.bytes),
                _ => self.node(row.bytes),
            };
            flow(&done)
        })?;
        done?;
        Ok(latest.or(after))
    }

    fn part(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(part) = Part::read(bytes, None) else {
            let message = "cannot read the changes of a received commit: they are damaged";
            return Err(Error::new(ErrorKind::Corrupt, message));
        };
        let tables = self.tables;
        for (name, key, _) in part.changes() {
            if let Some(table) = tables.iter().find(|table| table.name == name) {
                self.compare(table, key)?;
            }
        }
        Ok(())
    }

    /// Compares the keys of a leaf. Nodes above have no others, and no node names its table.
    fn node(&mut self, bytes: &[u8]) -> Result<()> {
        let node = Node::read(Chunk::new(bytes))?;
        let (view, tables) = (node.view(), self.tables);
        if view.level() > 0 {
            return Ok(());
        }
        for table in tables {
            for (key, _) in view.pairs() {
                self.compare(table, key)?;
            }
        }
        Ok(())
    }
}

fn flow(done: &Result<()>) -> ControlFlow<()> {
    match done {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    }
}
