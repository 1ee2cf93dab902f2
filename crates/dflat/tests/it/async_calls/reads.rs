//! Each asynchronous read gives what its blocking form gives.

use std::sync::Arc;

use dflat::{AsyncCall, Cancellation, Error, ErrorKind, Result, Workspace};

use super::{add, block_on, with_posts};
use crate::post::{Color, Post, PostChangeRequest};

// Promise: async#A1
#[test]
fn every_asynchronous_read_gives_the_blocking_result() -> Result<()> {
    let workspace = with_posts(250);
    let red = || workspace.fetch::<Post>().filter(Post::COLOR.eq(Color::Red));

    assert_eq!(block_on(red().all_async())?, red().all()?);
    assert_eq!(block_on(red().all_async())?.len(), 125);
    assert_eq!(block_on(red().first_async())?, red().first()?);
    assert_eq!(block_on(red().count_async())?, 125);
    assert!(block_on(red().exists_async())?);
    assert_eq!(block_on(red().min_async(Post::PRIORITY))?, Some(0));
    assert_eq!(block_on(red().max_async(Post::PRIORITY))?, Some(98));
    let sum = red().sum(Post::PRIORITY)?;
    assert_eq!(block_on(red().sum_async(Post::PRIORITY))?, sum);
    let mean = red().avg(Post::PRIORITY)?;
    assert_eq!(block_on(red().avg_async(Post::PRIORITY))?, mean);
    let titles = red().select(Post::TITLE)?;
    assert_eq!(block_on(red().select_async(Post::TITLE))?, titles);
    assert_eq!(block_on(red().explain_async())?, red().explain()?);
    let groups = || {
        workspace
            .fetch::<Post>()
            .group_by(Post::COLOR)
            .sum(Post::PRIORITY)
    };
    assert_eq!(block_on(groups().all_async())?, groups().all()?);

    assert_eq!(
        block_on(workspace.get_async::<Post>("post 00007"))?,
        workspace.get("post 00007")?
    );
    let keys = ["post 00001", "nothing"];
    let many = workspace.get_many::<Post>(keys)?;
    assert_eq!(block_on(workspace.get_many_async::<Post>(keys))?, many);
    assert!(many[0].is_some() && many[1].is_none());
    Ok(())
}

// Promise: async#A1
#[test]
fn asynchronous_reads_of_a_snapshot_see_its_state() -> Result<()> {
    let workspace = with_posts(10);
    let snapshot = block_on(workspace.snapshot_async())?;
    add(&workspace, 10..20)?;

    assert_eq!(block_on(snapshot.fetch::<Post>().count_async())?, 10);
    assert_eq!(block_on(workspace.fetch::<Post>().count_async())?, 20);
    assert!(block_on(snapshot.get_async::<Post>("post 00015"))?.is_none());
    let many = block_on(snapshot.get_many_async::<Post>(["post 00005", "post 00015"]))?;
    assert!(many[0].is_some() && many[1].is_none());

    // The future holds the snapshot.
    let later = snapshot.fetch::<Post>().count_async();
    drop(snapshot);
    assert_eq!(block_on(later)?, 10);
    Ok(())
}

// Promise: async#A2
#[test]
fn errors_are_those_of_the_blocking_form() -> Result<()> {
    let workspace = with_posts(200);
    let cancellation = Cancellation::new();
    cancellation.cancel();
    let cancelled = || workspace.fetch::<Post>().cancelled_by(&cancellation);
    let late = || workspace.fetch::<Post>().timeout(std::time::Duration::ZERO);
    let limited = || workspace.fetch::<Post>().limit(1).group_by(Post::COLOR);
    let same = |asynchronous: Error, blocking: Error| {
        assert_eq!(asynchronous.kind(), blocking.kind());
        assert_eq!(asynchronous.to_string(), blocking.to_string());
    };
    same(
        block_on(cancelled().all_async()).unwrap_err(),
        cancelled().all().unwrap_err(),
    );
    same(
        block_on(late().count_async()).unwrap_err(),
        late().count().unwrap_err(),
    );
    same(
        block_on(limited().all_async()).unwrap_err(),
        limited().all().unwrap_err(),
    );
    Ok(())
}

