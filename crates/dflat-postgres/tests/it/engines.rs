//! Several engines on one schema, as programs on several machines have them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dflat::{FetchedResult, Object, Result, TransactionContext, Update, Workspace};
use dflat_engine::engine::EngineOptions;
use dflat_testkit::fixture::{bounded, until};
use dflat_testkit::history::{Clock, History, Recorder, check, fill, last_lists};
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};
use dflat_testkit::shelf;

use crate::server::{Server, backend, new_schema, open, server, sql, sql_at};

/// A workspace on a schema. However slow the machine is, no delivery is merged with another one.
pub(crate) fn engine(schema: &str) -> Workspace {
    let patient = EngineOptions {
        patience: Duration::from_secs(300),
        ..EngineOptions::default()
    };
    Workspace::on_backend(backend(server().unwrap(), schema), patient)
}

/// Whether the machine has no server.
pub(crate) fn is_skipped() -> bool {
    let is_missing = server().is_none();
    if is_missing {
        eprintln!("skipped: the programs of PostgreSQL are missing");
    }
    is_missing
}

#[test]
fn random_programs_agree_with_the_model() {
    if !is_skipped() {
        dflat_testkit::workload::run(open, |_, _| {});
    }
}

#[test]
fn histories_of_engines_are_strictly_serializable() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let engines = [engine(&schema), engine(&schema), engine(&schema)];
        fill(&engines[0]);
        // Other engines write too, as the clock of several processes says.
        let directory = tempfile::tempdir().unwrap();
        let clock = Clock::of_file(&directory.path().join("clock"));
        let recorders = engines.each_ref().map(|e| Recorder::new(e, clock.clone()));
        let events: Mutex<Vec<_>> = Mutex::default();
        std::thread::scope(|scope| {
            for (number, recorder) in (0..).zip(&recorders) {
                let events = &events;
                scope.spawn(move || {
                    let done = recorder.run(7 + number, 1 + number * 1_000);
                    events.lock().unwrap().push((number, done));
                });
            }
        });
        for engine in &engines {
            engine.refresh().unwrap();
            engine.settle().unwrap();
        }
        let last = last_lists(&engines[0]);
        let done = events.into_inner().unwrap();
        for (at, recorder) in (0..).zip(recorders) {
            // Completions and deliveries are in the order of commits in each engine.
            let events = done.iter().flat_map(|(number, events)| {
                let events = events.iter().cloned();
                events.map(move |mut event| {
                    event.ordered &= *number == at;
                    event
                })
            });
            let history = History {
                events: events.collect(),
                deliveries: recorder.end(),
                last: last.clone(),
                ..History::default()
            };
            assert!(
                history
                    .events
                    .iter()
                    .filter(|event| event.committed)
                    .count()
                    > 100
            );
            check(&history).unwrap();
        }
        // The commits of the others were delivered from their records, one by one.
        for engine in &engines {
            assert_eq!(engine.stats().renewals, 0);
        }
    });
}

type Latest = Arc<Mutex<Vec<(i64, ItemData)>>>;

/// Follows a query: each new result is checked against its difference.
fn follow(workspace: &Workspace, latest: &Latest) -> dflat::Subscription {
    let latest = Arc::clone(latest);
    let list = workspace.fetch::<Item>().order_by(Item::RANK.ascending());
    let noted = move |update: Result<Update<FetchedResult<Item>>>| {
        let update = update.unwrap();
        let list = update.result().iter();
        *latest.lock().unwrap() = list.map(|item| (item.row_id().0, item.to_data())).collect();
    };
    workspace.subscribe(list, noted).unwrap()
}

fn change(tx: &TransactionContext, random: &mut Random) -> Result<()> {
    let id = format!("item {}", random.below(20));
    if random.below(4) == 0 {
        let found = tx.get::<Item>(&id)?;
        if let Some(request) = found
            .map(|found| ItemChangeRequest::deletion(tx, &found))
            .transpose()?
        {
            tx.submit(request.unwrap())?;
        }
        return Ok(());
    }
    let data = ItemData {
        rank: random.below(1_000) as i32,
        code: Some(id.clone()),
        id,
        ..ItemData::default()
    };
    tx.submit(ItemChangeRequest::upsert(data)).map(drop)
}

