//! The paths that Cargo watches, to run the script again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::Outcome;

/// The paths whose change may change the output, and warnings about them.
///
/// A file that was looked up and does not exist counts too: if it appears, an `include` finds it
/// first. Cargo treats a path that does not exist as changed, and would run the script every time.
/// So Cargo watches the folder of the file instead. But Cargo watches everything in a folder, and a
/// folder with the package or the output changes with every build.
pub(crate) struct WatchedPaths {
    pub(crate) paths: BTreeSet<PathBuf>,
    pub(crate) warnings: Vec<String>,
}

impl WatchedPaths {
    /// Finds the paths to watch. `busy` are the folders that builds write to.
    pub(crate) fn of(outcome: &Outcome, busy: &[&Path]) -> Self {
        let mut watch = Self {
            paths: outcome.found.iter().cloned().collect(),
            warnings: Vec::new(),
        };
        for missing in &outcome.missing {
            // A path without a folder is in the working directory.
            let folder = missing.ancestors().skip(1).find(|folder| folder.is_dir());
            match folder {
                Some(folder) if !busy.iter().any(|busy| busy.starts_with(folder)) => {
                    watch.paths.insert(folder.to_owned());
                }
                _ => watch.every_time(missing),
            }
        }
        if outcome.has_errors() {
            // The build fails, and its error says which file is missing.
            watch.warnings.clear();
        }
        watch
    }

    fn every_time(&mut self, missing: &Path) {
        self.warnings.push(format!(
            "{} does not exist, and would be read if it did. Cargo cannot watch its folder, because \
             builds write to it, so Cargo builds this package every time. Put the schemas into a \
             folder of their own.",
            missing.display()
        ));
        self.paths.insert(missing.to_owned());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::fs;

    use super::*;
    use crate::{Request, run};

    #[test]
    fn only_a_build_that_succeeds_warns_of_a_folder_that_cannot_be_watched() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("shared");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("part.fbs"), "table Part { a: int; }").unwrap();
        fs::write(base.path().join("whole.fbs"), "include \"part.fbs\";").unwrap();
        for (file, count) in [("whole.fbs", 1), ("schema/whole.fbs", 0)] {
            let outcome = run(&Request {
                files: vec![file.to_owned()],
                base: base.path().to_owned(),
                include_dirs: vec![folder.clone()],
                ..Request::default()
            });
            let watched = WatchedPaths::of(&outcome, &[base.path()]);
            assert_eq!(watched.warnings.len(), count, "{file}");
        }
    }
}
