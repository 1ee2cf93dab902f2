//! Backups of a file, read through plain SQL.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use dflat_engine::ErrorKind;
use dflat_sqlite::SqliteBackend;

use crate::raw::Raw;
use crate::sample::*;

fn back_up(backend: &SqliteBackend, to: &Path) -> dflat_engine::Result<()> {
    backend.backup(to, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn backup_refuses_a_target_with_an_old_log() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let old = three_posts(&at("old.db"));
    let log = fs::read(at("old.db-wal")).unwrap();
    drop(old);
    let backend = three_posts(&at("a.db"));
    for beside in ["b.db-wal", "b.db-journal"] {
        // Before the copy starts, and during it.
        fs::write(at(beside), &log).unwrap();
        let refused = back_up(&backend, &at("b.db")).unwrap_err();
        fs::remove_file(at(beside)).unwrap();
        let late = backend.backup(&at("b.db"), &mut |_| {
            fs::write(at(beside), &log).unwrap();
            ControlFlow::Continue(())
        });
        for error in [refused, late.unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains(beside), "{error}");
        }
        assert_eq!(fs::read(at(beside)).unwrap(), log, "it is not ours");
        let entries = fs::read_dir(directory.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        let of_copy = names.filter(|name| name.to_str().unwrap().starts_with("b.db"));
        assert_eq!(of_copy.count(), 1, "{beside} alone");
        fs::remove_file(at(beside)).unwrap();
    }
    back_up(&backend, &at("b.db")).unwrap();
    assert_eq!(latest_ids(&open(&at("b.db")), &post()), [1, 2, 3]);
}

#[test]
fn backup_of_a_read_only_file_has_the_latest_state() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let backend = three_posts(&at("a.db"));
    let mut tx = begin(&backend);
    for key in 0..2000 {
        insert_post(&mut *tx, (&format!("{key:0200}"), key, None)).unwrap();
    }
    tx.commit().unwrap();
    drop(backend);
    make_old(&at("a.db"));
    let reader = open_read_only(&at("a.db"));
    assert_eq!(latest_ids(&reader, &post()).len(), 2003);
    // The reader has pages in its cache now.
    let mut raw = Raw::open(&at("a.db"));
    raw.execute("DELETE FROM post WHERE rowid > 3");
    raw.execute("CREATE TABLE extra (x)");
    drop(raw);
    back_up(&reader, &at("b.db")).unwrap();
    let mut raw = Raw::open(&at("b.db"));
    assert_eq!(raw.rows(&["count(*)"], "FROM post"), ["3"]);
    let check = raw.rows(&["integrity_check"], "FROM pragma_integrity_check");
    assert_eq!(check, ["'ok'"]);

    // Another program writes during the copy: the backup fails, and makes no copy of mixed states.
    make_old(&at("a.db"));
    let torn = reader.backup(&at("c.db"), &mut |_| {
        Raw::open(&at("a.db")).execute("INSERT INTO extra VALUES (randomblob(9000))");
        ControlFlow::Continue(())
    });
    assert_eq!(torn.unwrap_err().kind(), ErrorKind::Busy);
    assert!(!at("c.db").exists());
}