#[test]
fn each_engine_delivers_the_commits_of_the_others_without_a_call() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let engines = [engine(&schema), engine(&schema)];
        let latest = [Latest::default(), Latest::default()];
        let pairs = engines.iter().zip(&latest);
        let subscriptions: Vec<_> = pairs
            .map(|(engine, latest)| follow(engine, latest))
            .collect();
        let mut random = Random::new(3);
        for _ in 0..60 {
            let engine = &engines[random.below(2)];
            let mut own = Random::new(random.below(1 << 40) as u64);
            engine
                .perform_changes_blocking_retrying([Item::TABLE], |tx| change(tx, &mut own))
                .unwrap();
        }
        let fresh = engines[0].fetch::<Item>().order_by(Item::RANK.ascending());
        let fresh = fresh.all().unwrap();
        let fresh: Vec<_> = fresh
            .iter()
            .map(|item| (item.row_id().0, item.to_data()))
            .collect();
        assert!(!fresh.is_empty());
        for (engine, latest) in engines.iter().zip(&latest) {
            until(|| *latest.lock().unwrap() == fresh);
            assert_eq!(engine.stats().renewals, 0);
        }
        drop(subscriptions);
    });
}

/// How many seconds the transaction of another program stays open: 3, or as a variable says.
fn seconds_open() -> u64 {
    let seconds = std::env::var("DFLAT_OPEN_SECONDS").ok();
    seconds.map_or(3, |seconds| seconds.parse().unwrap())
}

/// Starts a transaction of another program that writes to a table of its own and stays open.
fn open_foreign_transaction(server: &Server) -> std::thread::JoinHandle<()> {
    let table = new_schema().replace(' ', "_");
    let create = format!("CREATE TABLE {table} (number bigint)");
    sql(server, &create).unwrap();
    let sleep = format!("pg_sleep({})", seconds_open());
    let (address, write) = (
        server.address(),
        format!("BEGIN; INSERT INTO {table} VALUES (1); SELECT {sleep}; COMMIT"),
    );
    let thread = std::thread::spawn(move || sql_at(&address, &write).map(drop).unwrap());
    until(|| {
        let open = format!(
            "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' \
             AND backend_xid IS NOT NULL AND query LIKE '%{sleep}%'"
        );
        !sql(server, &open).unwrap().is_empty()
    });
    thread
}

#[test]
fn open_transaction_of_another_program_delays_no_delivery() {
    if is_skipped() {
        return;
    }
    match seconds_open() {
        ..=3 => bounded(check_open_transaction),
        _ => check_open_transaction(),
    }
}

fn check_open_transaction() {
    let schema = new_schema();
    let (writer, reader) = (engine(&schema), engine(&schema));
    let latest = Latest::default();
    let subscription = follow(&reader, &latest);
    let open = open_foreign_transaction(server().unwrap());
    let began = std::time::Instant::now();
    let mut written = 0;
    // In a longer run, the commits go on until the other transaction is about to end.
    while written < 20 || began.elapsed().as_secs() + 3 < seconds_open() {
        let number = written;
        let done = writer.perform_changes([Item::TABLE], move |tx| {
            let id = format!("item {number}");
            let data = ItemData {
                id,
                ..ItemData::default()
            };
            tx.submit(ItemChangeRequest::creation(data)).map(drop)
        });
        done.wait().unwrap();
        written += 1;
        if written % 20 == 0 {
            until(|| latest.lock().unwrap().len() == written);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    until(|| latest.lock().unwrap().len() == written);
    assert!(
        !open.is_finished(),
        "the other transaction ended after {:?}",
        began.elapsed()
    );
    drop(subscription);
    open.join().unwrap();
}

#[test]
fn records_that_were_deleted_let_everything_be_read_again() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let address = server().unwrap().address();
        let writer = Workspace::server(&address)
            .schema(&schema)
            .change_log_bytes_max(2_000);
        let writer = writer.open().unwrap();
        let reader = engine(&schema);
        let latest = Latest::default();
        let subscription = follow(&reader, &latest);
        for round in 0..40 {
            let written = writer.perform_changes([Item::TABLE], move |tx| {
                for number in 0..5 {
                    let id = format!("{round} {number}");
                    tx.submit(ItemChangeRequest::creation(ItemData {
                        id,
                        ..ItemData::default()
                    }))?;
                }
                Ok(())
            });
            written.wait().unwrap();
        }
        until(|| latest.lock().unwrap().len() == 200);
        let kept = sql(
            server().unwrap(),
            &format!("SELECT count(*), sum(length(record)) FROM \"{schema}\".dflat__log"),
        );
        let kept = kept.unwrap();
        let number = |at: usize| kept[0][at].parse::<u64>().unwrap();
        assert!(number(0) < 20 && number(1) < 2_000, "{kept:?}");
        drop(subscription);
    });
}

