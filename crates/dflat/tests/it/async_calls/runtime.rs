//! A runtime with one thread is never blocked: each call waits for another task of that thread.

use std::future::Future;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use dflat::{AsyncCall, ErrorKind, Result, Workspace};

use super::{add, poll_once};
use crate::post::{Post, PostChangeRequest};

fn on_one_thread<R>(future: impl Future<Output = R>) -> R {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(future)
}

fn on_file(posts: usize) -> (Workspace, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path().join("posts.db")).unwrap();
    add(&workspace, 0..posts).unwrap();
    (workspace, directory)
}

/// Makes a call that has to wait until another task of the same thread has run.
fn made_while_another_task_runs<R: Send + 'static>(
    wait: impl FnOnce(&Workspace),
    call: impl FnOnce(&Workspace) -> AsyncCall<R>,
    go_on: impl FnOnce(Workspace) + Send + 'static,
) -> Result<R> {
    let (workspace, _directory) = on_file(20);
    wait(&workspace);
    on_one_thread(async {
        let (send, begun) = tokio::sync::oneshot::channel::<()>();
        let other = workspace.clone();
        // This task runs only if the first poll of the call gives the thread back.
        let task = tokio::spawn(async move {
            begun.await.unwrap();
            go_on(other);
        });
        let mut call = call(&workspace);
        assert!(poll_once(&mut call).is_pending());
        send.send(()).unwrap();
        let outcome = call.await;
        task.await.unwrap();
        outcome
    })
}

// Promise: async#A8
#[test]
fn reads_that_wait_leave_the_thread_to_other_tasks() -> Result<()> {
    let suspend = |workspace: &Workspace| workspace.suspend().unwrap();
    let resume = |workspace: Workspace| workspace.resume();
    let count = |workspace: &Workspace| workspace.fetch::<Post>().count_async();
    assert_eq!(made_while_another_task_runs(suspend, count, resume)?, 20);
    let get = |workspace: &Workspace| workspace.get_async::<Post>("post 00003");
    assert!(made_while_another_task_runs(suspend, get, resume)?.is_some());
    let snapshot = |workspace: &Workspace| workspace.snapshot_async();
    made_while_another_task_runs(suspend, snapshot, resume)?;
    Ok(())
}

// Promise: async#A8
#[test]
fn settling_and_shutting_down_leave_the_thread_to_other_tasks() -> Result<()> {
    for ends in [false, true] {
        let (release, gate) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        let hold = move |workspace: &Workspace| {
            let transaction = workspace.perform_changes([Post::TABLE], move |tx| {
                begin.send(()).unwrap();
                let _ = gate.recv();
                tx.submit(PostChangeRequest::creation(super::post(100)))
            });
            transaction.detach();
            begun.recv().unwrap();
        };
        let call = move |workspace: &Workspace| match ends {
            true => workspace.shutdown_async(),
            false => workspace.settle_async(),
        };
        made_while_another_task_runs(hold, call, move |_| drop(release))?;
    }
    Ok(())
}

// Promise: async#A8
#[test]
fn work_that_waits_leaves_the_thread_to_other_tasks() -> Result<()> {
    let (send, receive) = mpsc::channel();
    let call = |workspace: &Workspace| workspace.run_async(move |_| Ok(receive.recv().unwrap()));
    let sent = made_while_another_task_runs(|_| (), call, move |_| send.send(8).unwrap())?;
    assert_eq!(sent, 8);
    Ok(())
}

// Promise: async#A1
#[test]
fn a_backup_and_a_check_are_made_while_tasks_write() -> Result<()> {
    let (workspace, directory) = on_file(2_000);
    let copy = directory.path().join("copy.db");
    on_one_thread(async {
        let writer = workspace.clone();
        let writing = tokio::spawn(async move {
            for number in 2_000..2_050 {
                let added = writer.perform_changes([Post::TABLE], move |tx| {
                    tx.submit(PostChangeRequest::creation(super::post(number)))
                });
                added.await?;
            }
            Ok::<_, dflat::Error>(())
        });
        workspace.backup_async(&copy).await?;
        let report = workspace.check_async([Post::TABLE]).await?;
        assert!(report.is_sound(), "{report:?}");
        writing.await.unwrap()?;
        let again = workspace.backup_async(&copy).await.unwrap_err();
        assert_eq!(again.kind(), ErrorKind::InvalidArgument);
        workspace.shutdown_async().await
    })?;
    let copied = Workspace::open(&copy)?;
    assert!((2_000..=2_050).contains(&copied.fetch::<Post>().count()?));
    copied.shutdown()
}

// Promise: async#A5
#[test]
fn a_dropped_backup_leaves_no_file() -> Result<()> {
    // More than 256 pages, so that the backup makes progress before its end.
    let (workspace, directory) = on_file(30_000);
    let copies = directory.path().join("copies");
    std::fs::create_dir(&copies).unwrap();
    for round in 0..20 {
        // No backup ends during a suspension.
        workspace.suspend()?;
        let mut backup = workspace.backup_async(copies.join(format!("{round}.db")));
        for _ in 0..round * 10 {
            assert!(poll_once(&mut backup).is_pending());
            thread::yield_now();
        }
        drop(backup);
        workspace.resume();
    }
    // Each of these calls waits for the others, so no thread makes a backup any more.
    let together = Arc::new(Barrier::new(4));
    let mut calls: Vec<_> = (0..4)
        .map(|_| {
            let together = Arc::clone(&together);
            workspace.run_async(move |_| Ok(together.wait()))
        })
        .collect();
    // The last call may have ended when it is polled first.
    calls.retain_mut(|call| poll_once(call).map(Result::unwrap).is_pending());
    on_one_thread(async {
        for call in calls {
            call.await.unwrap();
        }
    });
    assert_eq!(std::fs::read_dir(&copies).unwrap().count(), 0);
    workspace.shutdown()
}
