//! Files that could not be written when the program opened them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use dflat::{ErrorKind, Result, Workspace};
use dflat_testkit::note::v2::diary::{Note, NoteChangeRequest, NoteData};

use crate::unprivileged::unprivileged;

fn write(workspace: &Workspace, id: &str) -> Result<()> {
    let data = NoteData {
        id: id.to_owned(),
        ..NoteData::default()
    };
    workspace.perform_changes_blocking([Note::TABLE], |tx| {
        tx.submit(NoteChangeRequest::creation(data)).map(drop)
    })
}

fn count(workspace: &Workspace) -> usize {
    workspace.fetch::<Note>().count().unwrap()
}

// Promise: durability#D16
#[test]
fn workspace_writes_once_the_index_of_the_log_can_be_written_again() {
    let test =
        "files::writable_again::workspace_writes_once_the_index_of_the_log_can_be_written_again";
    unprivileged(test, |directory| write_again(&directory.join("a.db")));
}

fn write_again(path: &Path) {
    let index = path.with_extension("db-shm");
    let set_mode = |mode| fs::set_permissions(&index, Permissions::from_mode(mode)).unwrap();
    let workspace = Workspace::open(path).unwrap();
    write(&workspace, "first").unwrap();
    workspace.shutdown().unwrap();
    for (round, with_snapshot) in [false, true].into_iter().enumerate() {
        // A program that only reads leaves the log and its index.
        let workspace = Workspace::open(path).unwrap();
        count(&workspace);
        workspace.shutdown().unwrap();
        set_mode(0o400);
        let workspace = Workspace::open(path).unwrap();
        let notes = count(&workspace);
        let refused = || write(&workspace, "refused").map_err(|error| error.kind());
        assert_eq!(refused(), Err(ErrorKind::ReadOnly));
        // A snapshot keeps the index that is only read.
        let snapshot = with_snapshot.then(|| workspace.snapshot().unwrap());
        set_mode(0o600);
        if let Some(snapshot) = snapshot {
            assert_eq!(snapshot.fetch::<Note>().count().unwrap(), notes);
            assert_eq!(refused(), Err(ErrorKind::ReadOnly));
            assert_eq!(snapshot.fetch::<Note>().count().unwrap(), notes);
        }
        if !with_snapshot {
            workspace.compact().unwrap();
        }
        write(&workspace, &format!("written {round}")).unwrap();
        workspace.dictionary().set("round", round as u64).unwrap();
        workspace.shutdown().unwrap();
    }
    let workspace = Workspace::open(path).unwrap();
    assert_eq!(count(&workspace), 3);
    assert_eq!(workspace.dictionary().get::<u64>("round").unwrap(), Some(1));
    workspace.shutdown().unwrap();
}
