//! The spans and events for `tracing`.

use std::fmt::{self, Debug, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use dflat::{ChangeRequest, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::fixture::{Fixture, until};
use dflat_testkit::schema::{Bag, BagData, Item};
use dflat_testkit::shelf::{v1::library as v1, v2::library as v2};
use rusqlite::ErrorCode;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

use crate::writing::groups::{Rig, insert, kind};
use crate::writing::scripted::Call;

/// Records every span and event of this library as a line.
struct Recorder;

/// The number of listening tests. Other tests of the process must not fill the memory.
static LISTENERS: AtomicU64 = AtomicU64::new(0);

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

fn note(metadata: &Metadata<'_>, values: impl FnOnce(&mut Line)) {
    let kind = if metadata.is_span() {
        metadata.name()
    } else {
        "event"
    };
    let mut line = Line(format!("{} {kind}", metadata.level()));
    values(&mut line);
    LINES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(line.0);
}

impl Subscriber for Recorder {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        LISTENERS.load(Ordering::SeqCst) > 0 && metadata.target() == "dflat"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        note(span.metadata(), |line| span.record(line));
        Id::from_u64(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        note(event.metadata(), |line| event.record(line));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Listens while a test runs.
fn listening(test: fn()) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Recorder).unwrap());
    LISTENERS.fetch_add(1, Ordering::SeqCst);
    bounded(test);
    LISTENERS.fetch_sub(1, Ordering::SeqCst);
}

/// Whether a recorded line has all of these parts.
fn is_recorded(parts: &[&dyn fmt::Display]) -> bool {
    let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    lines
        .iter()
        .any(|line| parts.iter().all(|part| line.contains(part)))
}

// Promise: durability#D42
#[test]
fn every_span_and_event_is_emitted() {
    listening(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("spans.db");
        let workspace = Workspace::builder(&path).slow_query(Duration::ZERO);
        let workspace = workspace.slow_subscriber(Duration::ZERO).open().unwrap();
        assert!(is_recorded(&[&"DEBUG open", &path.display()]));
        let create = |id: String| {
            let created = workspace.perform_changes([Item::TABLE], move |tx| insert(tx, &id));
            created.wait().unwrap();
        };
        let subscription = workspace
            .subscribe(workspace.fetch::<Item>(), |_| {})
            .unwrap();
        create("a".to_owned());
        assert!(is_recorded(&[&"DEBUG transaction", &"types=[\"Item\"]"]));
        assert!(is_recorded(&[&"DEBUG commit", &"members=1"]));
        assert!(is_recorded(&[
            &"WARN event",
            &"slow subscriber",
            &"type_name=\"Item\"",
            &"micros="
        ]));
        assert!(workspace.get::<Item>("a").unwrap().is_some());
        assert!(is_recorded(&[
            &"WARN event",
            &"slow query",
            &"type_name=\"Item\""
        ]));
        subscription.cancel();
        workspace.purge().unwrap();
        assert!(is_recorded(&[&"DEBUG checkpoint", &"truncate"]));
        // A snapshot keeps the log from starting again.
        let snapshot = workspace.snapshot().unwrap();
        assert_eq!(snapshot.fetch::<Item>().all().unwrap().len(), 1);
        for n in 0..6 {
            create(format!("{n}{}", "x".repeat(5 << 20)));
        }
        // The background work that notices this ends here at the latest.
        workspace.settle().unwrap();
        while !workspace.stats().log_is_pinned {
            std::thread::yield_now();
        }
        assert!(is_recorded(&[&"WARN event", &"log pinned", &"bytes="]));
        assert!(workspace.stats().log_bytes > 16 << 20);
        drop(snapshot);
        while workspace.stats().log_is_pinned {
            std::thread::yield_now();
        }
        assert!(is_recorded(&[
            &"DEBUG event",
            &"checkpoint made",
            &"pages="
        ]));
    });
}

#[test]
fn an_old_snapshot_is_reported_with_its_age_and_ended_on_request() {
    listening(|| {
        let directory = tempfile::tempdir().unwrap();
        let open = |name: &str| Workspace::builder(directory.path().join(name));
        let create = |workspace: &Workspace, id: &'static str| {
            let created = workspace.perform_changes([Item::TABLE], move |tx| insert(tx, id));
            created.wait().unwrap();
        };
        let workspace = open("old.db").old_snapshot(Duration::ZERO).open().unwrap();
        create(&workspace, "a");
        let held = workspace.snapshot().unwrap();
        create(&workspace, "b");
        assert!(is_recorded(&[&"WARN event", &"old snapshot", &"millis="]));
        assert_eq!(held.fetch::<Item>().count().unwrap(), 1);
        assert!(workspace.stats().oldest_snapshot.is_some());
        drop(held);
        assert_eq!(workspace.stats().oldest_snapshot, None);
        // The snapshot ends with the first commit after its time.
        let age_max = Duration::from_millis(500);
        let brief = open("brief.db").snapshot_age_max(age_max).open().unwrap();
        create(&brief, "a");
        let held = brief.snapshot().unwrap();
        assert_eq!(held.fetch::<Item>().count().unwrap(), 1);
        while brief
            .stats()
            .oldest_snapshot
            .is_some_and(|age| age < age_max)
        {
            std::thread::yield_now();
        }
        create(&brief, "b");
        let ended = held.fetch::<Item>().all().unwrap_err();
        assert_eq!(ended.kind(), dflat::ErrorKind::DeadlineExceeded);
        // The ended snapshot keeps no state, although it is not dropped yet.
        brief.purge().unwrap();
        drop(held);
    });
}

