//! An index that is missing or half built changes no answer, and comes back with the next write;
//! and two workspaces may share a file.

use dflat::{ChangeRequest, ErrorKind, IndexState, Workspace};
use dflat_testkit::fixture::{Fixture, bounded};
use dflat_testkit::schema::{Twin, TwinChangeRequest, TwinData};
use dflat_testkit::shelf::{v1::library as v1, v2::library as v2};
use rusqlite::Connection;

use crate::writing::groups::{Rig, on_each_backend};
use crate::writing::scripted::Call;

on_each_backend! {
    building_that_failed_fails_no_transaction_and_is_tried_again
}

fn twins(range: std::ops::Range<i32>) -> impl Iterator<Item = TwinData> {
    range.map(|id| TwinData {
        id,
        i32_a: id % 7,
        i32_b: id % 7,
        text_a: (id % 3 > 0).then(|| (id % 5).to_string()),
        text_b: (id % 3 > 0).then(|| (id % 5).to_string()),
        ..TwinData::default()
    })
}

/// Checks that queries by indexed fields and by their unindexed twins give the same result.
fn agree(workspace: &Workspace, count: usize) {
    let keys = |predicate| -> Vec<i32> {
        let found = workspace.fetch::<Twin>().filter(predicate).all().unwrap();
        found.iter().map(Twin::id).collect()
    };
    assert_eq!(workspace.fetch::<Twin>().all().unwrap().len(), count);
    for n in 0..8 {
        let (a, b) = (|| Twin::I32_A, || Twin::I32_B);
        assert_eq!(keys(a().eq(n)), keys(b().eq(n)));
        assert_eq!(keys(a().lt(n)), keys(b().lt(n)));
        assert_eq!(keys(a().in_([n, 2])), keys(b().in_([n, 2])));
        let text = n.to_string();
        assert_eq!(keys(Twin::TEXT_A.ge(&text)), keys(Twin::TEXT_B.ge(&text)));
    }
    assert_eq!(keys(Twin::TEXT_A.is_null()), keys(Twin::TEXT_B.is_null()));
    let first = |order| -> Vec<i32> {
        let found = workspace
            .fetch::<Twin>()
            .order_by(order)
            .limit(9)
            .all()
            .unwrap();
        found.iter().map(Twin::id).collect()
    };
    assert_eq!(
        first(Twin::I32_A.ascending()),
        first(Twin::I32_B.ascending())
    );
    assert_eq!(
        first(Twin::I32_A.descending()),
        first(Twin::I32_B.descending())
    );
    assert_eq!(
        first(Twin::TEXT_A.descending()),
        first(Twin::TEXT_B.descending())
    );
}

