//! Upserts and restorations, which look their objects up, while another process commits.

use std::thread;

use dflat::Workspace;
use dflat_engine::engine::EngineOptions;
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};

// Promise: concurrency#C85
/// Issue 27: an upsert looks its object up, and was `Busy` if the other process committed between
/// the look-up and the change.
#[test]
fn upserts_and_restorations_of_two_processes_are_not_busy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let open = || {
        let backend = SqliteBackend::open(&path, SqliteOptions::default()).unwrap();
        Workspace::on_backend(backend, EngineOptions::default())
    };
    let put = |workspace: &Workspace, id: i32, note: String| {
        workspace.perform_changes_blocking([Other::TABLE], |tx| {
            let note = Some(note);
            tx.submit(OtherChangeRequest::upsert(OtherData { id, note }))
        })
    };
    let engines = [open(), open()];
    thread::scope(|scope| {
        for (id, workspace) in (0..).zip(&engines) {
            scope.spawn(move || {
                for round in 0..200 {
                    put(workspace, id, format!("{round}")).unwrap();
                    let seen = workspace.get::<Other>(id).unwrap().unwrap();
                    put(workspace, id, format!("{round} again")).unwrap();
                    let restored = workspace.perform_changes_blocking([Other::TABLE], |tx| {
                        tx.submit(OtherChangeRequest::restoration(&seen))
                    });
                    restored.unwrap();
                }
            });
        }
    });
    for (id, workspace) in (0..).zip(&engines) {
        let stored = workspace.get::<Other>(id).unwrap().unwrap();
        assert_eq!(stored.note(), Some("199"));
    }
}
