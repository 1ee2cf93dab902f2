//! What somebody else writes to the file, past the engine, is seen by the next transaction.

use dflat::UpdatedObject;
use dflat_testkit::fixture::{Fixture, bounded};
use dflat_testkit::schema::{Item, ItemData, Twin, TwinChangeRequest, TwinData};
use rusqlite::{Connection, params};

fn twin(id: i32) -> TwinData {
    TwinData {
        id,
        ..TwinData::default()
    }
}

/// A transaction that has written looks objects up that were fetched before somebody else wrote.
fn after_a_foreign_write(
    write: impl FnOnce(&Connection),
    between: impl FnOnce(&Fixture),
    check: impl FnOnce(Option<i32>),
) {
    let w = Fixture::sqlite();
    let rows = w.create::<Twin>([twin(0), twin(1)]);
    let old: Vec<u8> = {
        let sql = Connection::open(w.path().unwrap()).unwrap();
        let payload = "SELECT p FROM twin WHERE __pk0 = 1";
        sql.query_row(payload, [], |row| row.get(0)).unwrap()
    };
    w.change(&rows[1], |data| data.i32_b = 5);
    let fetched = w.fetch::<Twin>().all().unwrap();
    let (own, other) = (fetched[0].clone(), fetched[1].clone());
    assert_eq!(other.i32_b(), 5);
    let sql = Connection::open(w.path().unwrap()).unwrap();
    sql.execute("CREATE TEMP TABLE old (p)", []).unwrap();
    sql.execute("INSERT INTO old VALUES (?)", params![old])
        .unwrap();
    write(&sql);
    between(&w);
    let latest = w.perform([Twin::TABLE], move |tx| {
        let mut request = TwinChangeRequest::change(tx, &own)?.unwrap();
        request.i32_b = 7;
        assert!(matches!(tx.submit(request)?, UpdatedObject::Updated(_)));
        Ok(TwinChangeRequest::change(tx, &other)?.map(|request| request.i32_b))
    });
    check(latest);
}

#[test]
fn an_object_that_somebody_else_changed_is_looked_up_again() {
    bounded(|| {
        let write = |sql: &Connection| {
            sql.execute(
                "UPDATE twin SET p = (SELECT p FROM old) WHERE __pk0 = 1",
                [],
            )
            .unwrap();
        };
        after_a_foreign_write(write, |_| {}, |latest| assert_eq!(latest, Some(0)));
    });
}

#[test]
fn an_object_that_somebody_else_deleted_is_gone() {
    bounded(|| {
        let write = |sql: &Connection| {
            sql.execute("DELETE FROM twin WHERE __pk0 = 1", []).unwrap();
        };
        after_a_foreign_write(write, |_| {}, |latest| assert_eq!(latest, None));
    });
}

/// Upkeep writes, too, and must not be the only one to notice.
#[test]
fn an_object_that_somebody_else_changed_before_upkeep_is_looked_up_again() {
    bounded(|| {
        let write = |sql: &Connection| {
            sql.execute(
                "UPDATE twin SET p = (SELECT p FROM old) WHERE __pk0 = 1",
                [],
            )
            .unwrap();
        };
        let upkeep = |w: &Fixture| {
            w.reclaim(1).unwrap();
        };
        after_a_foreign_write(write, upkeep, |latest| assert_eq!(latest, Some(0)));
    });
}

#[test]
fn what_another_program_wrote_is_told_with_the_next_transaction() {
    bounded(|| {
        let w = Fixture::sqlite();
        let rows = w.create::<Twin>((0..4).map(twin));
        let ids = |rows: &[Twin]| rows.iter().map(Twin::id).collect::<Vec<_>>();
        let list = w.observe(w.fetch::<Twin>()).unwrap().watch().unwrap();
        let count = w.observe(w.fetch::<Twin>().live_count()).unwrap();
        let count = count.watch().unwrap();
        w.settle::<Twin>();
        let sql = Connection::open(w.path().unwrap()).unwrap();
        let shown = || {
            let (list, count) = (list.latest().unwrap().unwrap(), count.latest().unwrap());
            assert_eq!(list.result(), &w.fetch::<Twin>().all().unwrap());
            assert_eq!(count.unwrap(), list.len());
            ids(&list)
        };
        sql.execute("DELETE FROM twin WHERE __pk0 = 1", []).unwrap();
        w.create::<Twin>([twin(9)]);
        assert_eq!(shown(), [0, 2, 3, 9]);
        // A transaction on another type notices, too; and one that changes what was written.
        sql.execute("DELETE FROM twin WHERE __pk0 = 2", []).unwrap();
        w.create::<Item>([ItemData::default()]);
        assert_eq!(shown(), [0, 3, 9]);
        sql.execute(
            "UPDATE twin SET p = (SELECT p FROM twin WHERE __pk0 = 3) WHERE __pk0 = 3",
            [],
        )
        .unwrap();
        w.delete(&rows[3]);
        assert_eq!(shown(), [0, 9]);
    });
}
