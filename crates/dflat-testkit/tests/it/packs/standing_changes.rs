//! Files on packs that other programs use, and objects that share a unique value.

use dflat::{ChangeRequest, ErrorKind, Workspace};
use dflat_pack::StandingBackend;
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::schema::{Item, ItemData, Other, OtherData};

use super::standing::{file, item, items, on, put, ranks};

/// A key of its transaction could be that of an object of the pack.
#[test]
fn process_that_opened_the_file_without_the_pack_no_longer_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.db");
    let pack = items(directory.path());
    let open = || SqliteBackend::open(&path, SqliteOptions::default()).unwrap();
    let before = on(open());
    let other = ChangeRequest::<Other>::creation(OtherData { id: 1, note: None });
    let create = |request| {
        before.perform_changes_blocking([Other::TABLE], |tx| tx.submit(request).map(drop))
    };
    create(other).unwrap();
    // A connection that reads is open from now on.
    assert_eq!(ranks(&before).len(), 0);
    let standing = on(StandingBackend::new(file(&path), pack.untyped().clone()));
    put(&standing, "i3", 33).unwrap();
    for id in ["i1", "new", "newer"] {
        let error = put(&before, id, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains("stands on a pack"), "{error}");
    }
    let mut expected: Vec<i32> = (0..10).collect();
    expected[3] = 33;
    assert_eq!(ranks(&standing), expected);
    put(&standing, "i1", 11).unwrap();
}

/// A pack may have objects that share a value of a unique index, as a file whose index was added.
#[test]
fn objects_that_share_a_unique_value_in_the_pack_are_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.db");
    let shared = |rank| ItemData {
        code: Some("same".to_owned()),
        ..item(&format!("i{rank}"), rank)
    };
    let all = (0..4).map(shared);
    let pack = dflat::pack::Pack::build::<Item>(directory.path(), all).unwrap();
    let workspace = on(StandingBackend::new(file(&path), pack.untyped().clone()));
    let change = |data: ItemData| {
        workspace.perform_changes_blocking([Item::TABLE], |tx| {
            tx.submit(ChangeRequest::<Item>::upsert(data)).map(drop)
        })
    };
    for rank in 0..3 {
        let data = ItemData {
            rank: rank + 10,
            ..shared(rank)
        };
        change(data).unwrap();
    }
    assert_eq!(ranks(&workspace), [10, 11, 12, 3]);
    let of_code = || {
        let found = workspace.fetch::<Item>().filter(Item::CODE.eq("same"));
        found.count().unwrap()
    };
    assert_eq!(of_code(), 4);
    // A changed value must be unique.
    let taken = ItemData {
        code: Some("own".to_owned()),
        ..item("other", 5)
    };
    change(taken.clone()).unwrap();
    let error = change(ItemData {
        id: "i1".to_owned(),
        ..taken
    });
    assert_eq!(error.unwrap_err().kind(), ErrorKind::AlreadyExists);
    change(item("i1", 1)).unwrap();
    assert_eq!((ranks(&workspace), of_code()), (vec![10, 1, 12, 3, 5], 3));
}

/// No program could read the history later.
#[test]
fn file_with_a_versioned_type_does_not_stand_on_a_pack() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.db");
    let pack = items(directory.path());
    let workspace = Workspace::builder(&path)
        .versioned::<Other>()
        .open()
        .unwrap();
    let other = ChangeRequest::<Other>::creation(OtherData { id: 1, note: None });
    let created =
        workspace.perform_changes_blocking([Other::TABLE], |tx| tx.submit(other).map(drop));
    created.unwrap();
    workspace.shutdown().unwrap();
    let opened = Workspace::builder(&path).standing_on(&pack).open();
    let error = opened.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("versioned"), "{error}");
}
