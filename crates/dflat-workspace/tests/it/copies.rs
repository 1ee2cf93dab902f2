//! Copies of objects from one workspace into another.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use dflat_engine::dictionary::Value as Item;
use dflat_engine::engine::PerformOptions;
use dflat_model::Table;
use dflat_workspace::{
    Copied, CopyPhase, CopyState, ErrorKind, FileOptions, OnConflict, Operation, Workspace,
    WorkspaceCopy,
};

use crate::posts::{fetch, fill, payload, table, titles};

/// The payloads of all objects, in order of insertion.
fn payloads(workspace: &Workspace, table: &Table) -> Vec<Vec<u8>> {
    let fetched = fetch(workspace, table).all().unwrap();
    let objects = fetched.objects.iter();
    objects.map(|object| object.payload().to_vec()).collect()
}

fn upsert(workspace: &Workspace, table: &Table, payload: &[u8]) {
    let options = PerformOptions { write_first: true };
    let done = workspace.perform_blocking([table.clone()], options, |tx| {
        tx.submit(table, Operation::Upsert { payload }, None)
    });
    drop(done.unwrap());
}

fn counts(inserted: u64, replaced: u64, unchanged: u64, kept: u64) -> [u64; 4] {
    [inserted, replaced, unchanged, kept]
}

fn of(copied: Copied) -> [u64; 4] {
    counts(
        copied.inserted,
        copied.replaced,
        copied.unchanged,
        copied.kept,
    )
}

fn go_on(_: CopyState) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn a_copy_has_the_bytes_and_the_order_of_the_objects_and_reports_its_progress() {
    let (from, to, table) = (Workspace::in_memory(), Workspace::in_memory(), table("1"));
    fill(&from, &table, 25);
    // The last one in order of the keys is the first one in order of insertion.
    upsert(&from, &table, &payload("a", 7));
    let mut copy = WorkspaceCopy::new(vec![table.clone()]);
    copy.set_batch_size(NonZeroUsize::new(10).unwrap());
    let mut states = Vec::new();
    let copied = copy.run(&from, &to, &mut |state| {
        states.push((state.phase, state.done, state.total));
        ControlFlow::Continue(())
    });
    assert_eq!(of(copied.unwrap()), counts(26, 0, 0, 0));
    assert_eq!(payloads(&to, &table), payloads(&from, &table));
    let writing = [10, 20, 26].map(|done| (CopyPhase::Writing, done, 26));
    assert_eq!(states[..3], writing);
    assert_eq!(states[3..], [(CopyPhase::Comparing, 26, 26)]);
}

