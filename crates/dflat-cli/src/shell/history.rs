//! The file of the lines that were typed before.

use std::env;
use std::fs;
use std::path::PathBuf;

/// The path: `DFLAT_HISTORY`, else `dflat/history` in the folder for the state of programs. `None`
/// if `DFLAT_HISTORY` is empty, or there is no such folder.
pub(super) fn path() -> Option<PathBuf> {
    if let Some(path) = env::var_os("DFLAT_HISTORY") {
        return (!path.is_empty()).then(|| PathBuf::from(path));
    }
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(env::home_dir()?.join(".local/state")))?;
    let folder = state.join("dflat");
    fs::create_dir_all(&folder).ok()?;
    Some(folder.join("history"))
}
