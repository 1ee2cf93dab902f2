//! Readers leave nothing behind.

use dflat::Workspace;
use dflat_testkit::schema::Item;

use crate::writing::groups::insert;

/// A workspace with some items.
fn filled(directory: &tempfile::TempDir) -> Workspace {
    let workspace = Workspace::open(directory.path().join("a.db")).unwrap();
    let created = workspace.perform_changes([Item::TABLE], |tx| {
        (0..100).try_for_each(|n| insert(tx, &format!("item {n}")))
    });
    created.wait().unwrap();
    workspace
}

#[test]
fn builders_and_iterators_that_are_dropped_leave_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = filled(&directory);
    for taken in 0..3 {
        drop(workspace.fetch::<Item>());
        let mut items = workspace.fetch::<Item>().iter().unwrap();
        assert_eq!(
            items.by_ref().take(taken).filter(Result::is_ok).count(),
            taken
        );
        drop(items);
        let snapshot = workspace.snapshot().unwrap();
        drop(snapshot.fetch::<Item>());
        let mut items = snapshot.fetch::<Item>().iter().unwrap();
        assert_eq!(
            items.by_ref().take(taken).filter(Result::is_ok).count(),
            taken
        );
        drop(items);
        drop(snapshot);
        assert_eq!(workspace.stats().oldest_snapshot, None);
        // A reader of an older state would prevent this.
        workspace.purge().unwrap();
    }
}

#[test]
fn snapshots_nest_and_do_not_use_up_the_readers() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = filled(&directory);
    let mut held = Vec::new();
    for n in 0..100_usize {
        held.push(workspace.snapshot().unwrap());
        let created =
            workspace.perform_changes([Item::TABLE], move |tx| insert(tx, &format!("more {n}")));
        created.wait().unwrap();
    }
    for (n, snapshot) in held.iter().enumerate() {
        assert_eq!(snapshot.fetch::<Item>().count().unwrap(), 100 + n);
    }
    assert_eq!(workspace.fetch::<Item>().count().unwrap(), 200);
    drop(held);
    workspace.purge().unwrap();
}
