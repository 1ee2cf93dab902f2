//! What cargo watches, to run the script again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::Outcome;

/// The paths whose change means another result, and what to tell about them.
///
/// A file that was looked for and is not there counts too: if it comes into being, an `include`
/// finds it first. Cargo takes a path that does not exist for one that changed, and would run the
/// script every time. So the folder is watched in which the file would be. But cargo looks at all
/// that is in a folder, and one that holds the package or the output changes with every build.
pub(crate) struct Watch {
    pub(crate) paths: BTreeSet<PathBuf>,
    pub(crate) warnings: Vec<String>,
}

impl Watch {
    /// `busy` are the folders that builds write to.
    pub(crate) fn of(outcome: &Outcome, busy: &[&Path]) -> Self {
        let mut watch = Self {
            paths: outcome.found.iter().cloned().collect(),
            warnings: Vec::new(),
        };
        for missing in &outcome.missing {
            // A file without a folder would be in the working directory.
            let folder = missing.ancestors().skip(1).find(|folder| folder.is_dir());
            match folder {
                Some(folder) if !busy.iter().any(|busy| busy.starts_with(folder)) => {
                    watch.paths.insert(folder.to_owned());
                }
                _ => watch.every_time(missing),
            }
        }
        watch
    }

    fn every_time(&mut self, missing: &Path) {
        self.warnings.push(format!(
            "{} does not exist, and would be read if it did. Cargo cannot watch its folder, which \
             builds write to, so it builds this package every time. Put the schemas into a folder \
             of their own.",
            missing.display()
        ));
        self.paths.insert(missing.to_owned());
    }
}
