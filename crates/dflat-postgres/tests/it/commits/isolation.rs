//! Other programs with SQL of their own beside transactions of the library.

use std::thread;
use std::time::Duration;

use dflat::{ErrorKind, Object, Workspace};
use dflat_testkit::fixture::{bounded, until};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

use crate::engines::{engine, is_skipped};
use crate::server::{new_schema, server, sql, sql_at};

fn data(rank: i32) -> ItemData {
    ItemData {
        id: format!("item {rank}"),
        rank,
        ..ItemData::default()
    }
}

fn create(workspace: &Workspace, rank: i32) -> dflat::Result<()> {
    workspace.perform_changes_blocking([Item::TABLE], |tx| {
        tx.submit(ItemChangeRequest::creation(data(rank))).map(drop)
    })
}

fn impatient(schema: &str) -> Workspace {
    let builder = Workspace::server(&server().unwrap().address()).schema(schema);
    let timeout = Duration::from_millis(300);
    builder.busy_timeout(timeout).open().unwrap()
}

/// Waits until a session sleeps that holds a lock, and names the schema.
fn is_held(schema: &str) {
    let sleeps = format!(
        "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%{schema}%'"
    );
    until(|| !sql(server().unwrap(), &sleeps).unwrap().is_empty());
}

#[test]
fn every_statement_of_another_program_that_writes_objects_is_refused() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        create(&engine(&schema), 1).unwrap();
        let item = format!("\"{schema}\".item");
        let row = "(9, '\\x00', '', NULL, '\\x00')";
        let statements = [
            format!("INSERT INTO {item} VALUES {row}"),
            format!("INSERT INTO {item} VALUES {row} ON CONFLICT DO NOTHING"),
            format!("UPDATE {item} SET p = '\\x00'"),
            format!("DELETE FROM {item}"),
            format!("TRUNCATE {item} CASCADE"),
            format!("MERGE INTO {item} i USING (SELECT 1) s ON true WHEN MATCHED THEN DELETE"),
            format!("WITH d AS (DELETE FROM {item} RETURNING 1) SELECT * FROM d"),
        ];
        for statement in statements {
            let refused = sql(server().unwrap(), &statement).unwrap_err();
            let refused = refused.as_db_error().unwrap();
            let message = refused.message();
            assert!(
                message.contains("written by Dflat alone"),
                "{statement}: {refused:?}"
            );
        }
        assert_eq!(engine(&schema).fetch::<Item>().count().unwrap(), 1);
    });
}

/// Locks of other programs make a writer wait, and fail with `Busy`. Nothing of it is kept.
#[test]
fn locks_of_another_program_make_a_writer_busy_and_no_reader() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let (patient, impatient) = (engine(&schema), impatient(&schema));
        create(&patient, 1).unwrap();
        create(&impatient, 2).unwrap();
        let locks = [
            format!("LOCK TABLE \"{schema}\".dflat__writer IN SHARE MODE"),
            format!("SELECT FROM \"{schema}\".dflat__control FOR SHARE"),
            format!("LOCK TABLE \"{schema}\".item IN SHARE MODE"),
            format!("SELECT FROM \"{schema}\".item FOR UPDATE"),
        ];
        for (rank, lock) in (10..).zip(locks) {
            let address = server().unwrap().address();
            let hold = format!("BEGIN; {lock}; SELECT pg_sleep(1.5), '{schema}'; COMMIT");
            let held = thread::spawn(move || sql_at(&address, &hold).map(drop).unwrap());
            is_held(&schema);
            let write = |workspace: &Workspace| {
                workspace.perform_changes_blocking([Item::TABLE], |tx| {
                    let first = tx.get::<Item>("item 1")?.unwrap();
                    let mut request = ItemChangeRequest::change(tx, &first)?.unwrap();
                    request.size = rank;
                    tx.submit(request)?;
                    tx.submit(ItemChangeRequest::creation(data(rank))).map(drop)
                })
            };
            let refused = write(&impatient).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Busy, "{lock}: {refused:?}");
            assert!(
                patient
                    .get::<Item>(&format!("item {rank}"))
                    .unwrap()
                    .is_none()
            );
            // One with more patience is made after it.
            write(&patient).unwrap();
            held.join().unwrap();
            let first = impatient.get::<Item>("item 1").unwrap().unwrap();
            assert_eq!(first.size(), rank);
        }
        assert_eq!(patient.fetch::<Item>().count().unwrap(), 6);
    });
}