/// The names of the index tables of both indexed fields.
fn index_tables(sql: &Connection) -> Vec<String> {
    let query =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'twin!_!_%' ESCAPE '!'";
    let mut statement = sql.prepare(query).unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

fn with_each_index(change: fn(&str) -> String) {
    bounded(move || {
        let workspace = Fixture::sqlite();
        workspace.create::<Twin>(twins(0..60));
        agree(&workspace, 60);
        let sql = Connection::open(workspace.path().unwrap()).unwrap();
        for table in index_tables(&sql) {
            sql.execute_batch(&change(&table)).unwrap();
        }
        agree(&workspace, 60);
        let snapshot = workspace.snapshot().unwrap();
        workspace.create::<Twin>(twins(60..70));
        agree(&workspace, 70);
        drop(snapshot);
        Workspace::settle(&workspace).unwrap();
        agree(&workspace, 70);
        for table in index_tables(&sql) {
            let rows: i64 = sql
                .query_row(&format!("SELECT COUNT(*) FROM {table}"), [], |row| {
                    row.get(0)
                })
                .unwrap();
            assert_eq!(rows, 70, "{table}");
        }
        // The tables of all indexed fields exist again.
        assert_eq!(index_tables(&sql).len(), 14);
    });
}

#[test]
fn dropped_index_tables_change_no_answer_and_come_back() {
    with_each_index(|table| format!("DROP TABLE {table}"));
}

#[test]
fn half_built_indexes_change_no_answer_and_are_finished() {
    with_each_index(|table| format!("DELETE FROM {table} WHERE rowid > 20"));
}

#[test]
fn emptied_indexes_change_no_answer_and_are_filled() {
    with_each_index(|table| format!("DELETE FROM {table}"));
}

#[test]
fn indexes_without_their_tree_change_no_answer() {
    with_each_index(|table| format!("DROP INDEX index__{table}"));
}

#[test]
fn rows_deleted_with_sql_are_gone() {
    bounded(|| {
        let workspace = Fixture::sqlite();
        workspace.create::<Twin>(twins(0..60));
        let sql = Connection::open(workspace.path().unwrap()).unwrap();
        sql.execute("DELETE FROM twin WHERE rowid % 2 = 0", [])
            .unwrap();
        agree(&workspace, 30);
        workspace.create::<Twin>(twins(60..62));
        agree(&workspace, 32);
    });
}

#[test]
fn table_dropped_by_plain_sql_is_empty_and_comes_back() {
    bounded(|| {
        let workspace = Fixture::sqlite();
        workspace.create::<Twin>(twins(0..10));
        let sql = Connection::open(workspace.path().unwrap()).unwrap();
        for table in index_tables(&sql) {
            sql.execute_batch(&format!("DROP TABLE {table}")).unwrap();
        }
        sql.execute_batch("DROP TABLE twin").unwrap();
        agree(&workspace, 0);
        workspace.create::<Twin>(twins(0..5));
        agree(&workspace, 5);
    });
}

#[test]
fn two_workspaces_on_a_file_see_each_others_commits() {
    bounded(|| {
        let first = Fixture::sqlite();
        let second = Workspace::open(first.path().unwrap()).unwrap();
        agree(&second, 0);
        first.create::<Twin>(twins(0..10));
        agree(&second, 10);
        let create = second.perform_changes([Twin::TABLE], |tx| {
            for data in twins(10..20) {
                tx.submit(TwinChangeRequest::creation(data))?;
            }
            Ok(())
        });
        create.wait().unwrap();
        agree(&first, 20);
        let again = second.perform_changes([Twin::TABLE], |tx| {
            tx.submit(TwinChangeRequest::creation(TwinData::default()))
        });
        assert_eq!(again.wait().unwrap_err().kind(), ErrorKind::AlreadyExists);
        second.shutdown().unwrap();
        first.create::<Twin>(twins(20..25));
        agree(&first, 25);
    });
}

#[test]
fn file_is_the_same_after_it_was_closed_and_opened() {
    bounded(|| {
        let fixture = Fixture::sqlite();
        fixture.create::<Twin>(twins(0..30));
        let path = fixture.path().unwrap();
        fixture.shutdown().unwrap();
        let workspace = Workspace::open(path).unwrap();
        agree(&workspace, 30);
        let found = workspace.get::<Twin>(7).unwrap().unwrap();
        assert_eq!((found.i32_a(), found.text_a()), (0, Some("2")));
    });
}

/// Each object is processed once, in any number of parts, and opening alone builds nothing.
#[test]
fn index_building_resumes_where_it_was_interrupted() {
    bounded(|| {
        const BOOKS: u64 = 3000;
        let fixture = Fixture::sqlite();
        fixture.create::<v1::Book>((0..BOOKS as i32).map(|id| v1::BookData {
            id,
            ..v1::BookData::default()
        }));
        let path = fixture.path().unwrap();
        fixture.shutdown().unwrap();
        let mut passed = 0;
        let mut runs = 0;
        while passed < BOOKS {
            let workspace = Workspace::open(&path).unwrap();
            assert!(workspace.index_progress().is_empty());
            workspace.build_indexes([v2::Book::TABLE]).unwrap();
            if runs > 20 {
                workspace.indexes_ready().wait().unwrap();
            }
            workspace.shutdown().unwrap();
            let progress = workspace.index_progress();
            passed += progress.first().map_or(0, |index| index.rows_done);
            runs += 1;
        }
        assert_eq!(passed, BOOKS);
        let workspace = Workspace::open(&path).unwrap();
        let fetch = workspace.fetch::<v2::Book>().filter(v2::Book::PAGES.eq(0));
        let plan = fetch.explain().unwrap().to_string();
        assert!(plan.contains("index on pages"), "{plan}");
    });
}

fn building_that_failed_fails_no_transaction_and_is_tried_again(rig: &Rig) {
    let w = &rig.workspace;
    let create = |ids: std::ops::Range<i32>| {
        let created = w.perform_changes([v2::Book::TABLE], |tx| {
            for id in ids {
                tx.submit(ChangeRequest::<v2::Book>::creation(v2::BookData {
                    id,
                    ..v2::BookData::default()
                }))?;
            }
            Ok(())
        });
        created.wait().unwrap();
    };
    let old = w.perform_changes([v1::Book::TABLE], |tx| {
        for id in 0..700 {
            tx.submit(ChangeRequest::<v1::Book>::creation(v1::BookData {
                id,
                ..v1::BookData::default()
            }))?;
        }
        Ok(())
    });
    old.wait().unwrap();
    // The second batch.
    rig.script.fail(Call::Commit, 1);
    w.build_indexes([v2::Book::TABLE]).unwrap();
    let error = w.indexes_ready().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    let states = w.index_progress();
    let failed = |index: &dflat::IndexProgress| matches!(index.state, IndexState::Failed(_));
    assert!(states.iter().all(failed), "{states:?}");
    let count = || {
        let fetch = w.fetch::<v2::Book>().filter(v2::Book::PAGES.eq(0));
        (fetch.count().unwrap(), plan_of(w))
    };
    assert_eq!(count(), (700, "all rows, check pages == 0".to_owned()));
    create(700..701);
    w.indexes_ready().wait().unwrap();
    let (found, plan) = count();
    assert_eq!(found, 701);
    assert!(plan.starts_with("range of the index on pages"), "{plan}");
}

fn plan_of(w: &Workspace) -> String {
    let fetch = w.fetch::<v2::Book>().filter(v2::Book::PAGES.eq(0));
    fetch.explain().unwrap().to_string()
}
