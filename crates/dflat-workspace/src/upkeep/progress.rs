//! Callbacks that follow the progress of long work.

use std::ops::ControlFlow;

use dflat_engine::callback;
use dflat_sqlite::Progress;

use crate::Result;

/// A callback that follows the progress of long work. It ends the work by returning `Break`.
pub(crate) type OnProgress<'t> = &'t mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Runs `work`, which reports its progress. During each call of `progress` the thread is marked as
/// running a callback, so that `progress` can't wait for the work itself. A panic in `progress`
/// ends the work.
pub(super) fn with_progress<T>(
    verb: &str,
    progress: OnProgress<'_>,
    work: impl FnOnce(OnProgress<'_>) -> Result<T>,
) -> Result<T> {
    let what = format!("cannot {verb}: the callback for the progress");
    let mut panicked = None;
    let outcome = work(&mut |state| {
        callback::run(&what, || progress(state)).unwrap_or_else(|error| {
            panicked = Some(error);
            ControlFlow::Break(())
        })
    });
    panicked.map_or(outcome, Err)
}
