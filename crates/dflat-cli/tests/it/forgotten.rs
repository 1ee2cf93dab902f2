//! Commits whose objects are lost, because the history of their type was forgotten.

use dflat_history::garbage::forget;

use crate::fixture::{dflat, insert, make_versioned, open_versioned, printed, table};

#[test]
fn log_marks_the_types_whose_history_was_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = folder.join("tasks.db");
    make_versioned(&path);
    printed(&["commit", "tasks.db", "first"], folder);
    let log = || printed(&["log", "tasks.db", "--commits"], folder);
    assert!(log().contains("Work.Task 2") && !log().contains("(forgotten)"));
    let workspace = open_versioned(&path);
    let task = table("Work.Task");
    forget(workspace.engine(), std::slice::from_ref(&task), &task).unwrap();
    workspace.shutdown_with(Default::default()).unwrap();
    let workspace = open_versioned(&path);
    insert(&workspace, &task, &[r#"{"id": 3}"#.to_owned()]);
    workspace.shutdown_with(Default::default()).unwrap();
    assert!(log().contains("Work.Task 2 (forgotten)"), "{}", log());
    let shown = dflat(&["show", "tasks.db", "main"], folder);
    let why = String::from_utf8_lossy(&shown.stderr);
    assert!(
        !shown.status.success() && why.contains("forgotten since"),
        "{why}"
    );
}
