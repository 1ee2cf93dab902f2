//! Folders with more source files than a reader keeps in mind.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::workspace::File;

/// The maximum number of source files in a folder. Folders below `tests` may have more.
pub const FILES_MAX: usize = 15;

/// Finds the folders that have more source files.
pub fn check(files: &[File]) -> Vec<Finding> {
    let mut counts = BTreeMap::new();
    for file in files {
        let in_tests = file.path.contains("/tests/");
        if let Some((folder, _)) = file.path.rsplit_once('/')
            && file.has_extension("rs")
            && !in_tests
        {
            *counts.entry(folder).or_insert(0) += 1;
        }
    }
    let full = counts.into_iter().filter(|&(_, count)| count > FILES_MAX);
    let finding = |(folder, count)| {
        let message = format!("{count} source files; at most {FILES_MAX} are allowed: add a room");
        Finding::error(folder, 0, message)
    };
    full.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::{FILES_MAX, check};
    use crate::workspace::File;

    fn found(folder: &str, count: usize) -> usize {
        let file = |number: usize| File {
            path: format!("{folder}/f{number}.rs"),
            text: String::new(),
        };
        let other = File {
            path: format!("{folder}/readme.md"),
            text: String::new(),
        };
        let files: Vec<_> = (0..count).map(file).chain([other]).collect();
        check(&files).len()
    }

    #[test]
    fn folders_with_too_many_files_are_found() {
        assert_eq!(found("crates/a/src", FILES_MAX), 0);
        assert_eq!(found("crates/a/src", FILES_MAX + 1), 1);
        assert_eq!(found("crates/a/tests/it", FILES_MAX + 1), 0);
    }
}
