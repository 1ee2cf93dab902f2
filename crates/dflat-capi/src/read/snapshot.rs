//! Snapshots: all reads of one show the same state.

use dflat_engine::engine::EngineSnapshot;

use crate::boundary::{In, Kind, OutHandle, Owned, export, export_release};
use crate::workspace::WorkspaceHandle;

/// A snapshot for the caller.
pub(crate) struct SnapshotHandle(pub(crate) EngineSnapshot);

impl Kind for SnapshotHandle {
    const TAG: u64 = 0xDF1A_7007;
    const NAME: &'static str = "dflat_snapshot";
}

export! {
    fn dflat_snapshot_new(
        workspace: In<'_, WorkspaceHandle>,
        snapshot: OutHandle<'_, SnapshotHandle>,
    ) {
        snapshot.begin()?;
        snapshot.set(SnapshotHandle(workspace.get()?.0.engine().snapshot()?));
    }
}

export_release! {
    fn dflat_snapshot_release(snapshot: Owned<SnapshotHandle>) {
        drop(snapshot.take()?);
    }
}
