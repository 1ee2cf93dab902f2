//! Settling and shutting down, and futures that outlive a workspace.

use std::sync::mpsc;

use dflat::{AsyncCall, CloseOptions, ErrorKind, Result, Workspace};

use super::{add, block_on, poll_once, with_posts};
use crate::post::{Post, PostChangeRequest};

/// A transaction whose handler waits until the sender is dropped, and then adds a post.
fn held(workspace: &Workspace) -> mpsc::Sender<()> {
    let (release, gate) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    let transaction = workspace.perform_changes([Post::TABLE], move |tx| {
        begin.send(()).unwrap();
        let _ = gate.recv();
        tx.submit(PostChangeRequest::creation(super::post(9_999)))
    });
    transaction.detach();
    begun.recv().unwrap();
    release
}

// Promise: async#A6
#[test]
fn settling_waits_for_transactions_and_needs_no_thread() -> Result<()> {
    let workspace = with_posts(1);
    let release = held(&workspace);
    let mut calls: Vec<_> = (0..1_000).map(|_| workspace.settle_async()).collect();
    assert!(calls.iter_mut().all(|call| poll_once(call).is_pending()));
    // Other calls are made meanwhile.
    assert_eq!(block_on(workspace.fetch::<Post>().count_async())?, 1);
    assert_eq!(block_on(workspace.run_async(|_| Ok(3)))?, 3);
    drop(release);
    calls.into_iter().try_for_each(block_on)?;
    assert_eq!(workspace.fetch::<Post>().count()?, 2);
    Ok(())
}

#[test]
fn settling_waits_for_indexes_and_deliveries() -> Result<()> {
    let workspace = with_posts(2_000);
    let (send, lengths) = mpsc::channel();
    let _subscription = workspace.subscribe(workspace.fetch::<Post>(), move |posts| {
        send.send(posts.unwrap().len()).unwrap();
    })?;
    add(&workspace, 2_000..2_001)?;
    workspace.build_indexes([Post::TABLE])?;
    block_on(workspace.settle_async())?;
    assert_eq!(lengths.try_iter().last(), Some(2_001));
    let progress = workspace.index_progress();
    let is_ready = |index: &dflat::IndexProgress| matches!(index.state, dflat::IndexState::Ready);
    assert!(progress.iter().all(is_ready), "{progress:?}");
    Ok(())
}

// Promise: async#A7
#[test]
fn a_shutdown_finishes_transactions_and_goes_on_if_it_is_dropped() -> Result<()> {
    let workspace = with_posts(1);
    let release = held(&workspace);
    let mut shutdown = workspace.shutdown_async();
    assert!(poll_once(&mut shutdown).is_pending());
    drop(shutdown);
    drop(release);
    // The second call waits for the first.
    block_on(workspace.shutdown_with_async(CloseOptions::default()))?;
    let refused = workspace.fetch::<Post>().all().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ShutDown);
    Ok(())
}

// Promise: async#A7
#[test]
fn every_call_after_the_shutdown_says_so() -> Result<()> {
    fn refused<R: Send + 'static>(call: AsyncCall<R>) {
        let error = block_on(call).err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::ShutDown, "{error}");
    }
    let workspace = with_posts(3);
    let snapshot = workspace.snapshot()?;
    let before = workspace.fetch::<Post>().count_async();
    block_on(workspace.shutdown_async())?;
    refused(before);
    refused(workspace.fetch::<Post>().all_async());
    refused(workspace.fetch::<Post>().group_by(Post::COLOR).all_async());
    refused(workspace.get_async::<Post>("post 00001"));
    refused(workspace.get_many_async::<Post>(["post 00001"]));
    refused(workspace.snapshot_async());
    refused(snapshot.fetch::<Post>().all_async());
    refused(snapshot.get_async::<Post>("post 00001"));
    refused(workspace.settle_async());
    refused(workspace.run_async(|_| Ok(())));
    #[cfg(feature = "sqlite")]
    {
        refused(workspace.backup_async("never.db"));
        refused(workspace.check_async([Post::TABLE]));
    }
    // A second shutdown does no harm.
    block_on(workspace.shutdown_async())
}

// Promise: async#A7
#[test]
fn calls_that_wait_during_a_shutdown_all_end() -> Result<()> {
    let workspace = with_posts(100);
    let (release, gate) = mpsc::channel::<()>();
    let gate = std::sync::Arc::new(std::sync::Mutex::new(gate));
    let mut works = Vec::new();
    for _ in 0..20 {
        let gate = std::sync::Arc::clone(&gate);
        let mut work = workspace.run_async(move |_| {
            let _ = gate.lock().unwrap().recv();
            Ok(())
        });
        assert!(poll_once(&mut work).is_pending());
        works.push(work);
    }
    let mut reads: Vec<_> = (0..500)
        .map(|_| workspace.fetch::<Post>().count_async())
        .collect();
    for read in &mut reads {
        let _ = poll_once(read);
    }
    // All threads for long calls are busy, and the shutdown does not wait for them.
    block_on(workspace.shutdown_async())?;
    drop(release);
    let mut made = 0;
    for work in works {
        match block_on(work) {
            Ok(()) => made += 1,
            Err(error) => assert_eq!(error.kind(), ErrorKind::ShutDown),
        }
    }
    assert!(made <= 4, "the others begin after the shutdown");
    Ok(())
}

#[test]
fn the_last_clone_in_a_call_is_dropped_before_the_call_ends() -> Result<()> {
    let workspace = with_posts(1);
    let dictionary = workspace.dictionary();
    let work = workspace.run_async(|_| Ok(()));
    drop(workspace);
    assert!(!dictionary.contains("a")?);
    block_on(work)?;
    assert_eq!(
        dictionary.contains("a").unwrap_err().kind(),
        ErrorKind::ShutDown
    );
    Ok(())
}
