//! The threads that keep a file in order.

use std::thread::{self, JoinHandle};

/// Waits for a thread to end, unless it is this one.
pub(crate) fn join(thread: Option<JoinHandle<()>>) {
    if let Some(thread) = thread
        // The last to hold the backend may be the thread itself.
        && thread.thread().id() != thread::current().id()
    {
        // It has no result, and does not panic.
        let _ = thread.join();
    }
}
