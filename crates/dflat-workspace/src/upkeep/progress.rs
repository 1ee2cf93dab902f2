//! Callbacks that follow the progress of long work.

use std::ops::ControlFlow;

use dflat_engine::callback;
use dflat_sqlite::Progress;

use crate::Result;

/// A callback that follows the progress of long work, and may end it.
pub(crate) type OnProgress<'t> = &'t mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Does work that reports its progress. The thread is marked as running a callback meanwhile, so
/// that `progress` can't wait for the work itself; a panic in `progress` ends the work.
pub(super) fn with_progress<T>(
    verb: &str,
    progress: OnProgress<'_>,
    work: impl FnOnce(OnProgress<'_>) -> Result<T>,
) -> Result<T> {
    let what = format!("cannot {verb}: what is told the progress");
    let mut panicked = None;
    let outcome = work(&mut |state| {
        callback::run(&what, || progress(state)).unwrap_or_else(|error| {
            panicked = Some(error);
            ControlFlow::Break(())
        })
    });
    panicked.map_or(outcome, Err)
}