#[test]
fn records_of_a_large_transaction_are_sent_in_parts_and_followed() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let (writer, reader) = (engine(&schema), engine(&schema));
        let latest = Latest::default();
        let subscription = follow(&reader, &latest);
        let written = writer.perform_changes([Item::TABLE], |tx| {
            for number in 0..2_000 {
                let data = ItemData {
                    id: number.to_string(),
                    name: Some("x".repeat(1_500)),
                    ..ItemData::default()
                };
                tx.submit(ItemChangeRequest::creation(data))?;
            }
            Ok(())
        });
        written.wait().unwrap();
        until(|| latest.lock().unwrap().len() == 2_000);
        // The records of deletions have the objects.
        let deleted = writer.perform_changes([Item::TABLE], |tx| {
            tx.delete_where(Item::RANK.eq(0)).map(drop)
        });
        deleted.wait().unwrap();
        until(|| latest.lock().unwrap().is_empty());
        assert_eq!(reader.stats().renewals, 0);
        let records = "SELECT count(*), max(length(record)) < 2000000, \
                       count(*) = max(id) AND max(id) = (SELECT last FROM";
        let tables = format!("\"{schema}\".dflat__control) FROM \"{schema}\".dflat__log");
        let records = sql(server().unwrap(), &format!("{records} {tables}"));
        let records = records.unwrap();
        assert!(records[0][0].parse::<u32>().unwrap() > 3, "{records:?}");
        assert_eq!(records[0][1..], ["t", "t"], "{records:?}");
        drop(subscription);
    });
}

#[test]
fn older_and_newer_programs_share_a_schema() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let (older, newer) = (engine(&schema), engine(&schema));
        let plain = |id: i32| shelf::v1::library::BookData {
            id,
            ..Default::default()
        };
        let indexed = |id: i32| shelf::v2::library::BookData {
            id,
            pages: id,
            ..Default::default()
        };
        for round in 0..6 {
            let written = older.perform_changes([shelf::v1::library::Book::TABLE], move |tx| {
                tx.submit(shelf::v1::library::BookChangeRequest::creation(plain(
                    2 * round,
                )))
            });
            written.wait().unwrap();
            let written = newer.perform_changes([shelf::v2::library::Book::TABLE], move |tx| {
                tx.submit(shelf::v2::library::BookChangeRequest::creation(indexed(
                    2 * round + 1,
                )))
            });
            written.wait().unwrap();
            let count = 2 * round as usize + 2;
            assert_eq!(
                older.fetch::<shelf::v1::library::Book>().count().unwrap(),
                count
            );
            let all = newer.fetch::<shelf::v2::library::Book>();
            assert_eq!(all.count().unwrap(), count);
            let found = newer.fetch::<shelf::v2::library::Book>();
            let found = found.filter(shelf::v2::library::Book::PAGES.gt(0)).count();
            assert_eq!(found.unwrap(), round as usize + 1);
        }
    });
}
