//! Futures that are dropped, polled by another task, or polled too often.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use dflat::{AsyncCall, Error, ErrorKind, Result, Workspace};

use super::{add, block_on, poll_once, waker, with_posts};
use crate::post::Post;

/// The number of threads for long calls.
const LONG: usize = 4;

/// Work that has begun on each thread for long calls, and waits until the sender is dropped.
fn busy(workspace: &Workspace) -> (Vec<AsyncCall<()>>, mpsc::Sender<()>) {
    let (release, gate) = mpsc::channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let (begin, begun) = mpsc::channel();
    let calls = (0..LONG).map(|_| {
        let (gate, begin) = (Arc::clone(&gate), begin.clone());
        let mut call = workspace.run_async(move |_| {
            begin.send(()).unwrap();
            let _ = gate.lock().unwrap().recv();
            Ok(())
        });
        assert!(poll_once(&mut call).is_pending());
        begun.recv().unwrap();
        call
    });
    let calls = calls.collect();
    (calls, release)
}

// Promise: async#A5
#[test]
fn a_call_that_was_not_polled_is_not_made() -> Result<()> {
    let workspace = Workspace::in_memory();
    let (send, made) = mpsc::channel();
    let call = workspace.run_async(move |_| send.send(()).map_err(Error::user));
    drop(call);
    assert!(made.recv().is_err());
    drop(workspace.shutdown_async());
    workspace.settle()
}

// Promise: async#A5
#[test]
fn a_call_dropped_while_it_waits_for_a_thread_is_not_made() -> Result<()> {
    let workspace = Workspace::in_memory();
    let (calls, release) = busy(&workspace);
    let (send, made) = mpsc::channel();
    let mut waiting = workspace.run_async(move |_| send.send(()).map_err(Error::user));
    assert!(poll_once(&mut waiting).is_pending());
    drop(waiting);
    // Its values were dropped while all threads are busy.
    assert!(made.recv().is_err());
    drop(release);
    calls.into_iter().try_for_each(block_on)
}

// Promise: async#A5
#[test]
fn work_dropped_after_its_beginning_goes_on_to_its_end() -> Result<()> {
    let workspace = Workspace::in_memory();
    let (release, gate) = mpsc::channel::<()>();
    let (send, ended) = mpsc::channel();
    let (begin, begun) = mpsc::channel();
    let mut call = workspace.run_async(move |_| {
        begin.send(()).unwrap();
        let _ = gate.recv();
        send.send("ended").map_err(Error::user)
    });
    assert!(poll_once(&mut call).is_pending());
    begun.recv().unwrap();
    drop(call);
    drop(release);
    assert_eq!(ended.recv().unwrap(), "ended");
    workspace.shutdown()
}

// Promise: async#A5
#[test]
fn reads_dropped_at_any_moment_leave_nothing_behind() -> Result<()> {
    let workspace = with_posts(300);
    for round in 0..2_000 {
        let mut all = workspace
            .fetch::<Post>()
            .order_by(Post::TITLE.descending())
            .all_async();
        let mut got = workspace.get_async::<Post>("post 00001");
        let mut settled = workspace.settle_async();
        for _ in 0..round % 50 {
            let is_over = poll_once(&mut all).is_ready();
            let _ = poll_once(&mut settled);
            if is_over | poll_once(&mut got).is_ready() {
                break;
            }
            thread::yield_now();
        }
    }
    add(&workspace, 300..310)?;
    assert_eq!(block_on(workspace.fetch::<Post>().count_async())?, 310);
    block_on(workspace.settle_async())?;
    // No read holds the workspace: its file could be closed.
    block_on(workspace.shutdown_async())
}

#[test]
fn the_task_that_polled_last_is_woken() -> Result<()> {
    let workspace = Workspace::in_memory();
    let (release, gate) = mpsc::channel::<()>();
    let mut call = workspace.run_async(move |_| {
        let _ = gate.recv();
        Ok(())
    });
    let (first_count, first) = waker();
    let (last_count, last) = waker();
    for waker in [&first, &last] {
        assert!(
            Pin::new(&mut call)
                .poll(&mut Context::from_waker(waker))
                .is_pending()
        );
    }
    drop(release);
    while last_count.wakes.load(Ordering::Relaxed) == 0 {
        thread::park();
    }
    assert_eq!(first_count.wakes.load(Ordering::Relaxed), 0);
    assert!(poll_once(&mut call).is_ready());
    Ok(())
}

#[test]
fn a_poll_after_the_end_is_an_error() -> Result<()> {
    let workspace = Workspace::in_memory();
    let mut call = workspace.fetch::<Post>().count_async();
    assert_eq!(block_on(&mut call)?, 0);
    assert_eq!(
        block_on(&mut call).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    Ok(())
}

/// Panics when it is called.
struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        panic!("expected");
    }
}

#[test]
fn a_waker_that_panics_ends_no_thread() -> Result<()> {
    let workspace = with_posts(3);
    let bomb = Waker::from(Arc::new(Bomb));
    for _ in 0..100 {
        let mut call = workspace.run_async(|_| Ok(()));
        while Pin::new(&mut call)
            .poll(&mut Context::from_waker(&bomb))
            .is_pending()
        {
            thread::yield_now();
        }
    }
    assert_eq!(block_on(workspace.fetch::<Post>().count_async())?, 3);
    Ok(())
}

#[test]
fn several_calls_in_one_task_are_made_at_the_same_time() -> Result<()> {
    let workspace = Workspace::in_memory();
    let (send, receive) = mpsc::channel();
    // Each half waits for the other.
    let mut receiver = workspace.run_async(move |_| Ok(receive.recv().unwrap()));
    let mut sender = workspace.run_async(move |_| send.send(5).map_err(Error::user));
    let (mut received, mut sent) = (None, None);
    block_on(poll_fn(|context| {
        if received.is_none()
            && let Poll::Ready(outcome) = Pin::new(&mut receiver).poll(context)
        {
            received = Some(outcome);
        }
        if sent.is_none()
            && let Poll::Ready(outcome) = Pin::new(&mut sender).poll(context)
        {
            sent = Some(outcome);
        }
        match (&received, &sent) {
            (Some(_), Some(_)) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }));
    assert_eq!(received.unwrap()?, 5);
    Ok(())
}
