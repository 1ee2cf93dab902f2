//! Files: one engine for all workspaces of a process, and upkeep.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use dflat_engine::storage::CloseOptions;
use dflat_workspace::{Base, ErrorKind, FileOptions, Workspace, salvage};

use crate::posts::{fill, table, titles};

fn open(path: &Path) -> Workspace {
    Workspace::open(path, &FileOptions::default()).unwrap()
}

#[test]
fn workspaces_on_one_file_share_an_engine_and_end_on_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let (path, table) = (directory.path().join("a.db"), table("1"));
    let (first, second) = (open(&path), open(&path));
    assert!(first.engine().is_same(second.engine()));
    fill(&first, &table, 1);
    first.shutdown_with(Default::default()).unwrap();
    assert_eq!(titles(&second, &table), ["post 0"]);
    second.shutdown_with(Default::default()).unwrap();
    assert_eq!(titles(&open(&path), &table), ["post 0"]);
}

#[test]
fn an_open_file_refuses_another_value_of_an_option_that_was_set() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let mut options = FileOptions::default();
    options.threads_max(3);
    let first = Workspace::open(&path, &options).unwrap();
    let _not_set = open(&path);
    let _the_same = Workspace::open(&path, &options).unwrap();
    options.threads_max(4);
    let error = Workspace::open(&path, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("threads_max"), "{error}");
    drop(first);
}

#[test]
fn upkeep_takes_tables_and_reports_progress() {
    let directory = tempfile::tempdir().unwrap();
    let (path, table) = (directory.path().join("a.db"), table("1"));
    let workspace = open(&path);
    fill(&workspace, &table, 20);
    let mut calls = 0;
    let progress = &mut |_| {
        calls += 1;
        ControlFlow::Continue(())
    };
    let report = workspace.check([table.clone()], progress).unwrap();
    assert!(report.is_sound() && report.rows == 20, "{report:?}");
    let report = workspace.repair([table.clone()], progress).unwrap();
    assert!(report.after.is_sound() && report.unreadable.is_empty());
    let copy = directory.path().join("copy.db");
    workspace.backup(&copy, progress).unwrap();
    assert!(calls > 0);
    workspace.shutdown_with(Default::default()).unwrap();

    let saved = directory.path().join("saved.db");
    let go_on = &mut |_| ControlFlow::Continue(());
    let report = salvage(&copy, &saved, [table.clone()], go_on).unwrap();
    assert_eq!((report.saved, report.unreadable, report.lost), (20, 0, 0));
    assert_eq!(titles(&open(&saved), &table).len(), 20);
}

// Promise: durability#D54, durability#D55
/// A check and the look at the stored types read by connections of their own.
#[test]
fn upkeep_that_reads_waits_for_the_end_of_a_suspension() {
    let directory = tempfile::tempdir().unwrap();
    let (path, table) = (directory.path().join("a.db"), table("1"));
    let open = |busy_timeout| {
        let mut options = FileOptions::default();
        options.busy_timeout(busy_timeout);
        Workspace::open(&path, &options).unwrap()
    };
    let go_on = &mut |_| ControlFlow::Continue(());
    let workspace = open(Duration::from_millis(10));
    fill(&workspace, &table, 1);
    workspace.suspend().unwrap();
    for error in [
        workspace.check([table.clone()], go_on).unwrap_err(),
        workspace.stored_table(&table.name).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        assert!(error.to_string().contains("suspended"), "{error}");
    }
    workspace.shutdown_with(Default::default()).unwrap();
    let workspace = open(Duration::from_secs(3600));
    workspace.suspend().unwrap();
    thread::scope(|scope| {
        let (starts, started) = mpsc::channel();
        let (workspace, table) = (&workspace, &table);
        let reading = scope.spawn(move || {
            starts.send(()).unwrap();
            workspace.stored_table(&table.name).unwrap()
        });
        started.recv().unwrap();
        // Enough time for a wrong failure to show.
        for _ in 0..1000 {
            assert!(!reading.is_finished());
            thread::yield_now();
        }
        workspace.resume();
        assert!(reading.join().unwrap().is_some());
    });
}

#[test]
fn a_salvage_of_a_missing_file_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("no such file.db");
    let saved = directory.path().join("saved.db");
    let go_on = &mut |_| ControlFlow::Continue(());
    let error = salvage(&path, &saved, [table("1")], go_on).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("no such file.db"), "{error}");
    assert!(!saved.exists() && !path.exists());
}

#[test]
fn a_salvage_whose_progress_breaks_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let (path, table) = (directory.path().join("a.db"), table("1"));
    let workspace = open(&path);
    fill(&workspace, &table, 20);
    workspace.shutdown_with(Default::default()).unwrap();
    let saved = directory.path().join("saved.db");
    let give_up = &mut |_| ControlFlow::Break(());
    let error = salvage(&path, &saved, [table], give_up).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(!saved.exists());
}

