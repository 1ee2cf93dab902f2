//! A read of the history sees one state, while others write.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use dflat::{Object, Result};
use dflat_engine::storage::{
    Indexes, NamedRow, NamedTable, NotedRow, Row, ScanPlan, Snapshot, StepId, StepRow,
};
use dflat_history::compare::objects_at;
use dflat_model::{Table, ValueRef, key};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::Item;

use super::super::super::files::{delete, file, open, put};
use super::copying::{commits, engine};

/// A snapshot whose first read of steps comes after a write of another program.
struct Beside<'s, W> {
    snapshot: &'s mut dyn Snapshot,
    write: Option<W>,
}

impl<W: FnOnce() + Send> Snapshot for Beside<'_, W> {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.snapshot.scan(plan, visit)
    }

    fn steps(
        &mut self,
        below: Option<StepId>,
        visit: &mut dyn FnMut(StepRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        if let Some(write) = self.write.take() {
            write();
        }
        self.snapshot.steps(below, visit)
    }

    fn noted(
        &mut self,
        table: &Table,
        visit: &mut dyn FnMut(NotedRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.snapshot.noted(table, visit)
    }

    fn has_all_notes(&mut self, table: &Table) -> Result<bool> {
        self.snapshot.has_all_notes(table)
    }

    fn named(
        &mut self,
        table: NamedTable,
        names: &[&[u8]],
        visit: &mut dyn FnMut(NamedRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.snapshot.named(table, names, visit)
    }

    fn all_named(
        &mut self,
        table: NamedTable,
        below: Option<i64>,
        visit: &mut dyn FnMut(NamedRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.snapshot.all_named(table, below, visit)
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        self.snapshot.indexes(table)
    }
}

/// The rank of item `a` in the latest commit, of which rows are read before `write` and steps after
/// it.
fn rank_beside(path: &Path, write: impl FnOnce() + Send) -> Result<Option<i32>> {
    let head = commits(path).last().unwrap().id;
    let wanted = [(head, BTreeSet::from([key::encode([ValueRef::Text("a")])]))];
    let engine = engine(path)?;
    let found = engine.read_history(|snapshot| {
        let write = Some(write);
        let mut beside = Beside { snapshot, write };
        let found = objects_at(&mut beside, &Item::TABLE, &wanted);
        assert!(beside.write.is_none(), "no step was read");
        found
    });
    let mut payloads = found?
        .into_iter()
        .flatten()
        .map(|(_, (_, payload))| payload);
    let payload = payloads.next();
    Ok(payload.map(|payload| <Item as Object>::from_bytes(&payload).unwrap().rank()))
}

// A pull failed with a false `Corrupt` if the sending file was written at the same time.
#[test]
fn objects_of_a_commit_are_read_from_one_state_while_others_write() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        workspace.history().commit("first").unwrap();
        let updated = rank_beside(&path, || put(&workspace, "a", 2));
        assert_eq!(updated.unwrap(), Some(1));
        let deleted = rank_beside(&path, || delete(&workspace, "a"));
        assert_eq!(deleted.unwrap(), Some(1));
        let inserted = rank_beside(&path, || put(&workspace, "a", 3));
        assert_eq!(inserted.unwrap(), Some(1));
    });
}
