//! A process that follows others while the system starts no thread.

use std::sync::mpsc::channel;

use dflat::{FetchedResult, Result, Update, Workspace};
use dflat_engine::engine::EngineOptions;
use dflat_sqlite::SqliteBackend;
use dflat_testkit::fixture::{bounded, next, until};
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::unprivileged::unprivileged;

fn put(workspace: &Workspace, id: i32) -> Result<()> {
    let change = move || OtherChangeRequest::upsert(OtherData { id, note: None });
    let written =
        workspace.perform_changes([Other::TABLE], move |tx| tx.submit(change()).map(drop));
    written.wait()
}

// Promise: live-queries#L79
#[test]
fn process_follows_once_the_system_starts_threads_again() {
    let test = "other_programs::no_thread::process_follows_once_the_system_starts_threads_again";
    unprivileged(test, |directory| {
        let path = directory.join("a.db");
        bounded(move || {
            let own = Workspace::open(&path).unwrap();
            let backend = SqliteBackend::open(&path, Default::default()).unwrap();
            let other = Workspace::on_backend(backend, EngineOptions::default());
            let Rlimit { maximum, .. } = getrlimit(Resource::Nproc);
            let limit = |current| setrlimit(Resource::Nproc, Rlimit { current, maximum }).unwrap();
            let (sender, counts) = channel();
            // The subscription is registered on the thread of the transaction before, which ends
            // after some seconds.
            let _subscription = loop {
                put(&own, 1).unwrap();
                limit(Some(1));
                let sender = sender.clone();
                let all = own.fetch::<Other>().filter(Other::ID.gt(0));
                let subscribed = own.subscribe(all, move |update: Result<_>| {
                    let update: Update<FetchedResult<Other>> = update.unwrap();
                    sender.send(update.result().len()).unwrap();
                });
                own.settle().unwrap();
                limit(maximum);
                if let Ok(subscription) = subscribed {
                    break subscription;
                }
            };
            assert_eq!(next(&counts), 1);
            assert!(!own.stats().follows_processes);
            until(|| {
                own.fetch::<Other>().count().unwrap();
                own.stats().follows_processes
            });
            put(&other, 2).unwrap();
            assert_eq!(next(&counts), 2);
            other.shutdown().unwrap();
            own.shutdown().unwrap();
        });
    });
}
