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
