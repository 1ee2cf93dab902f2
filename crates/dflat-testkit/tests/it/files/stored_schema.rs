//! Files whose stored schema is missing or invalid.

use std::sync::mpsc::channel;

use dflat::{ChangeRequest, ErrorKind, ProblemKind};
use dflat_model::{Step, TableDescriptor};
use dflat_testkit::fixture::{Fixture, bounded};
use dflat_testkit::note::v1::diary as v1;
use dflat_testkit::note::v2::diary as v2;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};
use rusqlite::{Connection, params};

/// A note of the second version, in a file whose stored schema was changed by `change`.
fn file(change: fn(&Connection)) -> Fixture {
    let w = Fixture::sqlite();
    w.create::<v2::Note>([v2::NoteData {
        id: "a".into(),
        tags: vec!["hidden".into()],
        ..v2::NoteData::default()
    }]);
    let sql = Connection::open(w.path().unwrap()).unwrap();
    change(&sql);
    w
}

/// Checks that older code can read and delete, and gets an error if it updates.
fn refuses_to_lose(w: &Fixture) {
    let note = w.get::<v1::Note>("a").unwrap().unwrap();
    assert_eq!(note.rank(), 0);
    w.perform([v1::Note::TABLE], move |tx| {
        let mut request = ChangeRequest::change(tx, &note)?.unwrap();
        request.rank = 1;
        assert_eq!(
            tx.submit(request).unwrap_err().kind(),
            ErrorKind::NewerSchema
        );
        Ok(())
    });
    let kept = w.get::<v2::Note>("a").unwrap().unwrap();
    assert_eq!((kept.rank(), kept.tags().len()), (0, 1));
    w.delete(&w.get::<v1::Note>("a").unwrap().unwrap());
    assert!(w.get::<v2::Note>("a").unwrap().is_none());
}

// Promise: storage-format#S14
#[test]
fn without_a_stored_schema_older_code_loses_nothing() {
    bounded(|| {
        refuses_to_lose(&file(|sql| {
            sql.execute_batch("DROP TABLE dflat__schema").unwrap();
        }));
    });
}

// Promise: storage-format#S23
#[test]
fn stored_schema_of_a_later_format_blocks_updates_of_its_objects() {
    bounded(|| {
        let later = [255u8, 1, 2, 3];
        let w = file(|sql| {
            let update = "UPDATE dflat__schema SET descriptor = ?";
            sql.execute(update, params![[255u8, 1, 2, 3]]).unwrap();
        });
        let note = w.get::<v1::Note>("a").unwrap().unwrap();
        w.perform([v1::Note::TABLE], move |tx| {
            let mut requests = vec![ChangeRequest::creation(v1::NoteData {
                id: "b".into(),
                ..v1::NoteData::default()
            })];
            requests.extend(ChangeRequest::change(tx, &note)?);
            requests.extend(ChangeRequest::deletion(tx, &note)?);
            assert_eq!(requests.len(), 3);
            for request in requests {
                let error = tx.submit(request).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NewerSchema);
                assert!(error.to_string().contains("update the program"), "{error}");
            }
            Ok(())
        });
        let kept = w.get::<v2::Note>("a").unwrap().unwrap();
        assert_eq!((kept.rank(), kept.tags().len()), (0, 1));
        assert!(w.get::<v2::Note>("b").unwrap().is_none());
        let sql = Connection::open(w.path().unwrap()).unwrap();
        let query = "SELECT descriptor FROM dflat__schema";
        let left: Vec<u8> = sql.query_row(query, [], |row| row.get(0)).unwrap();
        assert_eq!(left, later);
    });
}

#[test]
fn an_invalid_stored_schema_is_replaced_and_fails_no_transaction() {
    bounded(|| {
        for damage in ["x''", "x'01'", "x'0105'", "zeroblob(100000)", "'text'", "7"] {
            let w = file(|_| {});
            let sql = Connection::open(w.path().unwrap()).unwrap();
            let update = format!("UPDATE dflat__schema SET descriptor = {damage}");
            sql.execute_batch(&update).unwrap();
            refuses_to_lose(&w);
            // The next version stores its schema again.
            w.create::<v2::Note>([v2::NoteData {
                id: "b".into(),
                tags: vec!["hidden".into()],
                ..v2::NoteData::default()
            }]);
            let note = w.get::<v1::Note>("b").unwrap().unwrap();
            w.change(&note, |data| data.rank = 5);
            let kept = w.get::<v2::Note>("b").unwrap().unwrap();
            assert_eq!((kept.rank(), kept.tags().len()), (5, 1), "{damage}");
        }
    });
}

/// Changes the stored schema of a file, stores a note, and checks that no other table was made.
fn store_after(change: impl FnOnce(&mut TableDescriptor)) -> dflat::Result<()> {
    let w = file(|_| {});
    let mut other = (*v2::Note::TABLE).clone();
    change(&mut other);
    let sql = Connection::open(w.path().unwrap()).unwrap();
    let update = "UPDATE dflat__schema SET descriptor = ?";
    sql.execute(update, params![other.to_bytes()]).unwrap();
    let request = v1::NoteChangeRequest::creation(v1::NoteData {
        id: "b".into(),
        ..v1::NoteData::default()
    });
    let stored = w.perform_changes_blocking([v1::Note::TABLE], |tx| tx.submit(request).map(drop));
    let is_there = w.get::<v1::Note>("b").unwrap().is_some();
    assert_eq!(is_there, stored.is_ok());
    let query = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'diary__other%'";
    let made: i64 = sql.query_row(query, [], |row| row.get(0)).unwrap();
    assert_eq!(made, 0);
    stored
}