/// A snapshot of a workspace that only reads pins the log of other processes.
#[test]
fn an_old_snapshot_is_reported_and_ended_if_only_other_processes_commit() {
    listening(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let age_max = Duration::from_millis(200);
        let workspace = Workspace::builder(&path)
            .old_snapshot(Duration::ZERO)
            .snapshot_age_max(age_max)
            .open()
            .unwrap();
        let created = workspace.perform_changes([Item::TABLE], |tx| insert(tx, "a"));
        created.wait().unwrap();
        let old = || {
            let held = workspace.snapshot().unwrap();
            let is_old = |age| age >= age_max;
            while !workspace.stats().oldest_snapshot.is_some_and(is_old) {
                std::thread::yield_now();
            }
            held
        };
        // Whether the log can be copied and started again, which a held state prevents.
        let sql = rusqlite::Connection::open(&path).unwrap();
        sql.busy_timeout(Duration::ZERO).unwrap();
        let is_pinned = || -> bool {
            let delete = format!("DELETE FROM {} WHERE rowid < 0", Item::TABLE.name);
            let written = sql.execute_batch(&format!("PRAGMA user_version = 7; {delete}"));
            match written {
                Ok(()) => {}
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                    return true;
                }
                Err(error) => panic!("cannot write beside it: {error}"),
            }
            let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
            sql.query_row(truncate, [], |row| row.get(0)).unwrap()
        };
        let first = old();
        assert!(is_pinned());
        workspace.refresh().unwrap();
        assert!(is_recorded(&[&"WARN event", &"old snapshot", &"millis="]));
        // An idle reader keeps its state for a short time.
        until(|| !is_pinned());
        let second = old();
        assert!(is_pinned());
        let third = workspace.snapshot().unwrap();
        for ended in [&first, &second] {
            let error = ended.get::<Item>("a").unwrap_err();
            assert_eq!(error.kind(), dflat::ErrorKind::DeadlineExceeded);
        }
        // Ended snapshots don't count as held.
        assert!(workspace.stats().oldest_snapshot.is_some());
        drop(third);
        assert_eq!(workspace.stats().oldest_snapshot, None);
        until(|| !is_pinned());
    });
}

#[test]
fn building_an_index_is_an_event() {
    listening(|| {
        let w = Fixture::sqlite();
        w.create::<v1::Book>((0..2).map(|id| v1::BookData {
            id,
            isbn: Some("same".into()),
            ..v1::BookData::default()
        }));
        w.build_indexes([v2::Book::TABLE]).unwrap();
        w.indexes_ready().wait().unwrap();
        let book: &dyn fmt::Display = &"type_name=\"Library.Book\"";
        assert!(is_recorded(&[
            &"DEBUG event",
            &"backfill started",
            book,
            &"rows=2"
        ]));
        assert!(is_recorded(&[&"DEBUG backfill", book]));
        assert!(is_recorded(&[&"DEBUG event", &"backfill finished", book]));
        assert!(is_recorded(&[
            &"WARN event",
            &"unique",
            &"index=isbn",
            &"Int(1)"
        ]));
    });
}

#[test]
fn fast_calls_are_not_reported_as_slow() {
    listening(|| {
        let directory = tempfile::tempdir().unwrap();
        let hour = Duration::from_secs(3600);
        let workspace = Workspace::builder(directory.path().join("fast.db"));
        let workspace = workspace
            .slow_query(hour)
            .slow_subscriber(hour)
            .open()
            .unwrap();
        let _all = workspace
            .subscribe(workspace.fetch::<Bag>(), |_| {})
            .unwrap();
        let created = workspace.perform_changes([Bag::TABLE], |tx| {
            tx.submit(ChangeRequest::<Bag>::creation(BagData::default()))
        });
        created.wait().unwrap();
        assert!(is_recorded(&[&"DEBUG transaction", &"types=[\"Bag\"]"]));
        assert!(!is_recorded(&[&"slow", &"type_name=\"Bag\""]));
    });
}

#[test]
fn a_commit_that_fails_is_an_event() {
    listening(|| {
        let rig = Rig::memory();
        rig.script.fail(Call::Commit, 0);
        assert!(kind(rig.insert("a")).is_some());
        assert!(is_recorded(&[
            &"WARN event",
            &"commit failed",
            &"no space is left",
            &"members=1"
        ]));
    });
}

#[test]
fn a_retry_is_counted() {
    bounded(|| {
        let rig = Rig::memory();
        let script = std::sync::Arc::clone(&rig.script);
        let mut runs = 0;
        let retried = rig
            .workspace
            .perform_changes_retrying([Item::TABLE], move |tx| {
                runs += 1;
                tx.fetch::<Item>().all()?;
                if runs == 1 {
                    script.commit_elsewhere();
                }
                insert(tx, "a")
            });
        retried.wait().unwrap();
        let stats = rig.workspace.stats();
        assert_eq!(
            (stats.retries, stats.transactions, stats.failed_transactions),
            (1, 1, 0)
        );
    });
}
