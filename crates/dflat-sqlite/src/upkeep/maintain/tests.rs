//! Two backends on one file are as two processes.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use dflat_engine::storage::{Backend, CloseOptions, Durability, RowWrite, View};
use dflat_model::ValueRef;

use super::*;
use crate::backend::SqliteBackend;
use crate::connection::configure::emptying::HOLD_MAX;
use crate::layout::sample::table;
use crate::options::SqliteOptions;

fn open(path: &Path, busy_timeout: Duration) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        busy_timeout,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

fn commit(backend: &Arc<SqliteBackend>, key: i64) {
    let mut tx = Arc::clone(backend).begin(Durability::Normal).unwrap();
    tx.create(&table()).unwrap();
    let row = RowWrite {
        key: Some(&[ValueRef::Int(key)]),
        payload: &[7; 3000],
        entries: &[],
    };
    tx.insert(&table(), &row).unwrap();
    tx.commit().unwrap();
}

// Promise: concurrency#C89
#[test]
fn other_processes_write_while_upkeep_waits_for_a_reader() {
    type Work = fn(&SqliteBackend) -> Result<()>;
    let close: Work = |backend| {
        backend.close(CloseOptions {
            vacuum: true,
            ..CloseOptions::default()
        })
    };
    for work in [SqliteBackend::purge, SqliteBackend::compact, close] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        // The upkeep waits for longer than transactions do.
        let worker = open(&path, Duration::from_secs(300));
        let backend = open(&path, Duration::from_secs(30));
        commit(&worker, 0);
        let mut reader = Arc::clone(&backend).snapshot(View::Pinned).unwrap();
        reader.pin().unwrap();
        commit(&backend, 1);
        thread::scope(|scope| {
            let working = scope.spawn(|| work(&worker));
            let start = Instant::now();
            for key in 2.. {
                commit(&backend, key);
                if start.elapsed() > 2 * HOLD_MAX {
                    break;
                }
            }
            assert!(!working.is_finished(), "the upkeep waits for the reader");
            drop(reader);
            working.join().unwrap().unwrap();
        });
    }
}
