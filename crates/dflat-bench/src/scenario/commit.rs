//! Transactions that each change one object. There is one transaction for every ten objects; the
//! floor makes the same number of commits.

use dflat::{Durability, Workspace};

use super::update::{Run, raise, update};
use crate::measure::{Report, Settings};
use crate::workload::BenchDoc;
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
