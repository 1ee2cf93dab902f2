//! The dictionary of a file that several processes use.

use std::path::Path;
use std::sync::mpsc::channel;

use dflat::{Dictionary, SubscribedValue, Workspace};
use dflat_engine::dictionary;
use dflat_engine::engine::EngineOptions;
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::{bounded, next, until};
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};

use super::counted_reads::Counted;

/// An engine of its own, as in another process.
pub(super) fn open(path: &Path) -> Workspace {
    let backend = SqliteBackend::open(path, SqliteOptions::default()).unwrap();
    Workspace::on_backend(backend, EngineOptions::default())
}

/// Runs a test with two processes on one file.
fn with_two(test: impl FnOnce(&Workspace, &Workspace) + Send + 'static) {
    bounded(move || {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let (first, second) = (open(&path), open(&path));
        test(&first, &second);
        first.shutdown().unwrap();
        second.shutdown().unwrap();
    });
}

fn get(dictionary: &Dictionary, key: &str) -> Option<i64> {
    dictionary.get(key).unwrap()
}

fn set(workspace: &Workspace, key: &str, value: i64) {
    workspace.dictionary().set(key, value).unwrap();
    workspace.dictionary().synchronize().unwrap();
}

// Promise: concurrency#C82
#[test]
fn value_set_by_another_process_replaces_the_one_in_memory() {
    with_two(|first, second| {
        let (own, names) = (first.dictionary(), first.dictionary().namespace("names"));
        set(first, "key", 1);
        assert_eq!((get(&own, "none"), get(&names, "key")), (None, None));
        set(second, "key", 2);
        set(second, "none", 3);
        until(|| get(&own, "key") == Some(2) && get(&own, "none") == Some(3));
        second
            .dictionary()
            .namespace("names")
            .set("key", 4_i64)
            .unwrap();
        until(|| get(&names, "key") == Some(4));
        second.dictionary().remove("key").unwrap();
        until(|| get(&own, "key").is_none());
        assert_eq!(get(&names, "key"), Some(4));
    });
}

// Promise: concurrency#C82
#[test]
fn value_set_by_another_process_is_delivered_to_subscribers() {
    with_two(|first, second| {
        set(second, "a.1", 1);
        let (sender, values) = channel();
        let of_key = first
            .dictionary()
            .subscribe::<i64>("a.1", move |value| sender.send(value.unwrap()).unwrap());
        assert_eq!(next(&values), SubscribedValue::Initial(Some(1)));
        let (sender, keys) = channel();
        let of_prefix = first
            .dictionary()
            .subscribe_prefix("a.", move |key, value| {
                let is_there = !matches!(
                    value,
                    SubscribedValue::Initial(None) | SubscribedValue::Deleted
                );
                sender.send((key.to_owned(), is_there)).unwrap();
            });
        assert_eq!(next(&keys), ("a.1".to_owned(), true));
        set(second, "b", 1);
        set(second, "a.2", 2);
        assert_eq!(next(&keys), ("a.2".to_owned(), true));
        set(second, "a.1", 3);
        assert_eq!(next(&values), SubscribedValue::Updated(3));
        assert_eq!(next(&keys), ("a.1".to_owned(), true));
        second.dictionary().remove("a.2").unwrap();
        assert_eq!(next(&keys), ("a.2".to_owned(), false));
        // Own changes are delivered once, as before.
        set(first, "a.1", 4);
        assert_eq!(next(&values), SubscribedValue::Updated(4));
        drop((of_key, of_prefix));
        assert!(values.try_iter().next().is_none());
    });
}

