//! Checks that the files that documents name exist.

use crate::finding::Finding;
use crate::workspace::File;

const DOCUMENTS: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"];

/// Finds names of files and folders, in backticks, that stand neither in the repository's root nor
/// in `crates`. A name counts as a path if it has a part `src` or `tests`, and ends like a file of
/// the repository or a folder.
pub fn check(files: &[File]) -> Vec<Finding> {
    let exists = |path: &str| {
        files.iter().any(|file| {
            let inside = file.path.strip_prefix("crates/").unwrap_or(&file.path);
            [inside, &file.path]
                .iter()
                .any(|known| *known == path || path.ends_with('/') && known.starts_with(path))
        })
    };
    let mut findings = Vec::new();
    for document in files
        .iter()
        .filter(|file| DOCUMENTS.contains(&file.path.as_str()))
    {
        for (line, number) in document.text.lines().zip(1..) {
            let names = line.split('`').skip(1).step_by(2);
            for name in names.filter(|name| is_path(name) && !exists(name)) {
                let message = format!("`{name}` does not exist");
                findings.push(Finding::error(&document.path, number, message));
            }
        }
    }
    findings
}

fn is_path(name: &str) -> bool {
    let ends = [".rs", ".md", ".toml", ".fbs", ".txt", "/"];
    let whole =
        !name.contains([' ', '*', '<']) && (name.contains("/src/") || name.contains("/tests/"));
    whole && ends.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::File;

    #[test]
    fn names_of_files_are_checked() {
        let file = |path: &str, text: &str| File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let count =
            |text: &str| check(&[file("README.md", text), file("crates/a/src/b/c.rs", "")]).len();
        assert_eq!(
            count("`a/src/b/c.rs` `crates/a/src/b/c.rs` `a/src/b/` `x/y.rs` a/src/z.rs"),
            0
        );
        assert_eq!(count("`a/src/b/d.rs`\n`a/src/d/`"), 2);
    }
}
