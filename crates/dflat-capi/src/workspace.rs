//! Workspaces: opening and shutting down.

use std::path::Path;

use dflat_engine::storage::CloseOptions;
use dflat_engine::{Error, ErrorKind};
use dflat_workspace::Workspace;

use crate::boundary::{
    Callback, In, Kind, OutHandle, Owned, Text, causes_calls, export, export_release, export_value,
    invalid, waits_for_calls,
};
use crate::callbacks::{CompletionCall, complete};
use crate::number::{ABI_VERSION, SHUTDOWN_TRUNCATE, SHUTDOWN_VACUUM};
use crate::options::OptionsHandle;
use crate::table::TableHandle;

/// A workspace for the caller.
pub(crate) struct WorkspaceHandle(pub(crate) Workspace);

impl Kind for WorkspaceHandle {
    const TAG: u64 = 0xDF1A_7005;
    const NAME: &'static str = "dflat_workspace";
}

fn close_options(flags: u32) -> dflat_engine::Result<CloseOptions> {
    if flags & !(SHUTDOWN_TRUNCATE | SHUTDOWN_VACUUM) != 0 {
        return Err(invalid(format!("flags: {flags:#x} has an unknown flag")));
    }
    Ok(CloseOptions {
        truncate: flags & SHUTDOWN_TRUNCATE != 0,
        vacuum: flags & SHUTDOWN_VACUUM != 0,
    })
}

export! {
    fn dflat_workspace_open(
        path: Text<'_>,
        options: In<'_, OptionsHandle>,
        workspace: OutHandle<'_, WorkspaceHandle>,
    ) {
        workspace.begin()?;
        let path = Path::new(path.get("path")?);
        let options = options.or_none()?.map(OptionsHandle::get).unwrap_or_default();
        workspace.set(WorkspaceHandle(Workspace::open(path, &options)?));
    }

    fn dflat_workspace_in_memory(workspace: OutHandle<'_, WorkspaceHandle>) {
        workspace.begin()?;
        workspace.set(WorkspaceHandle(Workspace::in_memory()));
    }

    fn dflat_workspace_table(
        workspace: In<'_, WorkspaceHandle>,
        name: Text<'_>,
        table: OutHandle<'_, TableHandle>,
    ) {
        table.begin()?;
        let name = name.get("name")?;
        let stored = workspace.get()?.0.stored_table(name)?.ok_or_else(|| {
            let message = format!("cannot read the descriptor of {name}: the file has none");
            Error::new(ErrorKind::NotFound, message)
        })?;
        table.set(TableHandle(stored));
    }

    fn dflat_workspace_shutdown(workspace: In<'_, WorkspaceHandle>, flags: u32) {
        let _order = waits_for_calls();
        workspace.get()?.0.shutdown_with(close_options(flags)?)?;
    }

    fn dflat_workspace_shutdown_then(
        workspace: In<'_, WorkspaceHandle>,
        flags: u32,
        completion: Callback<CompletionCall>,
    ) {
        causes_calls();
        let completion = completion.kept_or_silent();
        let (workspace, options) = (&workspace.get()?.0, close_options(flags)?);
        workspace.shutdown_then(options, move |outcome| complete(&completion, outcome));
    }

    fn dflat_workspace_settle(workspace: In<'_, WorkspaceHandle>) {
        let _order = waits_for_calls();
        workspace.get()?.0.engine().settle()?;
    }

    fn dflat_workspace_refresh(workspace: In<'_, WorkspaceHandle>) {
        let _order = waits_for_calls();
        workspace.get()?.0.engine().refresh()?;
    }
}

export_release! {
    fn dflat_workspace_release(workspace: Owned<WorkspaceHandle>) {
        let _order = waits_for_calls();
        drop(workspace.take()?);
    }
}

export_value! {
    fn dflat_abi_version() -> u32 {
        ABI_VERSION
    }
}
