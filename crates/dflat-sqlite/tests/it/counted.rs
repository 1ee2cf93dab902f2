//! A backend whose I/O is counted, and the writes that tests make with it.

use std::path::Path;
use std::sync::Arc;

use dflat_engine::storage::RowWrite;
use dflat_model::{RowId, Table, ValueRef};
use dflat_sqlite::{Durability, IoReport, Operation, Reclaim, SqliteBackend, SqliteOptions};

use crate::sample::{INT, SMALL_CACHE, begin, table_of};

pub(crate) fn open_counted(path: &Path, durability: Durability) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        durability,
        // The writes of a background thread would be counted too.
        reclaim: Reclaim::Never,
        page_cache_bytes: SMALL_CACHE,
        io_stats: true,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

pub(crate) fn plain() -> Table {
    table_of("plain", &[INT], &[])
}

/// Inserts objects of 500 bytes, `each` of them in each of `transactions` transactions.
pub(crate) fn insert(backend: &Arc<SqliteBackend>, first: i64, transactions: i64, each: i64) {
    // The descriptor is made once, because the backend checks each new descriptor.
    let table = plain();
    for t in 0..transactions {
        let mut tx = begin(backend);
        tx.create(&table).unwrap();
        for key in first + t * each..first + (t + 1) * each {
            let row = RowWrite {
                key: Some(&[ValueRef::Int(key)]),
                payload: &[7; 500],
                entries: &[],
            };
            tx.insert(&table, &row).unwrap();
        }
        tx.commit().unwrap();
    }
}

/// Replaces the payload of the first object, once in each transaction.
pub(crate) fn update(backend: &Arc<SqliteBackend>, transactions: u8) {
    let table = plain();
    for t in 0..transactions {
        let mut tx = begin(backend);
        let row = RowWrite {
            key: None,
            payload: &[t; 500],
            entries: &[],
        };
        tx.update(&table, RowId(1), &row).unwrap();
        tx.commit().unwrap();
    }
}

pub(crate) fn spent(backend: &Arc<SqliteBackend>, work: impl FnOnce()) -> IoReport {
    let before = backend.io_report().unwrap();
    work();
    backend.io_report().unwrap().since(&before)
}

/// The numbers of writes, syncs and bytes written.
pub(crate) fn writing(report: &IoReport) -> (u64, u64, u64) {
    let bytes = report.bytes(Operation::Write);
    (report.count(Operation::Write), report.syncs(), bytes)
}
