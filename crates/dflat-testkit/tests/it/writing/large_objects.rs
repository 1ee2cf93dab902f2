//! Objects that are larger than SQLite stores.

use std::rc::Rc;

use dflat::{CloseOptions, ErrorKind, Payload, Workspace};
use dflat_engine::engine::{Engine, EngineOptions, PerformOptions};
use dflat_engine::transaction::{Change, Transaction};
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::schema::{Item, ItemData};

// Promise: concurrency#C47
#[test]
fn object_that_is_too_large_is_refused_and_the_transaction_goes_on() {
    let bytes = |id: &str, rank: i32, len: usize| {
        let data = ItemData {
            id: id.to_owned(),
            rank,
            ..ItemData::default()
        };
        let value = data.to_bytes().unwrap();
        // The rest is not touched, so it takes no memory.
        let mut bytes = vec![0; len.max(value.len())];
        bytes[..value.len()].copy_from_slice(&value);
        bytes
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let backend = SqliteBackend::open(&path, SqliteOptions::default()).unwrap();
    let engine = Engine::new(backend, EngineOptions::default());
    let handler = |tx: &Rc<Transaction>| {
        let create = |id, len| {
            let payload = &bytes(id, 0, len);
            tx.submit(&Item::TABLE, Change::Create { payload })
        };
        create("a", 0)?;
        let refused = create("b", 1_000_000_001).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
        let payload = &bytes("a", 1, 1_000_000_001);
        let refused = tx.submit(&Item::TABLE, Change::Restore { payload });
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
        create("c", 0).map(drop)
    };
    let options = PerformOptions::default();
    let done = engine.perform_here([Item::TABLE], options, handler, |_| ());
    done.unwrap();
    engine.shutdown(CloseOptions::default()).unwrap();
    let workspace = Workspace::open(&path).unwrap();
    assert_eq!(workspace.fetch::<Item>().count().unwrap(), 2);
    assert!(workspace.check([Item::TABLE]).unwrap().is_sound());
}
