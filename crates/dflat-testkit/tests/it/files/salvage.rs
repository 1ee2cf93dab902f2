//! The unfinished file of a salvage, which a killed program leaves.

use std::ops::ControlFlow;

use dflat::{ErrorKind, Workspace};
use dflat_testkit::schema::Item;

use super::backup::names;
use super::repair::{ITEMS, damaged, items};

// Promise: durability#D95
/// A program may be killed at any moment of a salvage.
#[test]
fn salvage_has_no_file_of_its_name_before_it_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    damaged(&at("a.db"));
    let leave_parts = || {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let part = format!("b.db-dflat-part-0000000000000005{suffix}");
            std::fs::write(at(&part), [7; 9000]).unwrap();
        }
    };
    leave_parts();
    let mut reports = 0;
    let report = Workspace::salvage_with(at("a.db"), at("b.db"), [Item::TABLE], |_| {
        reports += 1;
        let names = names(directory.path());
        assert!(!names.contains(&"b.db".to_owned()), "{names:?}");
        let is_own = |name: &String| name.starts_with('a') || name.contains("-dflat-part-");
        assert!(names.iter().all(is_own), "{names:?}");
        ControlFlow::Continue(())
    });
    assert_eq!(report.unwrap().saved, u64::try_from(ITEMS).unwrap() - 1);
    assert!(reports > 10, "{reports}");
    assert_eq!(names(directory.path()), ["a.db", "b.db"]);
    let saved = Workspace::open(at("b.db")).unwrap();
    assert!(saved.check([Item::TABLE]).unwrap().is_sound());
    // A backup deletes the files that were left, too.
    saved.shutdown().unwrap();
    std::fs::rename(at("b.db"), at("c.db")).unwrap();
    let saved = Workspace::open(at("c.db")).unwrap();
    leave_parts();
    saved.backup(at("b.db")).unwrap();
    saved.shutdown().unwrap();
    assert_eq!(names(directory.path()), ["a.db", "b.db", "c.db"]);
}

// Promise: durability#D95
#[test]
fn salvage_that_is_under_way_is_not_taken_for_one_that_was_left() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    damaged(&at("a.db"));
    let other = Workspace::open(at("c.db")).unwrap();
    let parts = || {
        let names = names(directory.path()).into_iter();
        Vec::from_iter(names.filter(|name| name.contains("-dflat-part-")))
    };
    let mut has_backup = false;
    let second = Workspace::salvage_with(at("a.db"), at("b.db"), [Item::TABLE], |progress| {
        if progress.done > 0 && !std::mem::replace(&mut has_backup, true) {
            let before = parts();
            std::thread::scope(|scope| {
                // A callback can't make a backup itself.
                let backup = scope.spawn(|| other.backup(at("b.db")));
                backup.join().unwrap().unwrap();
            });
            assert_eq!(parts(), before);
        }
        ControlFlow::Continue(())
    });
    assert!(has_backup);
    let error = second.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("exists already"), "{error}");
    assert_eq!(parts(), [""; 0]);
    let copy = Workspace::open(at("b.db")).unwrap();
    assert_eq!(items(&copy), 0);
    copy.shutdown().unwrap();
    other.shutdown().unwrap();
}
