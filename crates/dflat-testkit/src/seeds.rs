//! The cases that failed before, in files of the repository: one case a line; a comment begins with
//! `#`.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The lines of a file of cases. Its path is relative to the test kit's folder.
#[must_use]
pub fn kept(file: &str) -> Vec<String> {
    lines_of(&fs::read_to_string(path_of(file)).unwrap())
}

/// Adds a case that failed to its file, unless the file has it. Returns a message that says what
/// was done.
///
/// If the sources are read-only where a test runs, a person has to add the line.
#[must_use]
pub fn keep(file: &str, line: &str) -> String {
    match add(&path_of(file), line) {
        Ok(()) => format!("kept in {file}"),
        Err(error) => format!("add the line to {file}, which can't be written: {error}"),
    }
}

/// Runs a seed. A seed that panics is added to the file.
pub fn run(file: &str, seed: u64, one: impl FnOnce(u64)) {
    struct Kept<'f>(&'f str, u64);
    impl Drop for Kept<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                let Self(file, seed) = self;
                eprintln!("seed {seed} failed: {}", keep(file, &seed.to_string()));
            }
        }
    }
    let _kept = Kept(file, seed);
    one(seed);
}

fn path_of(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

fn lines_of(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.split('#').next());
    let lines = lines.map(|line| line.unwrap_or_default().trim());
    let lines = lines.filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

fn add(path: &Path, line: &str) -> std::io::Result<()> {
    if lines_of(&fs::read_to_string(path)?).contains(&line.to_owned()) {
        return Ok(());
    }
    let mut file = OpenOptions::new().append(true).open(path)?;
    // The line is written with one call, so that tests that fail at the same time do not mix their
    // lines.
    file.write_all(format!("{line}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_kept_once_and_found_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("seeds.txt");
        fs::write(&path, "# Comment.\n3 # why\n").unwrap();
        for line in ["3", "Full 17 Random 5", "Full 17 Random 5"] {
            add(&path, line).unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "# Comment.\n3 # why\nFull 17 Random 5\n");
        assert_eq!(lines_of(&text), ["3", "Full 17 Random 5"]);
        // An absolute path is not relative to the test kit's folder.
        assert!(keep(path.to_str().unwrap(), "4").starts_with("kept"));
        assert_eq!(kept(path.to_str().unwrap()).len(), 3);
    }
    #[test]
    fn a_seed_that_panics_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("seeds.txt");
        fs::write(&path, "# Comment.\n").unwrap();
        let file = path.to_str().unwrap();
        for seed in 6..9 {
            let one = |seed| assert_ne!(seed, 7, "a failure that is asked for");
            let outcome = std::panic::catch_unwind(|| run(file, seed, one));
            assert_eq!(outcome.is_err(), seed == 7);
        }
        assert_eq!(kept(file), ["7"]);
    }
}
