//! The next transaction sees what another program has written to the file.

use std::sync::mpsc::{self, Receiver};

use dflat::{ChangeRequest, SubscribedObject, Subscription, UpdatedObject, Workspace};
use dflat_testkit::fixture::{Fixture, bounded, drained, next, until};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData, Twin, TwinChangeRequest, TwinData};
use rusqlite::{Connection, params};

fn twin(id: i32) -> TwinData {
    TwinData {
        id,
        ..TwinData::default()
    }
}

/// Checks that a transaction that has written looks objects up again if they were fetched before a
/// foreign write.
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
fn an_object_with_a_foreign_change_is_looked_up_again() {
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
fn an_object_with_a_foreign_deletion_is_gone() {
    bounded(|| {
        let write = |sql: &Connection| {
            sql.execute("DELETE FROM twin WHERE __pk0 = 1", []).unwrap();
        };
        after_a_foreign_write(write, |_| {}, |latest| assert_eq!(latest, None));
    });
}

/// Upkeep writes too. If it notices the foreign write first, transactions must notice it as well.
#[test]
fn an_object_with_a_foreign_change_before_upkeep_is_looked_up_again() {
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

// Promise: live-queries#L27
#[test]
fn foreign_writes_are_delivered_with_the_next_transaction() {
    bounded(|| {
        let w = Fixture::sqlite();
        let rows = w.create::<Twin>((0..4).map(twin));
        let ids = |rows: &[Twin]| rows.iter().map(Twin::id).collect::<Vec<_>>();
        let list = w.observe(w.fetch::<Twin>()).unwrap().watch().unwrap();
        let count = w.observe(w.fetch::<Twin>().live_count()).unwrap();
        let count = count.watch().unwrap();
        let groups = || w.fetch::<Twin>().group_by(Twin::ID).sum(Twin::ID);
        let live_groups = w.observe(groups()).unwrap().watch().unwrap();
        w.settle::<Twin>();
        let sql = Connection::open(w.path().unwrap()).unwrap();
        let shown = || {
            let (list, count) = (list.latest().unwrap().unwrap(), count.latest().unwrap());
            assert_eq!(list.result(), &w.fetch::<Twin>().all().unwrap());
            assert_eq!(count.unwrap(), list.len());
            let live_groups = live_groups.latest().unwrap().unwrap();
            assert_eq!(*live_groups, *groups().all().unwrap());
            ids(&list)
        };
        sql.execute("DELETE FROM twin WHERE __pk0 = 1", []).unwrap();
        w.create::<Twin>([twin(9)]);
        assert_eq!(shown(), [0, 2, 3, 9]);
        // A transaction over another type notices the write too, and so does a transaction that
        // changes the written object.
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

// Promise: live-queries#L29
/// A process notices foreign writes at its first write, too.
#[test]
fn foreign_writes_are_delivered_with_the_first_transaction() {
    bounded(|| {
        let written = Fixture::sqlite();
        written.create::<Twin>((0..3).map(twin));
        let path = written.path().unwrap();
        // Another engine, as in another process, which reads this one's file.
        let copy = path.with_file_name("copy.db");
        written.backup(&copy).unwrap();
        let w = Workspace::open(&copy).unwrap();
        let list = w.observe(w.fetch::<Twin>()).unwrap().watch().unwrap();
        until(|| list.latest().is_some_and(|list| list.unwrap().len() == 3));
        let sql = Connection::open(&copy).unwrap();
        sql.execute("DELETE FROM twin WHERE __pk0 = 1", []).unwrap();
        w.perform_changes([Item::TABLE], |tx| {
            tx.submit(ChangeRequest::<Item>::creation(ItemData::default()))
        })
        .wait()
        .unwrap();
        assert_eq!(list.latest().unwrap().unwrap().len(), 2);
    });
}

/// The ids of twins, with their values unless they were deleted.
type Received = Receiver<(i32, Option<i32>)>;

/// Subscriptions to twins, their deliveries, and a function in which another program updates the
/// first twin and deletes the second.
fn watched(w: &Fixture) -> (Vec<Subscription>, Received, impl Fn()) {
    let rows = w.create::<Twin>((0..4).map(twin));
    let sql = Connection::open(w.path().unwrap()).unwrap();
    let (send, received) = mpsc::channel();
    let subscribe = |row: &Twin| {
        let (send, id) = (send.clone(), row.id());
        let callback = move |event: SubscribedObject<Twin>| {
            let now = match event {
                SubscribedObject::Updated(twin) => Some(twin.i32_b()),
                SubscribedObject::Deleted => None,
            };
            send.send((id, now)).unwrap();
        };
        w.subscribe(row, callback).unwrap()
    };
    let subscriptions = rows.iter().map(subscribe).collect();
    w.settle::<Twin>();
    let payload = "SELECT p FROM twin WHERE __pk0 = 0";
    let old: Vec<u8> = sql.query_row(payload, [], |row| row.get(0)).unwrap();
    w.change(&rows[0], |data| data.i32_b = 5);
    assert_eq!(next(&received), (0, Some(5)));
    let write = move || {
        sql.execute("UPDATE twin SET p = ? WHERE __pk0 = 0", params![old])
            .unwrap();
        sql.execute("DELETE FROM twin WHERE __pk0 = 1", []).unwrap();
    };
    (subscriptions, received, write)
}

// Promise: live-queries#L27
#[test]
fn objects_that_another_program_wrote_are_delivered_with_the_next_transaction() {
    bounded(|| {
        let w = Fixture::sqlite();
        let (subscriptions, received, write) = watched(&w);
        write();
        w.create::<Item>([ItemData::default()]);
        let mut received = drained(&received);
        received.sort_unstable();
        assert_eq!(received, [(0, Some(0)), (1, None)]);
        drop(subscriptions);
    });
}

// Promise: live-queries#L27
#[test]
fn refresh_delivers_foreign_writes() {
    bounded(|| {
        let w = Fixture::sqlite();
        let (subscriptions, received, write) = watched(&w);
        let list = w.observe(w.fetch::<Twin>()).unwrap().watch().unwrap();
        let look = |w: &Workspace| {
            w.refresh().unwrap();
            w.settle().unwrap();
        };
        look(&w);
        assert!(received.try_recv().is_err(), "nobody else has written");
        let known = w.fetch::<Twin>().all().unwrap();
        write();
        look(&w);
        let mut received_now = drained(&received);
        received_now.sort_unstable();
        assert_eq!(received_now, [(0, Some(0)), (1, None)]);
        let fetched = w.fetch::<Twin>().all().unwrap();
        assert_eq!(list.latest().unwrap().unwrap().result(), &fetched);
        assert_eq!(fetched.len(), 3);
        // A result that was fetched before is out of date, so it is delivered.
        let late = w.observe(&known).unwrap().watch().unwrap();
        w.settle::<Twin>();
        assert_eq!(late.latest().unwrap().unwrap().result(), &fetched);
        look(&w);
        assert!(received.try_recv().is_err(), "nobody has written since");
        drop(subscriptions);
    });
}

/// Returns whether later deliveries come from a new read instead of the earlier result.
fn is_read_again(w: &Workspace) -> impl FnMut() -> bool {
    let mut lists = Vec::new();
    let mut look = move |w: &Workspace| {
        w.refresh().unwrap();
        w.settle().unwrap();
        let list = w.observe(w.fetch::<Twin>()).unwrap().watch().unwrap();
        w.settle().unwrap();
        // The subscription is kept, so that a later one shares its live query.
        let place = list.latest().unwrap().unwrap().as_ptr();
        let before = lists.last().map(|(before, _)| *before);
        lists.push((place, list));
        before.is_some_and(|before| before != place)
    };
    let w = w.clone();
    look(&w);
    move || look(&w)
}

#[test]
fn refresh_reads_again_only_foreign_writes() {
    bounded(|| {
        let w = Fixture::sqlite();
        w.create::<Twin>((0..4).map(twin));
        let path = w.path().unwrap();
        let (w, directory) = w.into_parts();
        w.shutdown().unwrap();
        let w = Workspace::open(&path).unwrap();
        let sql = Connection::open(&path).unwrap();
        let delete = |id: i32| {
            sql.execute("DELETE FROM twin WHERE __pk0 = ?", [id])
                .unwrap()
        };
        let mut is_read_again = is_read_again(&w);
        assert!(!is_read_again(), "nobody has written");
        delete(0);
        assert_eq!([(); 3].map(|()| is_read_again()), [true, false, false]);
        w.perform_changes([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::creation(ItemData::default()))
        })
        .wait()
        .unwrap();
        is_read_again();
        assert!(!is_read_again(), "we have written");
        delete(1);
        assert_eq!([(); 3].map(|()| is_read_again()), [true, false, false]);
        drop(directory);
    });
}

#[test]
fn commit_after_a_foreign_commit_is_delivered_once() {
    bounded(|| {
        let w = Fixture::sqlite();
        let (subscriptions, received, write) = watched(&w);
        write();
        let first = w.fetch::<Twin>().first().unwrap().unwrap();
        assert_eq!(first.i32_b(), 0);
        // The state after the foreign write is delivered first, then the state after the own
        // commit, and no earlier state again.
        w.change(&first, |data| data.i32_b = 9);
        w.settle::<Twin>();
        let received = drained(&received);
        let of_first: Vec<_> = received.iter().filter(|(id, _)| *id == 0).collect();
        assert_eq!(of_first.last(), Some(&&(0, Some(9))));
        assert!(
            of_first
                .iter()
                .filter(|received| received.1 == Some(9))
                .count()
                == 1
        );
        assert!(of_first.iter().all(|received| received.1 != Some(5)));
        drop(subscriptions);
    });
}

// Promise: live-queries#L27
#[test]
fn refresh_goes_on_while_another_program_holds_the_lock() {
    bounded(|| {
        let w = Fixture::sqlite();
        w.create::<Twin>([twin(0)]);
        let list = w.observe(w.fetch::<Twin>()).unwrap().watch().unwrap();
        w.settle::<Twin>();
        let mut sql = Connection::open(w.path().unwrap()).unwrap();
        let writing = sql.transaction().unwrap();
        writing.execute("DELETE FROM twin", []).unwrap();
        w.refresh().unwrap();
        w.settle::<Twin>();
        assert_eq!(list.latest().unwrap().unwrap().len(), 1);
        writing.commit().unwrap();
        w.refresh().unwrap();
        w.settle::<Twin>();
        assert_eq!(list.latest().unwrap().unwrap().len(), 0);
    });
}
