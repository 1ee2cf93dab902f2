//! The device fails while changes without notes are found: they are in a step whole, or not yet.

use std::path::Path;

use dflat::history::Note;
use dflat::{ErrorKind, Result};
use dflat_testkit::fault::{self, Action, Device, Failure, Operation, Outcome};
use dflat_testkit::schema::Item;

use super::super::files::{open_durable, put, rank, sql};
use super::super::versions::commits::{built, last};

const FAILURES: [Action; 2] = [Action::Fail(Failure::Io), Action::Fail(Failure::NoSpace)];

/// Prevents notes, changes the item `a` and deletes the item `b`. Returns whether that was done.
fn stranger(path: &Path) -> bool {
    let update = super::super::files::payload("a", 1000);
    let update: String = update.iter().map(|byte| format!("{byte:02x}")).collect();
    let changes = format!(
        "BEGIN; DROP TRIGGER IF EXISTS \"dflat__history_item:updated\"; \
         DROP TRIGGER IF EXISTS \"dflat__history_item:moves\"; \
         DROP TRIGGER IF EXISTS \"dflat__history_item:deleted\"; \
         UPDATE item SET p = x'{update}' WHERE __pk0 = 'a'; \
         DELETE FROM item WHERE __pk0 = 'b'; COMMIT"
    );
    sql(path).execute_batch(&changes).is_ok()
}

/// Commits three items, has a stranger change two of them, and has them found.
fn workload(device: &Device) -> Outcome {
    let path = device.path();
    let workspace = open_durable(&path).map_err(|error| format!("cannot open: {error}"))?;
    let mut stored = true;
    for id in ["a", "b", "c"] {
        let data = super::super::files::data(id, 1);
        let done = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            tx.submit(dflat_testkit::schema::ItemChangeRequest::upsert(data))
        });
        stored &= done.is_ok();
    }
    let committed = workspace.history().commit("first").ok();
    let changed = stored && stranger(&path);
    let _ = workspace.history().log().count();
    let _ = workspace.history().commit("second");
    let _ = workspace.shutdown();
    device.heal();
    match (committed, changed) {
        (Some(first), true) => check(&path, first),
        _ => Ok(()),
    }
}

/// Checks that one step has the changes, and that the commit before has the other item alone.
fn check(path: &Path, first: dflat::history::CommitId) -> Outcome {
    let workspace = open_durable(path).map_err(|error| error.to_string())?;
    let log = workspace.history().log().collect::<Result<Vec<_>>>();
    let log = log.map_err(|error| error.to_string())?;
    let unknown: Vec<_> = log
        .iter()
        .filter(|step| step.note == Note::Unknown)
        .collect();
    let counts = |step: &dflat::history::Step| {
        let tables = step.tables.iter();
        tables
            .map(|table| (table.updated, table.deleted, table.has_unnoted))
            .collect::<Vec<_>>()
    };
    if unknown.len() != 1 || counts(unknown[0]) != [(1, 1, false)] {
        return Err(format!("the steps are {log:?}"));
    }
    workspace
        .history()
        .commit("third")
        .map_err(|error| error.to_string())?;
    if last(&workspace).root("item") != built::<Item>(path) {
        return Err("the last commit has another root than the items".to_owned());
    }
    let then = workspace.at(first).map_err(|error| error.to_string())?;
    if rank(&then, "c") != Some(1) {
        return Err("the item that nobody has changed is lost".to_owned());
    }
    for id in ["a", "b"] {
        match then.get::<Item>(id) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            found => return Err(format!("{id} was {found:?}")),
        }
    }
    put(&workspace, "a", 2);
    Ok(())
}

// Promise: storage-format#S58
#[test]
fn failed_write_or_sync_leaves_changes_without_notes_in_one_step() {
    let operations = [Operation::Write, Operation::Flush];
    fault::each(&operations, &FAILURES, workload);
}

#[test]
fn failed_read_leaves_changes_without_notes_in_one_step() {
    let failures = [Action::Fail(Failure::Io)];
    fault::each_sampled(&[Operation::Read], &failures, 12, workload);
}
