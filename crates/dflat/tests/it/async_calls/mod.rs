//! Blocking calls as futures: on an executor of the test's own, and on tokio.

mod drops;
mod endings;
mod reads;
#[cfg(feature = "sqlite")]
mod runtime;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use dflat::{Result, Workspace};

use crate::post::{Color, Post, PostChangeRequest, PostData};

/// Wakes a thread, and counts its calls.
struct ThreadWaker {
    thread: Thread,
    wakes: AtomicUsize,
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
        self.thread.unpark();
    }
}

fn waker() -> (Arc<ThreadWaker>, Waker) {
    let waker = Arc::new(ThreadWaker {
        thread: thread::current(),
        wakes: AtomicUsize::new(0),
    });
    (Arc::clone(&waker), Waker::from(waker))
}

/// The least executor: one future, on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let (_, waker) = waker();
    let mut future = pin!(future);
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Polls a future once.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    let mut context = Context::from_waker(Waker::noop());
    std::pin::Pin::new(future).poll(&mut context)
}

fn post(number: usize) -> PostData {
    PostData {
        title: format!("post {number:05}"),
        priority: i32::try_from(number % 100).unwrap(),
        color: if number.is_multiple_of(2) {
            Color::Red
        } else {
            Color::Blue
        },
        ..PostData::default()
    }
}

fn add(workspace: &Workspace, numbers: std::ops::Range<usize>) -> Result<()> {
    workspace.perform_changes_blocking([Post::TABLE], |tx| {
        for number in numbers {
            tx.submit(PostChangeRequest::creation(post(number)))?;
        }
        Ok(())
    })
}

fn with_posts(count: usize) -> Workspace {
    let workspace = Workspace::in_memory();
    add(&workspace, 0..count).unwrap();
    workspace
}
