//! Transactions that each change one object. There is one transaction for every ten objects; the
//! floor makes the same number of commits.

use std::cell::Cell;

use dflat::{Durability, Error, ErrorKind, Workspace};

use super::update::{Run, raise, update};
use crate::measure::{Report, Settings};
use crate::workload::{BenchDoc, Wide, WideChangeRequest, WideData};
use crate::{Result, check};

/// Waits for each transaction before it queues the next.
pub(super) fn wait(name: &'static str, settings: &Settings) -> Result<Report> {
    compare(name, settings, |workspace, objects| {
        for object in objects {
            let changed =
                workspace.perform_changes([BenchDoc::TABLE], move |tx| update(tx, &object));
            check("an update", &changed.wait()?, &true)?;
        }
        Ok(())
    })
}

/// Runs each transaction on the calling thread.
pub(super) fn blocking(name: &'static str, settings: &Settings) -> Result<Report> {
    compare(name, settings, |workspace, objects| {
        for object in objects {
            let changed =
                workspace.perform_changes_blocking([BenchDoc::TABLE], |tx| update(tx, &object));
            check("an update", &changed?, &true)?;
        }
        Ok(())
    })
}

/// Queues all transactions, then waits for each.
pub(super) fn queued(name: &'static str, settings: &Settings) -> Result<Report> {
    compare(name, settings, |workspace, objects| {
        let queue = |object: BenchDoc| {
            workspace.perform_changes([BenchDoc::TABLE], move |tx| update(tx, &object))
        };
        let handles: Vec<_> = objects.into_iter().map(queue).collect();
        for handle in handles {
            check("an update", &handle.wait()?, &true)?;
        }
        Ok(())
    })
}

/// Pairs of transactions over a type with 17 indexes: the first is undone, because its handler
/// returns an error, and the second is committed. The floor commits both.
pub(super) fn after_undone(name: &'static str, settings: &Settings) -> Result<Report> {
    let pairs = (settings.objects / 10).max(1);
    let (undone, good) = (WidePairs::new(settings)?, WidePairs::new(settings)?);
    settings.compare(
        name,
        |probe| {
            let ((), time) = probe.time(|| undone.make(pairs, true))?;
            undone.check(1)?;
            Ok(time)
        },
        |probe| {
            let ((), time) = probe.time(|| good.make(pairs, false))?;
            good.check(2)?;
            Ok(time)
        },
    )
}

/// A workspace for pairs of transactions.
struct WidePairs {
    workspace: Workspace,
    made: Cell<u64>,
    // Order: the directory is removed after the workspace is closed.
    _scratch: tempfile::TempDir,
}

impl WidePairs {
    fn new(settings: &Settings) -> Result<Self> {
        let scratch = settings.scratch()?;
        Ok(Self {
            workspace: Workspace::open(scratch.path().join("wide.db"))?,
            made: Cell::new(0),
            _scratch: scratch,
        })
    }

    /// Makes pairs of transactions, each of which inserts an object.
    fn make(&self, pairs: usize, is_first_undone: bool) -> Result<()> {
        for _ in 0..pairs {
            let id = self.made.get() * 2;
            self.made.set(self.made.get() + 1);
            let first = self.insert(id, is_first_undone);
            let is_undone = first.is_err_and(|error| error.kind() == ErrorKind::User);
            check("undone", &is_undone, &is_first_undone)?;
            self.insert(id + 1, false)?;
        }
        Ok(())
    }

    fn insert(&self, id: u64, is_undone: bool) -> dflat::Result<()> {
        self.workspace
            .perform_changes_blocking([Wide::TABLE], |tx| {
                tx.submit(WideChangeRequest::creation(wide(id)))?;
                match is_undone {
                    true => Err(Error::user("undone")),
                    false => Ok(()),
                }
            })
    }

    /// Checks that so many objects of each pair are stored.
    fn check(&self, stored: u64) -> Result<()> {
        let count = self.workspace.fetch::<Wide>().count()?;
        check(
            "objects",
            &count,
            &usize::try_from(self.made.get() * stored)?,
        )
    }
}

fn wide(id: u64) -> WideData {
    let value = i32::try_from(id % 1_000).unwrap_or_default();
    WideData {
        id,
        a: value,
        b: value + 1,
        q: value + 16,
        ..WideData::default()
    }
}

fn compare(
    name: &'static str,
    settings: &Settings,
    work: impl Fn(&Workspace, Vec<BenchDoc>) -> Result<()>,
) -> Result<Report> {
    let commits = (settings.objects / 10).max(1);
    let mut ours = Run::new(settings, Durability::Normal, commits)?;
    let mut floor = Run::new(settings, Durability::Normal, commits)?;
    settings.compare(
        name,
        |probe| {
            let objects = ours.sides.workspace.fetch().limit(commits).all()?.to_vec();
            ours.ours(probe, |sides| work(&sides.workspace, objects))
        },
        |probe| {
            let mut objects = floor.sides.floor.fetch_owned::<BenchDoc>(0, |_| true)?;
            objects.truncate(commits);
            floor.floor(probe, |sides| {
                sides.floor.update_each::<BenchDoc>(0, &mut objects, raise)
            })
        },
    )
}