// Promise: async#A3
#[test]
fn a_handler_cannot_poll_an_asynchronous_read() -> Result<()> {
    let workspace = with_posts(1);
    let inside = workspace.clone();
    let kinds = workspace.perform_changes_blocking([Post::TABLE], move |tx| {
        tx.submit(PostChangeRequest::creation(super::post(1)))?;
        let of_transaction = block_on(tx.fetch::<Post>().all_async());
        let of_workspace = block_on(inside.fetch::<Post>().all_async());
        let got = block_on(inside.get_async::<Post>("post 00001"));
        let settled = block_on(inside.settle_async());
        let shut_down = block_on(inside.shutdown_async());
        let worked = block_on(inside.run_async(|_| Ok(())));
        Ok([
            of_transaction.unwrap_err().kind(),
            of_workspace.unwrap_err().kind(),
            got.unwrap_err().kind(),
            settled.unwrap_err().kind(),
            shut_down.unwrap_err().kind(),
            worked.unwrap_err().kind(),
        ])
    })?;
    assert_eq!(kinds[..3], [ErrorKind::InvalidArgument; 3]);
    assert_eq!(kinds[3..], [ErrorKind::WouldDeadlock; 3]);
    Ok(())
}

#[test]
fn a_callback_may_wait_for_an_asynchronous_read() -> Result<()> {
    let workspace = with_posts(3);
    let inside = workspace.clone();
    let (send, counts) = std::sync::mpsc::channel();
    let _subscription = workspace.subscribe(workspace.fetch::<Post>(), move |_| {
        send.send(block_on(inside.fetch::<Post>().count_async()))
            .unwrap();
    })?;
    assert_eq!(counts.recv().unwrap()?, 3);
    Ok(())
}

#[test]
fn work_gets_the_workspace_and_its_panic_is_an_error() -> Result<()> {
    let workspace = with_posts(3);
    let counted = workspace.run_async(|workspace| {
        add(workspace, 3..5)?;
        workspace.settle()?;
        workspace.fetch::<Post>().count()
    });
    assert_eq!(block_on(counted)?, 5);
    let panicked = block_on(workspace.run_async(|_| -> Result<()> { panic!("expected") }));
    assert_eq!(panicked.unwrap_err().kind(), ErrorKind::Panicked);
    assert_eq!(block_on(workspace.run_async(|_| Ok(7)))?, 7);
    Ok(())
}

// Promise: async#A4
#[test]
fn thousands_of_concurrent_reads_give_their_own_results() {
    let workspace = Arc::new(with_posts(500));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let found = runtime.block_on(async {
        let tasks: Vec<_> = (0..5_000_usize)
            .map(|number| {
                let workspace = Arc::clone(&workspace);
                tokio::spawn(async move {
                    let title = format!("post {:05}", number % 600);
                    let got = workspace.get_async::<Post>(&title).await?;
                    let is = Post::TITLE.eq(title.as_str());
                    let counted = workspace.fetch::<Post>().filter(is).count_async().await?;
                    assert_eq!(usize::from(got.is_some()), counted);
                    Ok::<_, Error>(got.map(|post| post.title().to_owned()) == Some(title))
                })
            })
            .collect();
        let mut found = 0;
        for task in tasks {
            found += usize::from(task.await.unwrap().unwrap());
        }
        found
    });
    // Of 600 titles, 500 exist.
    assert_eq!(
        found,
        (0..5_000).filter(|number| number % 600 < 500).count()
    );
}

#[test]
fn a_call_can_go_from_thread_to_thread() {
    fn check<F: Future<Output = Result<R>> + Send + Unpin + 'static, R>(_: &F) {}
    let workspace = Workspace::in_memory();
    let call: AsyncCall<usize> = workspace.fetch::<Post>().count_async();
    check(&call);
    assert_eq!(
        std::thread::spawn(|| block_on(call))
            .join()
            .unwrap()
            .unwrap(),
        0
    );
}
