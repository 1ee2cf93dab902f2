//! The background writer: messages arrive, and other devices read and delete them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dflat::{Result, Workspace};

use crate::mail::{Action, act};

/// Changes messages until it is dropped.
pub(crate) struct Network {
    pub is_paused: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Network {
    /// Starts to change messages, one after each pause; `first` is the number of the next.
    pub(crate) fn start(workspace: &Workspace, first: u64, pause: Duration) -> Self {
        let workspace = workspace.clone();
        let (is_paused, is_over) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (waits, ends) = (Arc::clone(&is_paused), Arc::clone(&is_over));
        let thread = thread::spawn(move || {
            for step in 0.. {
                thread::sleep(pause);
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                if !waits.load(Ordering::Relaxed) {
                    change(&workspace, first, step)?;
                }
            }
            Ok(())
        });
        Self {
            is_paused,
            is_over,
            thread: Some(thread),
        }
    }

    /// Ends it.
    ///
    /// # Errors
    /// That of a change that failed.
    pub(crate) fn stop(mut self) -> Result<()> {
        self.is_over.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }
}

/// One step: most often a message arrives, and now and then a late one.
pub(crate) fn change(workspace: &Workspace, first: u64, step: u64) -> Result<()> {
    let recent = |back: u64| (first + step).saturating_sub(1 + back % 30);
    let (action, id) = match step % 7 {
        0 | 2 => (Action::MarkRead, recent(step * 5)),
        1 => (Action::Star, recent(step * 11)),
        3 => (Action::Delete, recent(step * 3)),
        _ => (Action::Receive, first + step),
    };
    act(workspace, action, id).wait()
}
