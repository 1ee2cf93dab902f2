//! The syncs of a commit, counted by `strace` on a process of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Outcome, Run, check};
use crate::Result;
use crate::record::{Change, Digest, Shape, title};
use crate::store::STORES;

/// The commits of the longer of both processes.
const COMMITS: usize = 1000;

impl Run<'_> {
    /// The syncs of many commits, without those of opening and closing.
    pub(super) fn syncs(&self) -> Result<Outcome> {
        let commits = COMMITS.min(self.scenario.count);
        let (without, with) = (self.count("without", 0)?, self.count("with", commits)?);
        let syncs = with.saturating_sub(without) as f64;
        Ok(Outcome::of(syncs / commits as f64))
    }

    /// The syncs of a process that makes so many commits.
    fn count(&self, name: &str, commits: usize) -> Result<usize> {
        let folder = self.folder.join(name);
        fs::create_dir(&folder)?;
        let trace = self.folder.join(format!("{name}.trace"));
        let status = Command::new("strace")
            .args(["-f", "-qq", "-e"])
            .arg("trace=fsync,fdatasync,msync")
            .arg("-o")
            .args([&trace, &std::env::current_exe()?])
            .args(["commit", "--store", self.entry.name, "--commits"])
            .arg(commits.to_string())
            .arg("--folder")
            .arg(&folder)
            .status()
            .map_err(|error| format!("strace: {error}"))?;
        if !status.success() {
            return Err(format!("the traced process ended with {status}").into());
        }
        let text = fs::read_to_string(&trace)?;
        // A call that another thread interrupts has a second line, `<... fsync resumed>`.
        let calls = text.lines().filter(|line| line.contains("sync("));
        Ok(calls.count())
    }
}

/// Fills a store and makes commits: the work of a process of its own.
///
/// # Errors
/// If the store fails, or returns a wrong result.
pub fn commit(store: &str, folder: &Path, commits: usize) -> Result<()> {
    let entry = STORES.iter().find(|entry| entry.name == store);
    let entry = entry.ok_or_else(|| format!("there is no store {store}"))?;
    let mut records = Shape::Plain.records(COMMITS, 1024);
    let store = (entry.open)(folder, Shape::Plain)?;
    let mut session = store.session(0)?;
    session.insert(&records)?;
    for (i, record) in records.iter_mut().enumerate().take(commits) {
        session.update_one(&title(i), Change::Priority)?;
        Change::Priority.apply(record);
    }
    check(&session.fetch_all()?.digest(), &Digest::of(&records))
}