/// Another program changes the row of the state while a transaction is open, as if it were another
/// writer without the lock. The server lets only one of both commit. If the other one has made a
/// commit of this library, the transaction is not written again.
#[test]
fn writer_beside_one_without_the_lock_is_busy() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let workspace = engine(&schema);
        create(&workspace, 1).unwrap();
        let create_beside = |rank: i32, change: &str| {
            let change = format!("UPDATE \"{schema}\".dflat__control SET {change}");
            workspace.perform_changes_blocking([Item::TABLE], |tx| {
                tx.submit(ItemChangeRequest::creation(data(rank)))?;
                sql(server().unwrap(), &change).unwrap();
                Ok(())
            })
        };
        create_beside(2, "numbers = numbers").unwrap();
        assert_eq!(workspace.fetch::<Item>().count().unwrap(), 2);
        let commit = "before = last, last = last + 1, engine = 7";
        let refused = create_beside(3, commit).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Busy, "{refused:?}");
        assert_eq!(workspace.fetch::<Item>().count().unwrap(), 2);
        create(&workspace, 3).unwrap();
        assert_eq!(engine(&schema).fetch::<Item>().count().unwrap(), 3);
    });
}

/// Two programs read what the other one changes. Under snapshots alone, both could commit.
#[test]
fn no_two_transactions_commit_that_each_read_before_the_other_wrote() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let programs = [engine(&schema), engine(&schema)];
        create(&programs[0], 1).unwrap();
        create(&programs[0], 2).unwrap();
        // Each takes one object away, if the other one is left.
        let take = |workspace: &Workspace, own: i32, other: i32, between: &dyn Fn()| {
            workspace.perform_changes_blocking([Item::TABLE], |tx| {
                let left = tx.get::<Item>(&format!("item {other}"))?;
                between();
                if left.is_some() {
                    let own = tx.get::<Item>(&format!("item {own}"))?.unwrap();
                    assert!(own.row_id().0 > 0);
                    tx.submit(ItemChangeRequest::deletion(tx, &own)?.unwrap())?;
                }
                Ok(())
            })
        };
        let second = |_: &()| take(&programs[1], 2, 1, &|| {}).unwrap();
        let first = take(&programs[0], 1, 2, &|| {
            thread::scope(|scope| {
                // On another thread, as in another program.
                scope.spawn(|| second(&())).join().unwrap();
            });
        });
        assert_eq!(first.unwrap_err().kind(), ErrorKind::Busy);
        let left = programs[0].fetch::<Item>().all().unwrap();
        assert_eq!(left.iter().map(|item| item.rank()).collect::<Vec<_>>(), [1]);
    });
}

/// The program learns of the refusal only after it has given the transaction up.
#[test]
fn refused_write_of_a_transaction_that_was_given_up_fails_no_later_one() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let workspace = engine(&schema);
        let ranks = 0..2_000;
        let filled = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            let requests = ranks
                .clone()
                .map(|rank| ItemChangeRequest::creation(data(rank)));
            let mut made = tx.submit_many(requests).into_iter();
            made.try_for_each(|made| made.map(drop))
        });
        filled.unwrap();
        let refuse = format!(
            "SET search_path = \"{schema}\"; \
             CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN RAISE EXCEPTION 'no'; END $$; \
             CREATE TRIGGER no BEFORE UPDATE ON item EXECUTE FUNCTION no()"
        );
        sql(server().unwrap(), &refuse).unwrap();
        let items = workspace.fetch::<Item>().all().unwrap();
        let given_up = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            for item in &items {
                let Some(mut request) = ItemChangeRequest::change(tx, item)? else {
                    continue;
                };
                request.size = 7;
                tx.submit(request)?;
            }
            Err::<(), _>(dflat::Error::new(ErrorKind::InvalidArgument, "given up"))
        });
        assert!(given_up.is_err());
        create(&workspace, 5_000).unwrap();
        assert_eq!(engine(&schema).fetch::<Item>().count().unwrap(), 2_001);
    });
}

#[test]
fn lock_of_another_program_on_new_tables_makes_a_writer_busy() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let hash = blake3::hash(schema.as_bytes());
        let key = i64::from_le_bytes(*hash.as_bytes().first_chunk().unwrap());
        let hold = format!("SELECT pg_advisory_lock({key}); SELECT pg_sleep(2), '{schema}'");
        let held = thread::spawn(move || sql(server().unwrap(), &hold).map(drop).unwrap());
        is_held(&schema);
        let refused = create(&impatient(&schema), 1).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Busy, "{refused:?}");
        held.join().unwrap();
        create(&impatient(&schema), 1).unwrap();
    });
}

#[test]
fn exclusive_lock_of_another_program_makes_a_reader_busy() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        create(&engine(&schema), 1).unwrap();
        let lock = format!("LOCK TABLE \"{schema}\".item IN ACCESS EXCLUSIVE MODE");
        let hold = format!("BEGIN; {lock}; SELECT pg_sleep(2), '{schema}'; COMMIT");
        let held = thread::spawn(move || sql(server().unwrap(), &hold).map(drop).unwrap());
        is_held(&schema);
        let refused = impatient(&schema).fetch::<Item>().count().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Busy, "{refused:?}");
        held.join().unwrap();
        assert_eq!(impatient(&schema).fetch::<Item>().count().unwrap(), 1);
    });
}
