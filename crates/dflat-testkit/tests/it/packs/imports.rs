//! Objects of packs written into workspaces.

use std::sync::mpsc;

use dflat::OnConflict;
use dflat::pack::{Imported, Pack};
use dflat::{ErrorKind, Workspace};
use dflat_testkit::fixture::{Fixture, next};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData, Other, Task, TaskData};
use tempfile::TempDir;

fn item(number: i32, rank: i32) -> ItemData {
    ItemData {
        id: format!("{number:05}"),
        rank,
        ..ItemData::default()
    }
}

/// A pack of 1,234 items with rank 1.
fn pack() -> (Pack, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let items = (0..1234).rev().map(|number| item(number, 1));
    let pack = Pack::build::<Item>(directory.path(), items).unwrap();
    (pack, directory)
}

/// A workspace on a file with every second item, of rank 2, and one that the pack lacks.
fn half() -> Fixture {
    let fixture = Fixture::sqlite();
    let items = (0..1234)
        .step_by(2)
        .chain([5000])
        .map(|number| item(number, 2));
    fixture.create::<Item>(items);
    fixture
}

fn count(workspace: &Workspace, rank: i32) -> usize {
    workspace
        .fetch::<Item>()
        .filter(Item::RANK.eq(rank))
        .count()
        .unwrap()
}

#[test]
fn import_into_an_empty_workspace_writes_all_objects() {
    let (pack, directory) = pack();
    for fixture in [Fixture::memory(), Fixture::sqlite()] {
        let imported = fixture.import::<Item>(&pack, OnConflict::Fail).unwrap();
        let expected = Imported {
            written: 1234,
            kept: 0,
        };
        assert_eq!(imported, expected);
        // A pack of the imported objects is the pack.
        let again = fixture.fetch::<Item>().pack(directory.path()).unwrap();
        assert_eq!(again.digest(), pack.digest());
        assert!(fixture.stats().transactions >= 3);
    }
}

#[test]
fn import_of_large_objects_writes_few_in_each_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let items = (0..10).map(|rank| ItemData {
        id: format!("{rank:05}"),
        rank,
        name: Some("n".repeat(1 << 20)),
        ..ItemData::default()
    });
    let pack = Pack::build::<Item>(directory.path(), items).unwrap();
    let fixture = Fixture::sqlite();
    let imported = fixture.import::<Item>(&pack, OnConflict::Fail).unwrap();
    assert_eq!(imported.written, 10);
    // Each has 4 MiB and a little more.
    assert_eq!(fixture.stats().transactions, 3);
}

#[test]
fn conflict_keeps_the_chosen_object() {
    let (pack, _directory) = pack();
    let fixture = half();
    let imported = fixture.import::<Item>(&pack, OnConflict::Keep).unwrap();
    assert_eq!((imported.written, imported.kept), (617, 617));
    assert_eq!((count(&fixture, 1), count(&fixture, 2)), (617, 618));

    let fixture = half();
    let imported = fixture.import::<Item>(&pack, OnConflict::Replace).unwrap();
    assert_eq!((imported.written, imported.kept), (1234, 0));
    assert_eq!((count(&fixture, 1), count(&fixture, 2)), (1234, 1));

    let fixture = half();
    let error = fixture.import::<Item>(&pack, OnConflict::Fail).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    let message = "cannot import Item: the workspace has an object with the primary key \
                   id = \"00000\"; import with `OnConflict::Keep` or `OnConflict::Replace`";
    assert_eq!(error.to_string(), message);
    // The transaction that failed has written nothing.
    assert_eq!((count(&fixture, 1), count(&fixture, 2)), (0, 618));
}

#[test]
fn live_query_follows_an_import() {
    let (pack, _directory) = pack();
    let fixture = Fixture::sqlite();
    let (send, counts) = mpsc::channel();
    let query = fixture
        .fetch::<Item>()
        .filter(Item::RANK.eq(1))
        .live_count();
    let subscription = fixture
        .subscribe(query, move |count| send.send(count.unwrap()).unwrap())
        .unwrap();
    assert_eq!(next(&counts), 0);
    fixture.import::<Item>(&pack, OnConflict::Fail).unwrap();
    let mut last = 0;
    while last < 1234 {
        let now = next(&counts);
        assert!(now > last);
        last = now;
    }
    subscription.cancel();
    assert_eq!(last, 1234);
}

#[test]
fn import_of_a_missing_type_and_of_taken_unique_values_fails() {
    let (pack, directory) = pack();
    let fixture = Fixture::memory();
    let error = fixture
        .import::<Other>(&pack, OnConflict::Keep)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");

    let task = |id, slug: &str| TaskData {
        id,
        slug: Some(slug.into()),
        ..TaskData::default()
    };
    fixture.create::<Task>([task(1, "taken")]);
    let tasks = Pack::build::<Task>(directory.path(), [task(2, "taken")]).unwrap();
    let imported = fixture.import::<Task>(&tasks, OnConflict::Replace);
    let is_unique = Task::TABLE.indexes.iter().any(|index| index.unique);
    assert!(is_unique);
    assert_eq!(imported.unwrap_err().kind(), ErrorKind::AlreadyExists);
}

#[test]
fn import_goes_on_after_a_conflict_with_a_later_object() {
    let (pack, _directory) = pack();
    let fixture = Fixture::memory();
    fixture.create::<Item>([item(1100, 2)]);
    let error = fixture.import::<Item>(&pack, OnConflict::Fail).unwrap_err();
    assert!(error.to_string().contains("id = \"01100\""), "{error}");
    assert_eq!(count(&fixture, 1), 1000);
    let changed = fixture.perform_changes([Item::TABLE], |tx| {
        let object = tx.get::<Item>("00003")?.unwrap();
        let request = ItemChangeRequest::deletion(tx, &object)?.unwrap();
        tx.submit(request).map(drop)
    });
    changed.wait().unwrap();
    let imported = fixture.import::<Item>(&pack, OnConflict::Keep).unwrap();
    assert_eq!((imported.written, imported.kept), (234, 1000));
}
