//! A large file: opening it, copying it and checking all of it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dflat::{ChangeRequest, Durability, Workspace};
use tempfile::TempDir;

use crate::floor::Floor;
use crate::measure::{Probe, Report, Settings};
use crate::workload::{BenchDoc, Doc};
use crate::{Result, check};

/// The size of the file in bytes, if there are enough objects.
const BYTES: usize = 1 << 30;

/// The maximum size of an object in bytes.
const OBJECT_BYTES_MAX: usize = 100 << 10;

/// The number of objects per transaction when the file is filled.
const BATCH: usize = 100;

/// The maximum number of runs, because each run works on the whole file.
const RUNS_MAX: usize = 5;

/// A file of 1 GiB, closed.
struct Large {
    scratch: TempDir,
    path: PathBuf,
    count: usize,
}

impl Large {
    fn new(settings: &Settings) -> Result<Self> {
        let scratch = settings.scratch()?;
        let path = scratch.path().join("large.db");
        let count = settings.objects;
        let filler = "x".repeat((BYTES / count.max(1)).min(OBJECT_BYTES_MAX));
        let workspace = Workspace::open(&path)?;
        for first in (0..count).step_by(BATCH) {
            let filler = filler.clone();
            let filled = workspace.perform_changes([BenchDoc::TABLE], move |tx| {
                (first..(first + BATCH).min(count)).try_for_each(|i| {
                    let mut data = BenchDoc::data(i, count);
                    data.tag = Some(filler.clone());
                    tx.submit(ChangeRequest::<BenchDoc>::creation(data))
                        .map(drop)
                })
            });
            filled.wait()?;
        }
        workspace.shutdown()?;
        Ok(Self {
            scratch,
            path,
            count,
        })
    }

    fn title(&self) -> String {
        BenchDoc::data(self.count / 2, self.count).title
    }

    /// The time of a plain copy that is synced to the device. The file is not open meanwhile.
    fn copy(&self, probe: &mut Probe) -> Result<Duration> {
        let to = self.scratch.path().join("plain");
        let ((), time) = probe.time(|| {
            fs::copy(&self.path, &to)?;
            Ok(File::open(&to)?.sync_all()?)
        })?;
        check("bytes of the copy", &length(&to)?, &length(&self.path)?)?;
        fs::remove_file(&to)?;
        Ok(time)
    }

    /// The time of work on the open workspace.
    fn ours(
        &self,
        probe: &mut Probe,
        work: impl FnOnce(&Workspace) -> Result<()>,
    ) -> Result<Duration> {
        let workspace = Workspace::open(&self.path)?;
        let ((), time) = probe.time(|| work(&workspace))?;
        workspace.shutdown()?;
        Ok(time)
    }
}

fn length(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path)?.len())
}

/// Opens the file and reads an object by its key.
pub(super) fn open(name: &'static str, settings: &Settings) -> Result<Report> {
    let large = Large::new(settings)?;
    let title = large.title();
    settings.compare(
        name,
        |probe| {
            let ((workspace, found), time) = probe.time(|| {
                let workspace = Workspace::open(&large.path)?;
                let found = workspace.get::<BenchDoc>(title.as_str())?;
                Ok((workspace, found))
            })?;
            check("object of ours", &found.is_some(), &true)?;
            workspace.shutdown()?;
            Ok(time)
        },
        |probe| {
            let ((floor, found), time) = probe.time(|| {
                let tables = [BenchDoc::TABLE_NAME];
                let mut floor = Floor::open(&large.path, Durability::Normal, &tables)?;
                let found = floor.get::<BenchDoc>(0, &title)?;
                Ok((floor, found.is_some()))
            })?;
            check("object of the floor", &found, &true)?;
            drop(floor);
            Ok(time)
        },
    )
}

/// Backs the file up. The floor is a plain copy.
pub(super) fn backup(name: &'static str, settings: &Settings) -> Result<Report> {
    let large = Large::new(settings)?;
    let to = large.scratch.path().join("backup.db");
    settings.with_runs_max(RUNS_MAX).compare(
        name,
        |probe| {
            let time = large.ours(probe, |workspace| Ok(workspace.backup(&to)?))?;
            check("bytes of the backup", &length(&to)?, &length(&large.path)?)?;
            fs::remove_file(&to)?;
            Ok(time)
        },
        |probe| large.copy(probe),
    )
}

/// Checks the file. The floor is a plain copy.
pub(super) fn check_all(name: &'static str, settings: &Settings) -> Result<Report> {
    let large = Large::new(settings)?;
    settings.with_runs_max(RUNS_MAX).compare(
        name,
        |probe| {
            large.ours(probe, |workspace| {
                let report = workspace.check([BenchDoc::TABLE])?;
                check("rows", &report.rows, &(large.count as u64))?;
                check("problems", &report.problems_count, &0)
            })
        },
        |probe| large.copy(probe),
    )
}