#[test]
fn stored_schema_of_another_table_redirects_no_write() {
    bounded(|| store_after(|other| other.name = "diary__other".into()).unwrap());
}

#[test]
fn write_is_refused_if_the_stored_schema_has_another_primary_key() {
    bounded(|| {
        let error = store_after(|other| {
            other.primary_key.to_mut()[0].steps = vec![Step::Field(60)].into();
        });
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("another primary key"), "{error}");
    });
}

#[test]
fn index_that_no_schema_lists_is_dropped_at_the_next_write() {
    bounded(|| {
        let w = Fixture::sqlite();
        w.create::<v2::Note>([v2::NoteData {
            id: "a".into(),
            mood: v2::Mood::Calm,
            ..v2::NoteData::default()
        }]);
        let sql = Connection::open(w.path().unwrap()).unwrap();
        // The file of a newer version of another implementation, with a table that has a similar
        // name.
        sql.execute_batch("DROP TABLE dflat__schema; CREATE TABLE diary__note__f99 (p BLOB)")
            .unwrap();
        let note = w.get::<v1::Note>("a").unwrap().unwrap();
        w.change(&note, |note| note.mood = v1::Mood::Glad);
        let found = |mood| {
            w.fetch::<v2::Note>()
                .filter(v2::Note::MOOD.eq(mood))
                .all()
                .unwrap()
        };
        assert_eq!(
            (found(v2::Mood::Calm).len(), found(v2::Mood::Glad).len()),
            (0, 1)
        );
        let query = "SELECT count(*) FROM sqlite_schema WHERE name = 'diary__note__f99'";
        let left: i64 = sql.query_row(query, [], |row| row.get(0)).unwrap();
        assert_eq!(left, 1);
        // The newer code has it again.
        let note = w.get::<v2::Note>("a").unwrap().unwrap();
        w.change(&note, |note| note.stars = 4);
        assert_eq!(
            (found(v2::Mood::Calm).len(), found(v2::Mood::Glad).len()),
            (0, 1)
        );
    });
}

/// A transaction of many rows does not keep other transactions of its commit waiting. If it has
/// created its table, all of them are written again. A test of the C interface met a table without
/// its schema.
#[test]
fn schema_is_stored_if_the_transactions_of_a_commit_are_written_again() {
    bounded(|| {
        // The library commits two transactions together if they end within milliseconds.
        for _ in 0..20 {
            let w = Fixture::sqlite();
            let (release, released) = channel();
            let tables = || [Item::TABLE, v2::Note::TABLE];
            let blocking = w.perform_changes(tables(), move |_| {
                released.recv().unwrap();
                Ok(())
            });
            let small = w.perform_changes(tables(), |tx| {
                let data = ItemData {
                    id: "a".into(),
                    ..ItemData::default()
                };
                tx.submit(ItemChangeRequest::creation(data)).map(drop)
            });
            let large = w.perform_changes(tables(), |tx| {
                let notes = (0..100).map(|n| v2::NoteData {
                    id: n.to_string(),
                    ..v2::NoteData::default()
                });
                { notes }
                    .try_for_each(|note| tx.submit(v2::NoteChangeRequest::creation(note)).map(drop))
            });
            release.send(()).unwrap();
            blocking.wait().unwrap();
            small.wait().unwrap();
            large.wait().unwrap();
            let sql = Connection::open(w.path().unwrap()).unwrap();
            let mut stored = sql.prepare("SELECT name FROM dflat__schema").unwrap();
            let names = stored.query_map([], |row| row.get(0)).unwrap();
            let names: Vec<String> = names.map(Result::unwrap).collect();
            for table in tables() {
                assert!(names.iter().any(|name| *name == table.name), "{names:?}");
            }
        }
    });
}

#[test]
fn invalid_stored_schema_is_a_problem_until_a_repair_or_a_write_of_the_type() {
    bounded(|| {
        let w = file(|_| {});
        let sql = Connection::open(w.path().unwrap()).unwrap();
        let check = || {
            let report = w.check([Item::TABLE]).unwrap();
            let kinds = report.problems.iter().map(|problem| problem.kind);
            kinds.collect::<Vec<_>>()
        };
        let damage = || {
            let damage = "UPDATE dflat__schema SET descriptor = x'01ffffff' \
                          WHERE name = 'diary__note'";
            assert_eq!(sql.execute(damage, []).unwrap(), 1);
            assert_eq!(check(), [ProblemKind::Description]);
        };
        damage();
        let repaired = w.repair([Item::TABLE]).unwrap();
        assert_eq!(repaired.after.problems, repaired.before.problems);
        let repaired = w.repair([v2::Note::TABLE]).unwrap();
        assert!(repaired.after.is_sound(), "{:?}", repaired.after.problems);
        assert_eq!(repaired.unreadable, []);
        damage();
        w.create::<v2::Note>([v2::NoteData {
            id: "b".into(),
            ..v2::NoteData::default()
        }]);
        assert_eq!(check(), []);
        assert_eq!(w.fetch::<v2::Note>().count().unwrap(), 2);
    });
}
