//! Rows of other programs whose primary key has no value: NaN in the object, NULL beside it.

use std::path::Path;

use dflat::{ChangeRequest, ErrorKind, Payload, ProblemKind, Workspace};
use dflat_testkit::schema::{Gauge, GaugeData};
use rusqlite::{Connection, params};

type GaugeRequest = ChangeRequest<Gauge>;

fn gauge(at: f64) -> GaugeData {
    let note = Some(format!("at {at}"));
    GaugeData { at, note }
}

/// A file with objects at 2.0 and 1.0, and two rows of another program without a key between them.
fn with_missing_keys(path: &Path) {
    let workspace = Workspace::open(path).unwrap();
    let create = |at| {
        let created = workspace.perform_changes([Gauge::TABLE], move |tx| {
            tx.submit(GaugeRequest::creation(gauge(at))).map(drop)
        });
        created.wait().unwrap();
    };
    create(2.0);
    let sql = Connection::open(path).unwrap();
    for _ in 0..2 {
        let payload = gauge(f64::NAN).to_bytes().unwrap();
        let insert = "INSERT INTO gauge (__pk0, p) VALUES (NULL, ?)";
        sql.execute(insert, params![payload]).unwrap();
    }
    drop(sql);
    create(1.0);
    workspace.shutdown().unwrap();
}

fn keys(found: impl AsRef<[Gauge]>) -> Vec<String> {
    let found = found.as_ref().iter();
    found.map(|gauge| gauge.at().to_string()).collect()
}

// Promise: durability#D81
#[test]
fn rows_without_a_key_are_read_but_not_found_by_key() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    with_missing_keys(&path);
    let w = Workspace::open(&path).unwrap();
    let all = || w.fetch::<Gauge>();
    assert_eq!(keys(all().all().unwrap()), ["2", "NaN", "NaN", "1"]);
    assert_eq!(all().count().unwrap(), 4);
    assert!(w.get::<Gauge>(f64::NAN).unwrap().is_none());
    let many = w.get_many::<Gauge>([f64::NAN, 2.0]).unwrap();
    assert!(many[0].is_none() && many[1].is_some());
    let found = |condition| keys(w.fetch::<Gauge>().filter(condition).all().unwrap());
    assert_eq!(found(Gauge::AT.is_null()), ["NaN", "NaN"]);
    assert_eq!(found(Gauge::AT.is_not_null()), ["2", "1"]);
    assert_eq!(found(Gauge::AT.eq(f64::NAN)), [""; 0]);
    assert_eq!(found(Gauge::AT.ne(1.0)), ["2"]);
    assert_eq!(found(Gauge::AT.lt(9.0)), ["2", "1"]);
    assert_eq!(found(Gauge::NOTE.eq("at NaN")), ["NaN", "NaN"]);
    // Pages in the order of the key, with and without a window.
    let ordered = || w.fetch::<Gauge>().order_by(Gauge::AT.ascending());
    assert_eq!(keys(ordered().all().unwrap()), ["NaN", "NaN", "1", "2"]);
    let first = ordered().limit(1).all().unwrap();
    let place = first.cursor_at(0).unwrap();
    let rest = ordered().after(place).limit(9).all().unwrap();
    assert_eq!(keys(rest), ["NaN", "1", "2"]);
    w.shutdown().unwrap();
}

// Promise: durability#D81
#[test]
fn check_lists_rows_without_a_key_and_repair_keeps_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    with_missing_keys(&path);
    let w = Workspace::open(&path).unwrap();
    let found = w.check([Gauge::TABLE]).unwrap();
    assert_eq!(found.problems_count, 2, "{:?}", found.problems);
    for problem in &found.problems {
        assert_eq!(problem.kind, ProblemKind::MissingKey, "{problem:?}");
        assert!(problem.message.contains("`at`"), "{problem:?}");
        assert!(problem.row_id.is_some(), "{problem:?}");
    }
    let repaired = w.repair([Gauge::TABLE]).unwrap();
    assert!(repaired.unreadable.is_empty(), "{repaired:?}");
    assert_eq!(repaired.after.problems, found.problems);
    assert_eq!(w.fetch::<Gauge>().count().unwrap(), 4);
    w.shutdown().unwrap();

    let saved = directory.path().join("b.db");
    let report = Workspace::salvage(&path, &saved, [Gauge::TABLE]).unwrap();
    assert_eq!((report.saved, report.unreadable), (4, 0));
}

// Promise: durability#D81
#[test]
fn row_without_a_key_can_be_given_one_or_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    with_missing_keys(&path);
    let w = Workspace::open(&path).unwrap();
    let missing = w
        .fetch::<Gauge>()
        .filter(Gauge::AT.is_null())
        .all()
        .unwrap();
    let changed = w.perform_changes([Gauge::TABLE], move |tx| {
        let mut request = GaugeRequest::change(tx, &missing[0])?.unwrap();
        request.note = Some("without a key".into());
        let refused = tx.submit(request).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
        let mut request = GaugeRequest::change(tx, &missing[0])?.unwrap();
        request.at = 7.0;
        tx.submit(request)?;
        let request = GaugeRequest::deletion(tx, &missing[1])?.unwrap();
        tx.submit(request).map(drop)
    });
    changed.wait().unwrap();
    assert_eq!(keys(w.fetch::<Gauge>().all().unwrap()), ["2", "7", "1"]);
    assert_eq!(w.get::<Gauge>(7.0).unwrap().unwrap().note(), Some("at NaN"));
    let report = w.check([Gauge::TABLE]).unwrap();
    assert!(report.is_sound(), "{report:?}");
    w.shutdown().unwrap();
}

#[test]
fn nan_in_json_is_refused_as_a_key() {
    for path in [None, Some("a.db")] {
        let directory = tempfile::tempdir().unwrap();
        let w = match path {
            None => Workspace::in_memory(),
            Some(name) => Workspace::open(directory.path().join(name)).unwrap(),
        };
        let data: GaugeData = serde_json::from_str(r#"{"at":"nan"}"#).unwrap();
        let created = w.perform_changes([Gauge::TABLE], |tx| {
            tx.submit(GaugeRequest::creation(data)).map(drop)
        });
        let refused = created.wait().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
        assert_eq!(w.fetch::<Gauge>().count().unwrap(), 0);
    }
}
