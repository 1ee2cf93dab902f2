//! Instruction counts as a text file, and their comparison with the stored ones.

use std::fmt::Write;
use std::process::Command;

use crate::Result;

/// The maximum difference of a count from the stored count, in per cent of the stored count.
const DIFFERENCE_MAX_PERCENT: u64 = 3;

const HEAD: &str = "\
# Instructions of our Rust functions for one piece of work each, without those of libc and SQLite.
# Written by `cargo bench -p dflat-bench --bench counts -- --bless`.
";

/// Counts, and the versions of all programs that they depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The name and the version of each program.
    pub versions: Vec<(String, String)>,
    /// The name of each piece of work, and its instructions.
    pub counts: Vec<(String, u64)>,
}

/// The differences of counts from stored counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// A table of the counts, and the faults that were found.
    pub text: String,
    /// False if a count differs by more than the limit although all versions are the same.
    pub passes: bool,
}

impl Counts {
    /// Reads the text that [`to_text`](Self::to_text) made.
    ///
    /// # Errors
    /// If a line can't be read.
    pub fn parse(text: &str) -> Result<Self> {
        let (mut versions, mut counts) = (Vec::new(), Vec::new());
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((name, value)) = line.split_once(": ") else {
                return Err(format!("`{line}` is neither a version nor a count").into());
            };
            match name.strip_prefix("version of ") {
                Some(name) => versions.push((name.to_owned(), value.to_owned())),
                None => counts.push((name.to_owned(), value.parse()?)),
            }
        }
        Ok(Self { versions, counts })
    }

    /// The text of the file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let versions = self.versions.iter();
        let versions = versions.map(|(name, version)| format!("version of {name}: {version}\n"));
        let counts = self.counts.iter();
        let counts = counts.map(|(name, count)| format!("{name}: {count}\n"));
        let lines: String = versions.chain(counts).collect();
        format!("{HEAD}{lines}")
    }

    /// The names of the counts that differ from stored counts by more than the limit.
    #[must_use]
    pub fn differing(&self, stored: &Self) -> Vec<&str> {
        let before = |name: &str| stored.counts.iter().find(|(stored, _)| stored == name);
        let counts = self.counts.iter().filter(|(name, now)| {
            let before = before(name);
            before.is_some_and(|(_, before)| differs(*now, *before))
        });
        counts.map(|(name, _)| name.as_str()).collect()
    }

    /// Compares these counts with stored counts. A count that is too low fails as well: with the
    /// old stored count, a later loss of the gain would pass.
    #[must_use]
    pub fn compare(&self, stored: &Self) -> Comparison {
        let mut text = format!(
            "{:<24}{:>12}{:>12}{:>10}\n",
            "", "stored", "now", "per cent"
        );
        let mut differences = 0;
        for (name, now) in &self.counts {
            let Some((_, before)) = stored.counts.iter().find(|(stored, _)| stored == name) else {
                let _ = writeln!(
                    text,
                    "{name:<24}{:>12}{now:>12}{:>10}  not stored",
                    "-", "-"
                );
                differences += 1;
                continue;
            };
            let differs = differs(*now, *before);
            let percent = (*now as f64 / *before as f64 - 1.0) * 100.0;
            let mark = if differs { "  differs" } else { "" };
            let _ = writeln!(
                text,
                "{name:<24}{before:>12}{now:>12}{percent:>+10.2}{mark}"
            );
            differences += usize::from(differs);
        }
        let is_counted = |name: &String| self.counts.iter().any(|(counted, _)| counted == name);
        for (name, before) in stored.counts.iter().filter(|(name, _)| !is_counted(name)) {
            let _ = writeln!(
                text,
                "{name:<24}{before:>12}{:>12}{:>10}  not counted",
                "-", "-"
            );
            differences += 1;
        }
        let same_versions = self.versions == stored.versions;
        if !same_versions {
            let _ = writeln!(
                text,
                "The stored counts are of other versions, so nothing fails:"
            );
            for (name, version) in &stored.versions {
                let _ = writeln!(text, "  stored: {name}: {version}");
            }
            for (name, version) in &self.versions {
                let _ = writeln!(text, "  now:    {name}: {version}");
            }
        } else if differences > 0 {
            let _ = writeln!(
                text,
                "{differences} counts differ by more than {DIFFERENCE_MAX_PERCENT} per cent. If \
                 that is meant, bless them, and say why in the commit."
            );
        }
        Comparison {
            text,
            passes: differences == 0 || !same_versions,
        }
    }
}

/// Whether a count differs from the stored count by more than the limit.
fn differs(now: u64, before: u64) -> bool {
    now.abs_diff(before) * 100 > before * DIFFERENCE_MAX_PERCENT
}

/// The versions on this machine of all programs that counts depend on.
///
/// # Errors
/// If a program is missing.
pub fn versions() -> Result<Vec<(String, String)>> {
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    let mut versions = vec![("system".to_owned(), system)];
    for (name, program) in [
        ("rustc", "rustc"),
        ("valgrind", "valgrind"),
        ("libc", "ldd"),
        ("C compiler", "cc"),
    ] {
        let output = Command::new(program).arg("--version").output();
        let output = output.map_err(|error| format!("{program} --version: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text.lines().next().unwrap_or_default().trim();
        versions.push((name.to_owned(), version.to_owned()));
    }
    Ok(versions)
}

#[cfg(test)]
mod tests {
    use super::Counts;

    fn counts(version: &str, insert: u64) -> Counts {
        Counts {
            versions: vec![("rustc".to_owned(), version.to_owned())],
            counts: vec![("get".to_owned(), 500), ("insert".to_owned(), insert)],
        }
    }

    #[test]
    fn count_four_per_cent_higher_fails_only_with_the_stored_tool_versions() {
        let stored = counts("1.95.0", 10_000);
        for (insert, passes) in [
            (10_000, true),
            (10_300, true),
            (10_301, false),
            (10_400, false),
            (9_700, true),
            (9_600, false),
        ] {
            let same = counts("1.95.0", insert).compare(&stored);
            assert_eq!(same.passes, passes, "{}", same.text);
            assert_eq!(same.text.contains("differs\n"), !passes, "{}", same.text);
            let differing = counts("1.95.0", insert);
            let differing = differing.differing(&stored);
            assert_eq!(differing, if passes { vec![] } else { vec!["insert"] });
            let other = counts("1.96.0", insert).compare(&stored);
            assert!(other.passes, "{}", other.text);
            assert!(
                other.text.contains("now:    rustc: 1.96.0"),
                "{}",
                other.text
            );
            assert_eq!(other.text.contains("differs\n"), !passes, "{}", other.text);
        }
    }

    #[test]
    fn count_missing_on_one_side_fails() {
        let all = counts("1.95.0", 10_000);
        let mut fewer = all.clone();
        fewer.counts.pop();
        assert!(!all.compare(&fewer).passes);
        assert!(!fewer.compare(&all).passes);
    }

    #[test]
    fn counts_file_round_trips() {
        let counts = counts("rustc 1.95.0 (1234: 2026)", 10_000);
        assert_eq!(Counts::parse(&counts.to_text()).unwrap(), counts);
        assert!(Counts::parse("insert 10\n").is_err());
    }
}