#[test]
fn file_keeps_the_descriptors_of_its_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("posts.db");
    let workspace = Workspace::open(&path, &FileOptions::default()).unwrap();
    assert!(workspace.stored_table("post").unwrap().is_none());
    let table = table("1");
    fill(&workspace, &table, 1);
    let stored = workspace.stored_table(&table.name).unwrap().unwrap();
    assert_eq!(*stored, *table);
    assert!(workspace.stored_table("other").unwrap().is_none());
    workspace.shutdown_with(CloseOptions::default()).unwrap();
    let error = workspace.stored_table(&table.name).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShutDown);
    assert!(
        Workspace::in_memory()
            .stored_table("post")
            .unwrap()
            .is_none()
    );
}

#[test]
fn tables_are_made_from_the_file_itself() {
    let directory = tempfile::tempdir().unwrap();
    let (path, table) = (directory.path().join("a.db"), table("1"));
    let workspace = open(&path);
    assert!(workspace.stored_tables().unwrap().is_empty());
    fill(&workspace, &table, 3);
    workspace.shutdown_with(Default::default()).unwrap();

    let again = open(&path);
    let stored = again.stored_tables().unwrap();
    let post = stored.iter().find(|stored| stored.name == table.name);
    let read = post.unwrap().table.as_ref().unwrap();
    assert_eq!(**read, *table);
    assert_eq!(titles(&again, read), ["post 0", "post 1", "post 2"]);
    let memory = Workspace::in_memory();
    assert!(memory.stored_tables().unwrap().is_empty());
}

#[test]
fn descriptions_that_cannot_be_used_are_errors_of_their_table() {
    let directory = tempfile::tempdir().unwrap();
    let (path, table) = (directory.path().join("a.db"), table("1"));
    let workspace = open(&path);
    fill(&workspace, &table, 1);
    workspace.shutdown_with(Default::default()).unwrap();

    let described = table.to_bytes();
    let mut newer = described.clone();
    newer[0] = 200;
    let sql = rusqlite::Connection::open(&path).unwrap();
    for (name, bytes) in [
        ("a_newer", &newer),
        ("b_other", &described),
        ("c_bad", &vec![1, 9]),
    ] {
        sql.execute("INSERT INTO dflat__schema VALUES (?, ?)", (name, bytes))
            .unwrap();
    }
    let large = "INSERT INTO dflat__schema VALUES ('d_large', zeroblob(2000000)), ('e_text', 'x')";
    sql.execute(large, ()).unwrap();
    drop(sql);

    let again = open(&path);
    let stored = again.stored_tables().unwrap();
    let kinds = stored.iter().map(|stored| {
        let refused = stored
            .table
            .as_ref()
            .err()
            .map(dflat_workspace::Error::kind);
        (stored.name.as_str(), refused)
    });
    let kinds: Vec<_> = kinds.collect();
    assert_eq!(
        kinds,
        [
            ("a_newer", Some(ErrorKind::NewerSchema)),
            ("b_other", Some(ErrorKind::Corrupt)),
            ("c_bad", Some(ErrorKind::Corrupt)),
            (&*table.name, None),
        ]
    );
}

#[test]
fn tables_of_objects_are_listed_with_the_types_of_their_keys() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dflat-sqlite/tests/data");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("original.db");
    std::fs::copy(data.join("checkpointed.db"), &path).unwrap();
    let sql = rusqlite::Connection::open(&path).unwrap();
    sql.execute_batch(
        "CREATE TABLE other (__pk0 INTEGER); CREATE TABLE dflat__mine (__pk0 INTEGER, p BLOB);
         CREATE TABLE odd (p BLOB, __pk0 NUMERIC, __pk1 REAL);",
    )
    .unwrap();
    drop(sql);
    let workspace = open(&path);
    let listed = workspace.object_tables().unwrap();
    let listed: Vec<_> = listed
        .iter()
        .map(|table| (table.name.as_str(), table.key.clone()))
        .collect();
    use dflat_model::ColumnType::{Integer, Real, Text};
    assert_eq!(
        listed,
        [
            ("benchdoc", vec![Some(Text)]),
            ("dictitem_v_dflat_internal__", vec![Some(Text), Some(Text)]),
            (
                "mygame__sample__monster_v1_1",
                vec![Some(Text), Some(Integer)]
            ),
            ("odd", vec![None, Some(Real)]),
        ]
    );
    let pages = workspace.pages().unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert_eq!(pages.page_bytes * pages.pages, bytes);
    assert!(!pages.gives_back);
    assert_eq!(Workspace::in_memory().pages().unwrap().pages, 0);
}

#[test]
fn base_is_released_with_the_last_workspace_on_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let pack = Arc::new(());
    let base = |digest: u8| {
        let held = Arc::clone(&pack);
        let mut options = FileOptions::default();
        options.base(Some(Base::new([digest; 32], move |file| {
            let _pack = &held;
            file
        })));
        options
    };
    let first = Workspace::open(&path, &base(1)).unwrap();
    // The base is compared as long as the file is open.
    drop(Workspace::open(&path, &base(1)).unwrap());
    let error = Workspace::open(&path, &base(2)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    drop(first);
    assert_eq!(Arc::strong_count(&pack), 1);
}