// Promise: concurrency#C82
#[test]
fn only_the_keys_that_another_process_has_changed_are_read_again() {
    const KEYS: [&str; 3] = ["a", "b", "c"];
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let other = open(&path);
        KEYS.into_iter().for_each(|key| set(&other, key, 1));
        let backend = SqliteBackend::open(&path, SqliteOptions::default()).unwrap();
        let (backend, reads) = Counted::new(backend);
        let workspace = Workspace::on_backend(backend, EngineOptions::default());
        let own = workspace.dictionary();
        let reads = || {
            let reads = reads.lock().unwrap();
            let of_dictionary = reads
                .iter()
                .filter(|read| read.table == dictionary::TABLE.name);
            of_dictionary.count()
        };
        assert_eq!(KEYS.map(|key| get(&own, key)), [1, 1, 1].map(Some));
        assert_eq!(reads(), 3);
        let (sender, values) = channel();
        let subscription =
            own.subscribe::<i64>("a", move |value| sender.send(value.unwrap()).unwrap());
        assert_eq!(next(&values), SubscribedValue::Initial(Some(1)));
        assert_eq!(reads(), 3);
        set(&other, "b", 2);
        until(|| get(&own, "b") == Some(2));
        assert_eq!(KEYS.map(|key| get(&own, key)), [1, 2, 1].map(Some));
        assert_eq!(reads(), 4);
        // The library reads the new value for the subscriber, although no caller reads the key.
        set(&other, "a", 2);
        assert_eq!(next(&values), SubscribedValue::Updated(2));
        assert_eq!(["b", "c"].map(|key| get(&own, key)), [2, 1].map(Some));
        assert_eq!(reads(), 5);
        drop(subscription);
        workspace.shutdown().unwrap();
        other.shutdown().unwrap();
    });
}

// Promise: concurrency#C83
#[test]
fn value_that_waits_to_be_written_stays_and_is_written_last() {
    with_two(|first, second| {
        set(first, "key", 1);
        set(second, "key", 2);
        until(|| get(&first.dictionary(), "key") == Some(2));
        let own = first.dictionary();
        let (sender, overwrites) = channel();
        own.on_overwrite(move |overwrite| sender.send(overwrite).unwrap());
        // The second process has write access, so that the first one's value waits.
        second
            .perform_changes_blocking([Dictionary::TABLE], |tx| {
                tx.dictionary().set("key", 3_i64)?;
                own.set("key", 4_i64)?;
                assert_eq!(get(&own, "key"), Some(4));
                Ok(())
            })
            .unwrap();
        own.synchronize().unwrap();
        assert_eq!(get(&own, "key"), Some(4));
        until(|| get(&second.dictionary(), "key") == Some(4));
        let overwrite = next(&overwrites);
        assert_eq!((&*overwrite.namespace, &*overwrite.key), ("", "key"));
        assert_eq!((own.overwrites(), second.dictionary().overwrites()), (1, 0));
    });
}

/// The first process may not have noticed the commit of the second one when it sets its value
/// again.
#[test]
fn value_set_again_is_written_after_that_of_another_process() {
    with_two(|first, second| {
        for round in 0..20 {
            set(first, "key", round);
            set(second, "key", -1);
            set(first, "key", round);
            // A value that the file has already counts as written, too.
            set(first, "key", round);
            let stored = second
                .perform_changes_blocking([Dictionary::TABLE], |tx| tx.dictionary().get("key"))
                .unwrap();
            assert_eq!(stored, Some(round));
        }
        assert_eq!(first.dictionary().failures(), 0);
    });
}

// Promise: concurrency#C82
#[test]
fn transactions_of_two_processes_lose_no_change_of_a_key() {
    const COUNT: i64 = 40;
    with_two(|first, second| {
        let count = |workspace: &Workspace| {
            for _ in 0..COUNT {
                workspace
                    .perform_changes_blocking_retrying([Dictionary::TABLE], |tx| {
                        let old = tx.dictionary().get::<i64>("count")?.unwrap_or(0);
                        tx.dictionary().set("count", old + 1)
                    })
                    .unwrap();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| count(first));
            scope.spawn(|| count(second));
        });
        for workspace in [first, second] {
            until(|| get(&workspace.dictionary(), "count") == Some(2 * COUNT));
        }
    });
}

/// A commit of another process that changes no key is reported as no overwrite.
#[test]
fn commit_that_changes_no_key_overwrites_nothing() {
    with_two(|first, second| {
        let own = first.dictionary();
        set(first, "key", 1);
        second
            .perform_changes_blocking([Other::TABLE], |tx| {
                own.set("key", 2_i64)?;
                let data = OtherData { id: 1, note: None };
                tx.submit(OtherChangeRequest::creation(data)).map(drop)
            })
            .unwrap();
        own.synchronize().unwrap();
        assert_eq!((get(&own, "key"), own.overwrites()), (Some(2), 0));
    });
}
