use std::sync::mpsc::channel;

use super::*;

/// How long a look may take before the test fails: long enough for any machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Issue 33. A look can fail for another reason than a change of the file, such as too many open
/// files. No later change asks for the next look.
#[test]
fn look_that_fails_is_repeated_although_nothing_changes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    std::fs::write(&path, []).unwrap();
    let presence = Presence::new(&path, false);
    let (sender, looks) = channel();
    presence.follow(Arc::new(move || {
        // The receiver is gone when the test ends.
        let _ = sender.send(());
        Looked::Failed
    }));
    // The looks after the change with which a follower begins, and those of several checks.
    for _ in 0..8 {
        looks.recv_timeout(PATIENCE).unwrap();
    }
    presence.close();
}

// Promise: live-queries#L45
/// No events are reported of a directory that is not there, as of one that the user may not list.
#[test]
fn follower_to_which_no_events_are_reported_looks_at_intervals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("later").join("a.db");
    let presence = Presence::new(&path, true);
    let (called, calls) = channel();
    presence.follow(Arc::new(move || {
        let _ = called.send(());
        Looked::Known
    }));
    assert_eq!(presence.following(), Following::Intervals);
    std::fs::create_dir(folder.path().join("later")).unwrap();
    // The looks of the start, and those after each change.
    for round in 0..3 {
        while calls.try_recv().is_ok() {}
        std::fs::write(&path, "x".repeat(round)).unwrap();
        calls.recv_timeout(PATIENCE).unwrap();
    }
    presence.close();
    assert_eq!(presence.following(), Following::Off);
}
