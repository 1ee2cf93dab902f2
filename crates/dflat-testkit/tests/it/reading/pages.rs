//! Pages of one state, and unusual row ids.

use std::sync::atomic::{AtomicBool, Ordering};

use dflat::Workspace;
use dflat_testkit::schema::{Bag, BagChangeRequest, BagData};

fn bag(id: i32) -> BagData {
    BagData {
        id,
        ..BagData::default()
    }
}

/// Another program may use any row id.
#[test]
fn row_with_the_smallest_row_id_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let w = Workspace::open(&path).unwrap();
    w.perform_changes([Bag::TABLE], |tx| {
        (0..600).try_for_each(|id| tx.submit(BagChangeRequest::creation(bag(id))).map(drop))
    })
    .wait()
    .unwrap();
    let sql = rusqlite::Connection::open(&path).unwrap();
    let name = Bag::TABLE.name.clone();
    let changed = sql.execute(
        &format!("UPDATE {name} SET rowid = -9223372036854775808 WHERE rowid = 513"),
        [],
    );
    assert_eq!(changed.unwrap(), 1);
    let found = w.fetch::<Bag>().filter(Bag::ID.in_(0..600)).all().unwrap();
    assert_eq!(found.len(), 600);
}

/// Each transaction deletes an object and inserts another, so that there is always one object.
#[test]
fn page_has_one_state() {
    let directory = tempfile::tempdir().unwrap();
    let w = Workspace::open(directory.path().join("test.db")).unwrap();
    let create = |id| {
        w.perform_changes([Bag::TABLE], move |tx| {
            if let Some(old) = tx.get::<Bag>(id - 1)? {
                tx.submit(BagChangeRequest::deletion(tx, &old)?.unwrap())?;
            }
            tx.submit(BagChangeRequest::creation(bag(id))).map(drop)
        })
    };
    create(1).wait().unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for id in 2..1_000 {
                create(id).wait().unwrap();
            }
            done.store(true, Ordering::SeqCst);
        });
        let mut rounds = 0;
        while !done.load(Ordering::SeqCst) {
            let page = w.fetch::<Bag>().filter(Bag::ID.lt(1_000_000)).limit(10);
            let found = page.all().unwrap();
            rounds += 1;
            assert_eq!(found.len(), 1, "round {rounds}");
        }
    });
}
