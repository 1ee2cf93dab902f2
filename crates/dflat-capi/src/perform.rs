//! Performing transactions.

use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::dictionary::HeldKeys;
use dflat_engine::engine::PerformOptions;

use crate::boundary::{Callback, In, List, causes_calls, export, invalid, waits_for_calls};
use crate::callbacks::{CompletionCall, HandlerCall, complete, handle};
use crate::number::{PERFORM_RETRY, PERFORM_WRITE_FIRST};
use crate::table::{TableHandle, named};
use crate::workspace::WorkspaceHandle;

fn options(flags: u32) -> Result<PerformOptions> {
    if flags & !(PERFORM_WRITE_FIRST | PERFORM_RETRY) != 0 {
        return Err(invalid(format!("flags: {flags:#x} has an unknown flag")));
    }
    let write_first = flags & PERFORM_WRITE_FIRST != 0;
    Ok(PerformOptions { write_first })
}

export! {
    fn dflat_perform(
        workspace: In<'_, WorkspaceHandle>,
        tables: List<'_, In<'_, TableHandle>>,
        tables_count: usize,
        flags: u32,
        handler: Callback<HandlerCall>,
        completion: Callback<CompletionCall>,
    ) {
        causes_calls();
        let handler = handler.kept("handler")?;
        let completion = completion.kept_after(&handler);
        let (workspace, options) = (&workspace.get()?.0, options(flags)?);
        let tables = named(tables, tables_count)?;
        let held = Arc::new(HeldKeys::default());
        let completion = move |_: Arc<HeldKeys>, outcome| complete(&completion, outcome);
        match flags & PERFORM_RETRY {
            0 => {
                let handler = move |context, _: &_| handle(&handler, context);
                workspace.perform(tables, options, held, handler, completion);
            }
            _ => {
                let handler = move |context, _: &_| handle(&handler, context);
                workspace.perform_retrying(tables, options, held, handler, completion);
            }
        }
    }

    fn dflat_perform_and_wait(
        workspace: In<'_, WorkspaceHandle>,
        tables: List<'_, In<'_, TableHandle>>,
        tables_count: usize,
        flags: u32,
        handler: Callback<HandlerCall>,
    ) {
        let _order = waits_for_calls();
        let handler = handler.kept("handler")?;
        let (workspace, options) = (&workspace.get()?.0, options(flags)?);
        let tables = named(tables, tables_count)?;
        match flags & PERFORM_RETRY {
            0 => workspace.perform_blocking(tables, options, |tx| handle(&handler, tx))?,
            _ => workspace.perform_blocking_retrying(tables, options, |tx| handle(&handler, tx))?,
        }
    }
}
