//! The file, the workspace, the author and the label in change records, and records of keys only.

use std::path::Path;

use dflat::{Workspace, WorkspaceBuilder};
use dflat_model::record::{Before, Change, ChangeRecord, Part, RecordHead};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};
use rusqlite::Connection;

use super::change_log::{is_found_in, records};

/// More rows than one record has.
const MANY: i32 = 5_000;

fn named(path: &Path) -> WorkspaceBuilder {
    let builder = Workspace::builder(path).change_log(true);
    builder.workspace_id(7 << 100).author("Ada")
}

fn other(id: i32, note: &str) -> OtherChangeRequest {
    let note = Some(note.to_owned());
    OtherChangeRequest::upsert(OtherData { id, note })
}

fn put(workspace: &Workspace, id: i32, note: &'static str) {
    let put = workspace.perform_changes([Other::TABLE], move |tx| {
        tx.submit(other(id, note)).map(drop)
    });
    put.wait().unwrap();
}

/// A head without the numbers that are random.
fn head(record: &[u8]) -> RecordHead<'_> {
    let head = ChangeRecord::decode(record).unwrap().head;
    assert!(head.time > 0 && head.engine != 0);
    RecordHead {
        engine: 0,
        time: 0,
        ..head
    }
}

/// The id in the file, if it has one.
fn stored_id(path: &Path) -> Option<u128> {
    let sql = Connection::open(path).unwrap();
    let exists = "SELECT count(*) FROM sqlite_schema WHERE name = 'dflat__file'";
    let exists: i64 = sql.query_row(exists, [], |row| row.get(0)).unwrap();
    let read = |row: &rusqlite::Row<'_>| row.get::<_, [u8; 16]>(0);
    let id = || {
        sql.query_row("SELECT id FROM dflat__file", [], read)
            .unwrap()
    };
    (exists == 1).then(|| u128::from_le_bytes(id()))
}

// Promise: storage-format#S43
#[test]
fn records_name_the_file_the_workspace_the_author_and_the_label() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let workspace = named(&path).open().unwrap();
        put(&workspace, 1, "first");
        let file = stored_id(&path);
        assert!(file.is_some());
        let plain = RecordHead {
            file,
            workspace: Some(7 << 100),
            author: Some("Ada"),
            ..RecordHead::default()
        };
        assert_eq!(head(&records(&path)[0]), plain);
        let labelled = workspace.perform_changes([Other::TABLE], |tx| {
            tx.set_label("before the last one");
            tx.submit(other(2, "second"))?;
            let undone = tx.nested(|tx| {
                tx.set_undo_group(u64::MAX);
                tx.submit(other(3, "undone"))?;
                Err::<(), _>(dflat::Error::user("undo this"))
            });
            assert!(undone.is_err());
            tx.set_label("rename");
            Ok(())
        });
        labelled.wait().unwrap();
        let label = RecordHead {
            label: Some("rename"),
            undo_group: Some(u64::MAX),
            ..plain
        };
        assert_eq!(head(&records(&path)[1]), label);
        let import = workspace.perform_changes([Other::TABLE], |tx| {
            tx.set_label("import");
            (10..MANY).try_for_each(|id| tx.submit(other(id, "many")).map(drop))
        });
        import.wait().unwrap();
        let written = records(&path);
        let (last, early) = written[2..].split_last().unwrap();
        assert!(!early.is_empty());
        for (number, record) in (0..).zip(early) {
            let part = Part::Early { number };
            // The final part says the rest.
            let expected = RecordHead {
                part,
                ..RecordHead::default()
            };
            assert_eq!(head(record), expected);
        }
        let part = Part::Final {
            early: early.len() as u32,
            rows: u64::from((MANY - 10).unsigned_abs()),
        };
        let expected = RecordHead {
            label: Some("import"),
            part,
            ..plain
        };
        assert_eq!(head(last), expected);
        let copy = directory.path().join("copy.db");
        workspace.backup(&copy).unwrap();
        workspace.shutdown().unwrap();
        for path in [&path, &copy] {
            let workspace = named(path).open().unwrap();
            put(&workspace, 1, "later");
            assert_eq!(head(records(path).last().unwrap()), plain);
        }
    });
}

// Promise: storage-format#S43
#[test]
fn records_of_a_program_without_a_name_name_nothing() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let workspace = Workspace::builder(&path).change_log(true).open().unwrap();
        put(&workspace, 1, "first");
        assert_eq!(head(&records(&path)[0]), RecordHead::default());
        assert_eq!(stored_id(&path), None);
    });
}

/// Another program has made a view of the name, whose rows need not end.
// Promise: storage-format#S31
#[test]
fn view_in_place_of_the_file_id_fails_no_write() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let workspace = named(&path).open().unwrap();
        put(&workspace, 1, "first");
        let sql = Connection::open(&path).unwrap();
        sql.execute_batch(
            "DROP TABLE dflat__file; CREATE VIEW dflat__file AS WITH RECURSIVE n (i) AS \
             (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n WHERE i < 0",
        )
        .unwrap();
        drop(sql);
        put(&workspace, 2, "second");
        let written = records(&path);
        let head = head(written.last().unwrap());
        assert_eq!((head.file, head.author), (None, Some("Ada")));
    });
}

// Promise: storage-format#S44
#[test]
fn records_of_keys_only_have_no_state_before() {
    const SECRET: &str = "the text that was replaced";
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let builder = Workspace::builder(&path).change_log(true);
        let workspace = builder.change_log_keys_only(true).open().unwrap();
        put(&workspace, 1, SECRET);
        put(&workspace, 1, "short");
        let deleted = workspace.perform_changes([Other::TABLE], |tx| {
            let found = tx.get::<Other>(1)?.unwrap();
            tx.submit(OtherChangeRequest::deletion(tx, &found)?.unwrap())
                .map(drop)
        });
        deleted.wait().unwrap();
        let written = records(&path);
        let changes = written.iter().map(|record| {
            let record = ChangeRecord::decode(record).unwrap();
            let row = record.tables[0].rows().next().unwrap().unwrap();
            assert_eq!(row.key.len(), 1);
            match row.change {
                Change::Inserted => "inserted",
                Change::Updated(Before::Unknown) => "updated",
                Change::Deleted(None) => "deleted",
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(
            changes.collect::<Vec<_>>(),
            ["inserted", "updated", "deleted"]
        );
        let text = |record: &Vec<u8>| {
            let mut windows = record.windows(SECRET.len());
            windows.any(|window| window == SECRET.as_bytes())
        };
        assert!(!written.iter().any(text));
        // In the write-ahead log.
        assert!(is_found_in(directory.path(), SECRET));
    });
}
