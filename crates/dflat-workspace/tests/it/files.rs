//! Files: one engine for all workspaces of a process, and upkeep.

use std::ops::ControlFlow;
use std::path::Path;

use dflat_engine::engine::BuildState;
use dflat_engine::storage::CloseOptions;
use dflat_model::Table;
use dflat_workspace::{ErrorKind, FileOptions, Workspace, salvage};

use crate::posts::{below, fetch, fill, insert, perform, table, titles};

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
fn a_read_builds_incomplete_indexes_if_the_option_is_set() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("posts.db");
    let indexed = table("1");
    let mut plain = (*indexed).clone();
    plain.indexes = Default::default();
    let workspace = open(&path);
    fill(&workspace, &Table::new(plain), 20);
    // Without the option, a read builds nothing.
    assert_eq!(titles(&workspace, &indexed).len(), 20);
    workspace.engine().settle().unwrap();
    assert!(workspace.engine().index_progress().is_empty());
    workspace.shutdown_with(Default::default()).unwrap();

    let mut options = FileOptions::default();
    options.index_on_read(true);
    let workspace = Workspace::open(&path, &options).unwrap();
    for _ in 0..2 {
        assert_eq!(titles(&workspace, &indexed).len(), 20);
        workspace.engine().settle().unwrap();
        let progress = workspace.engine().index_progress();
        assert_eq!(progress.len(), 1);
        assert!(matches!(progress[0].state, BuildState::Ready));
        assert_eq!(progress[0].rows_done, 20);
    }
}

#[test]
fn a_query_builds_an_index_that_another_program_removes_after_the_first_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("posts.db");
    let table = table("1");
    let mut options = FileOptions::default();
    options.index_on_read(true);
    let workspace = Workspace::open(&path, &options).unwrap();
    fill(&workspace, &table, 20);
    let count = || {
        let mut query = fetch(&workspace, &table);
        query.query = below(&table, 3);
        query.count().unwrap()
    };
    let expected = count();
    let index = format!("{}__{}", table.name, table.indexes[0].storage_key());
    let sql = rusqlite::Connection::open(&path).unwrap();
    for damage in ["DROP TABLE", "DELETE FROM"] {
        sql.execute_batch(&format!("{damage} {index}")).unwrap();
        assert_eq!(titles(&workspace, &table).len(), 20);
        workspace.engine().settle().unwrap();
        let rows = format!("SELECT count(*) FROM {index}");
        let rows = || sql.query_row(&rows, [], |row| row.get::<_, i64>(0));
        // A read that needs no index builds none.
        assert_ne!(rows().ok(), Some(20), "{damage}");
        assert_eq!(count(), expected);
        workspace.engine().settle().unwrap();
        assert_eq!(rows().unwrap(), 20, "{damage}");
    }
}

/// Each build counts the rows at its beginning, which shows whether there was another one.
#[test]
fn a_row_that_cannot_be_read_is_tried_by_one_build_and_not_by_each_query() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("posts.db");
    let table = table("1");
    let mut options = FileOptions::default();
    options.index_on_read(true);
    let workspace = Workspace::open(&path, &options).unwrap();
    fill(&workspace, &table, 20);
    let sql = rusqlite::Connection::open(&path).unwrap();
    let damage = |row: i64| {
        let update = format!("UPDATE {} SET p = x'00' WHERE rowid = ?1", table.name);
        assert_eq!(sql.execute(&update, [row]).unwrap(), 1);
    };
    let rows_of_the_last_build = || {
        let mut query = fetch(&workspace, &table);
        query.query = below(&table, 3);
        assert_eq!(query.count().unwrap_err().kind(), ErrorKind::Corrupt);
        workspace.engine().settle().unwrap();
        workspace.engine().index_progress()[0].rows_total
    };
    damage(3);
    assert_eq!(rows_of_the_last_build(), 20);
    perform(&workspace, &table, |tx, table| insert(tx, table, "new", 7)).unwrap();
    assert_eq!(rows_of_the_last_build(), 20);
    damage(4);
    assert_eq!(rows_of_the_last_build(), 21);
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
