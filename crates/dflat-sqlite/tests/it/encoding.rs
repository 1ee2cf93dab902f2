//! Files whose texts are UTF-16.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use dflat_engine::storage::{Backend, ScanPlan, Source, View};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_sqlite::{SqliteBackend, SqliteOptions};

use crate::raw::Raw;
use crate::sample::*;

/// A file with texts of this encoding. In a log, the header of the file does not name it.
fn make(path: &Path, encoding: &str, in_log: bool) -> Raw {
    let mut raw = Raw::open(path);
    raw.execute(&format!("PRAGMA encoding = '{encoding}'"));
    if in_log {
        raw.execute("PRAGMA journal_mode = WAL");
    }
    raw.execute("CREATE TABLE post (rowid INTEGER PRIMARY KEY, __pk0 TEXT UNIQUE, p BLOB)");
    raw.execute("INSERT INTO post (__pk0, p) VALUES ('a', x'00')");
    raw
}

fn check(error: &Error, encoding: &str) {
    assert_eq!(error.kind(), ErrorKind::NotADatabase, "{error}");
    for part in ["a.db", encoding, "UTF-8", "sqlite3 OLD .dump"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

fn read(backend: &Arc<SqliteBackend>) -> Result<()> {
    let table = post();
    let plan = ScanPlan {
        table: &table,
        source: Source::Rows,
        payload: true,
    };
    Arc::clone(backend)
        .snapshot(View::Latest)?
        .scan(&plan, &mut |_| ControlFlow::Continue(()))
}

// Promise: storage-format#S27
/// Issue 27.
#[test]
fn file_with_texts_in_utf_16_is_refused() {
    for encoding in ["UTF-16le", "UTF-16be"] {
        for read_only in [false, true] {
            let options = || SqliteOptions {
                read_only,
                ..SqliteOptions::default()
            };
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("a.db");
            drop(make(&path, encoding, false));
            check(
                &SqliteBackend::open(&path, options()).unwrap_err(),
                encoding,
            );

            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("a.db");
            let _open = make(&path, encoding, true);
            let backend = SqliteBackend::open(&path, options()).unwrap();
            check(&read(&backend).unwrap_err(), encoding);
            let copy = directory.path().join("copy.db");
            let backed_up = backend.backup(&copy, &mut |_| ControlFlow::Continue(()));
            check(&backed_up.unwrap_err(), encoding);
            check(&backend.check_pages(&mut |_| ()).unwrap_err(), encoding);
            if !read_only {
                let begun = Arc::clone(&backend).begin(backend.durability());
                check(&begun.err().unwrap(), encoding);
            }
        }
    }
}
