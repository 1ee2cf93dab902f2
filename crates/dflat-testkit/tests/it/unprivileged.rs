//! Processes whose file modes and limits count, also if the tests run as root.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const NOBODY: u32 = 65_534;

/// The variable with which such a process finds its directory.
const DIRECTORY: &str = "DFLAT_UNPRIVILEGED_DIRECTORY";

/// Runs a test in a process of its own, which is not root's, with a directory of its own. `test` is
/// the path of the test that calls this.
pub(crate) fn unprivileged(test: &str, run: impl FnOnce(&Path)) {
    if let Some(directory) = env::var_os(DIRECTORY) {
        return run(&PathBuf::from(directory));
    }
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("files");
    fs::create_dir(&directory).unwrap();
    let program = env::current_exe().unwrap();
    let mut child = if fs::metadata(&directory).unwrap().uid() == 0 {
        // Every user may run the copy.
        let copy = folder.path().join("program");
        fs::copy(program, &copy).unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        chown(&directory, Some(NOBODY), Some(NOBODY)).unwrap();
        let mut child = Command::new(copy);
        child.uid(NOBODY).gid(NOBODY);
        child
    } else {
        Command::new(program)
    };
    child.env(DIRECTORY, &directory).args(["--exact", test]);
    let outcome = child.output().unwrap();
    let text = String::from_utf8_lossy(&outcome.stdout);
    assert!(outcome.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}
