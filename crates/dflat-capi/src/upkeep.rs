//! Upkeep of a file: indexes, copies, checks and statistics.

use std::ffi::c_void;
use std::ops::ControlFlow;
use std::path::Path;

use dflat_engine::Result;
use dflat_sqlite::Progress;
use dflat_workspace::{CheckReport, Stats, salvage};

use crate::boundary::{
    Callback, In, KeptCallback, List, Out, OutHandle, Text, causes_calls, export, invalid,
};
use crate::buffer::BufferHandle;
use crate::callbacks::{CompletionCall, complete};
use crate::number;
use crate::table::{TableHandle, named};
use crate::workspace::WorkspaceHandle;

/// The function of `dflat_progress_callback`: what is done, and all there is to do. Another result
/// than 0 ends the work.
type ProgressCallback = extern "C" fn(*mut c_void, u64, u64) -> i32;

fn report(callback: &KeptCallback<ProgressCallback>, progress: Progress) -> ControlFlow<()> {
    match callback.run(|call, context| call(context, progress.done, progress.total)) {
        None | Some(0) => ControlFlow::Continue(()),
        Some(_) => ControlFlow::Break(()),
    }
}

/// The result of a salvage: `dflat_salvaged`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct RawSalvage {
    saved: u64,
    unreadable: u64,
    lost: u64,
}

/// The problems, one a line.
fn text_of(report: &CheckReport) -> BufferHandle {
    let lines = report.problems.iter();
    let lines = lines.map(|problem| format!("{}\n", problem.message));
    BufferHandle(lines.collect::<String>().into_bytes())
}

/// A statistic by its number.
fn statistic_of(stats: &Stats, statistic: i32) -> Result<u64> {
    Ok(match statistic {
        number::STATISTIC_TRANSACTIONS => stats.transactions,
        number::STATISTIC_FAILED_TRANSACTIONS => stats.failed_transactions,
        number::STATISTIC_RETRIES => stats.retries,
        number::STATISTIC_CONFLICTS => stats.conflicts,
        number::STATISTIC_GROUPS => stats.groups,
        number::STATISTIC_GROUPED_TRANSACTIONS => stats.grouped_transactions,
        number::STATISTIC_DELIVERIES => stats.deliveries,
        number::STATISTIC_LOOK_UPS => stats.look_ups,
        number::STATISTIC_LOOK_UPS_SAVED => stats.look_ups_saved,
        number::STATISTIC_FOLLOWED_COMMITS => stats.followed_commits,
        number::STATISTIC_RENEWALS => stats.renewals,
        number::STATISTIC_LOG_BYTES => stats.log_bytes,
        number::STATISTIC_LOG_IS_PINNED => stats.log_is_pinned.into(),
        number::STATISTIC_LOG_WAITS => stats.log_waits,
        number::STATISTIC_FOLLOWS_PROCESSES => stats.follows_processes.into(),
        number::STATISTIC_LARGEST_GROUP => stats.largest_group,
        number::STATISTIC_LOOKS_AT_INTERVALS => stats.looks_at_intervals.into(),
        number::STATISTIC_OLDEST_SNAPSHOT => {
            let age = stats.oldest_snapshot.unwrap_or_default();
            u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
        }
        number::STATISTIC_REREADS => stats.rereads,
        number::STATISTIC_CHANGE_RECORDS => stats.change_records,
        number::STATISTIC_CHANGE_RECORD_BYTES => stats.change_record_bytes,
        _ => return Err(invalid(format!("statistic: {statistic} is no statistic"))),
    })
}

export! {
    fn dflat_indexes_build(
        workspace: In<'_, WorkspaceHandle>,
        tables: List<'_, In<'_, TableHandle>>,
        tables_count: usize,
    ) {
        let tables = named(tables, tables_count)?;
        workspace.get()?.0.engine().build_indexes(&tables)?;
    }

    fn dflat_indexes_then(
        workspace: In<'_, WorkspaceHandle>,
        completion: Callback<CompletionCall>,
    ) {
        causes_calls();
        let completion = completion.kept_or_silent();
        let ready = Box::new(move |outcome| complete(&completion, outcome));
        workspace.get()?.0.engine().when_indexes_are_ready(ready);
    }

    fn dflat_workspace_backup(
        workspace: In<'_, WorkspaceHandle>,
        path: Text<'_>,
        progress: Callback<ProgressCallback>,
    ) {
        let progress = progress.kept_or_silent();
        let path = Path::new(path.get("path")?);
        workspace.get()?.0.backup(path, &mut |state| report(&progress, state))?;
    }

    fn dflat_workspace_check(
        workspace: In<'_, WorkspaceHandle>,
        tables: List<'_, In<'_, TableHandle>>,
        tables_count: usize,
        progress: Callback<ProgressCallback>,
        problems: Out<'_, u64>,
        text: OutHandle<'_, BufferHandle>,
    ) {
        let progress = progress.kept_or_silent();
        text.begin_if_wanted();
        problems.begin("problems", 0)?;
        let tables = named(tables, tables_count)?;
        let found = workspace.get()?.0.check(tables, &mut |state| report(&progress, state))?;
        problems.set(found.problems_count);
        text.set_if_wanted(|| text_of(&found));
    }

    fn dflat_workspace_repair(
        workspace: In<'_, WorkspaceHandle>,
        tables: List<'_, In<'_, TableHandle>>,
        tables_count: usize,
        progress: Callback<ProgressCallback>,
        problems: Out<'_, u64>,
        text: OutHandle<'_, BufferHandle>,
    ) {
        let progress = progress.kept_or_silent();
        text.begin_if_wanted();
        problems.begin("problems", 0)?;
        let tables = named(tables, tables_count)?;
        let repaired = workspace.get()?.0.repair(tables, &mut |state| report(&progress, state))?;
        problems.set(repaired.after.problems_count);
        text.set_if_wanted(|| text_of(&repaired.before));
    }

    fn dflat_salvage(
        from: Text<'_>,
        to: Text<'_>,
        tables: List<'_, In<'_, TableHandle>>,
        tables_count: usize,
        progress: Callback<ProgressCallback>,
        salvaged: Out<'_, RawSalvage>,
    ) {
        let progress = progress.kept_or_silent();
        salvaged.begin("salvaged", RawSalvage::default())?;
        let tables = named(tables, tables_count)?;
        let (from, to) = (Path::new(from.get("from")?), Path::new(to.get("to")?));
        let found = salvage(from, to, tables, &mut |state| report(&progress, state))?;
        salvaged.set(RawSalvage {
            saved: found.saved,
            unreadable: found.unreadable,
            lost: found.lost,
        });
    }

    fn dflat_workspace_reclaim(workspace: In<'_, WorkspaceHandle>, pages: u32) {
        workspace.get()?.0.reclaim(pages)?;
    }

    fn dflat_workspace_purge(workspace: In<'_, WorkspaceHandle>) {
        workspace.get()?.0.purge()?;
    }

    fn dflat_workspace_compact(workspace: In<'_, WorkspaceHandle>) {
        workspace.get()?.0.compact()?;
    }

    fn dflat_workspace_suspend(workspace: In<'_, WorkspaceHandle>) {
        workspace.get()?.0.suspend()?;
    }

    fn dflat_workspace_resume(workspace: In<'_, WorkspaceHandle>) {
        workspace.get()?.0.resume();
    }

    fn dflat_workspace_statistic(
        workspace: In<'_, WorkspaceHandle>,
        statistic: i32,
        value: Out<'_, u64>,
    ) {
        value.begin("value", 0)?;
        value.set(statistic_of(&workspace.get()?.0.stats(), statistic)?);
    }
}