#[test]
fn a_copy_that_was_cancelled_is_completed_by_another_run() {
    let (from, to, table) = (Workspace::in_memory(), Workspace::in_memory(), table("1"));
    fill(&from, &table, 25);
    let mut copy = WorkspaceCopy::new(vec![table.clone()]);
    copy.set_batch_size(NonZeroUsize::new(10).unwrap());
    let cancelled = copy.run(&from, &to, &mut |state| match state.done {
        20 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(titles(&to, &table).len(), 20);
    let copied = copy.run(&from, &to, &mut go_on).unwrap();
    assert_eq!(of(copied), counts(5, 0, 0, 20));
    assert_eq!(payloads(&to, &table), payloads(&from, &table));
    let panicked = copy.run(&from, &to, &mut |_| panic!("a mistake of the program"));
    assert_eq!(panicked.unwrap_err().kind(), ErrorKind::Panicked);
}

#[test]
fn an_object_with_other_values_is_kept_and_named_or_replaced_or_ends_the_copy() {
    let (from, to, table) = (Workspace::in_memory(), Workspace::in_memory(), table("1"));
    fill(&from, &table, 5);
    upsert(&to, &table, &payload("post 2", 99));
    upsert(&to, &table, &payload("another", 1));
    let mut copy = WorkspaceCopy::new(vec![table.clone()]);

    copy.set_on_conflict(OnConflict::Fail);
    let failed = copy.run(&from, &to, &mut go_on).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::AlreadyExists);
    assert_eq!(titles(&to, &table).len(), 2);

    copy.set_on_conflict(OnConflict::Keep);
    let differs = copy.run(&from, &to, &mut go_on).unwrap_err();
    assert_eq!(differs.kind(), ErrorKind::AlreadyExists);
    let message = "cannot confirm the copy of Post: in the target, the object with title = \
                   \"post 2\" has other values";
    assert_eq!(differs.to_string(), message);
    copy.set_compares(false);
    assert_eq!(
        of(copy.run(&from, &to, &mut go_on).unwrap()),
        counts(0, 0, 0, 5)
    );

    copy.set_on_conflict(OnConflict::Replace);
    copy.set_compares(true);
    assert_eq!(
        of(copy.run(&from, &to, &mut go_on).unwrap()),
        counts(0, 1, 4, 0)
    );
    assert_eq!(titles(&to, &table).len(), 6);
}

#[test]
fn the_comparison_finds_objects_that_are_deleted_meanwhile() {
    let (from, to, table) = (Workspace::in_memory(), Workspace::in_memory(), table("1"));
    fill(&from, &table, 2500);
    let copy = WorkspaceCopy::new(vec![table.clone()]);
    let other = to.clone();
    let doomed = table.clone();
    let failed = std::thread::scope(|scope| {
        copy.run(&from, &to, &mut |state| {
            if state.phase == CopyPhase::Writing && state.done == state.total {
                // Another program; a callback may not wait.
                let deletes = || {
                    let options = PerformOptions::default();
                    let done = other.perform_blocking([doomed.clone()], options, |tx| {
                        tx.delete_where(&doomed, crate::posts::below(&doomed, 3))
                    });
                    assert_eq!(done.unwrap(), 3);
                };
                scope.spawn(deletes).join().unwrap();
            }
            ControlFlow::Continue(())
        })
    });
    let failed = failed.unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::NotFound);
    let end = "is missing, and 2 more objects of the type differ";
    assert!(failed.to_string().ends_with(end), "{failed}");
}

#[test]
fn the_dictionary_is_copied_with_its_namespaces() {
    let (from, to) = (Workspace::in_memory(), Workspace::in_memory());
    let space = from.dictionary().namespace("settings");
    for number in 0..30 {
        let key = format!("key {number}");
        space.set(&key, Some(Item::I64(number))).unwrap();
    }
    from.dictionary()
        .set("key 1", Some(Item::Text("one".into())))
        .unwrap();
    to.dictionary()
        .namespace("settings")
        .set("key 1", Some(Item::Bool(true)))
        .unwrap();
    let mut copy = WorkspaceCopy::new(Vec::new());
    copy.add_dictionary();
    copy.set_batch_size(NonZeroUsize::new(7).unwrap());
    let differs = copy.run(&from, &to, &mut go_on).unwrap_err();
    assert_eq!(differs.kind(), ErrorKind::AlreadyExists);
    copy.set_on_conflict(OnConflict::Replace);
    let copied = copy.run(&from, &to, &mut go_on).unwrap();
    assert_eq!(of(copied), counts(0, 1, 30, 0));
    let entries = |workspace: &Workspace, space| {
        let dictionary = workspace.dictionary();
        dictionary.namespace(space).entries("").unwrap()
    };
    assert_eq!(entries(&to, "settings"), entries(&from, "settings"));
    assert_eq!(entries(&to, ""), entries(&from, ""));
}

/// A copy that replaces objects would write old states over those that were committed meanwhile.
#[test]
fn a_copy_into_the_same_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (path, table) = (directory.path().join("a.db"), table("1"));
    let open = || Workspace::open(&path, &FileOptions::default()).unwrap();
    let (one, other) = (open(), open());
    fill(&one, &table, 5);
    let mut copy = WorkspaceCopy::new(vec![table.clone()]);
    copy.set_on_conflict(OnConflict::Replace);
    for target in [&one, &other, &one.clone()] {
        let error = copy.run(&one, target, &mut go_on).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    let memory = Workspace::in_memory();
    assert!(copy.run(&memory, &memory, &mut go_on).is_err());
}
