//! Updates with change records, as while another process follows the file. The floor makes the same
//! updates without records.

use dflat::{Durability, Workspace};

use super::super::update::{Run, update};
use crate::measure::{Report, Settings};
use crate::workload::BenchDoc;
use crate::{Result, check};

/// The number of updates of a transaction.
const BATCH: usize = 100;

/// Transactions of 100 updates, one after the other.
pub(in super::super) fn batches(name: &'static str, settings: &Settings) -> Result<Report> {
    compare(name, settings, settings.objects, |workspace, objects| {
        for objects in objects.chunks(BATCH) {
            let changed = workspace.perform_changes_blocking([BenchDoc::TABLE], |tx| {
                let mut objects = objects.iter();
                objects.try_for_each(|object| update(tx, object).map(drop))
            });
            changed?;
        }
        Ok(())
    })
}

/// Transactions of one update, one after the other: one for every ten objects.
pub(in super::super) fn alone(name: &'static str, settings: &Settings) -> Result<Report> {
    let changed = (settings.objects / 10).max(1);
    compare(name, settings, changed, |workspace, objects| {
        for object in objects {
            let changed =
                workspace.perform_changes_blocking([BenchDoc::TABLE], |tx| update(tx, &object));
            check("an update", &changed?, &true)?;
        }
        Ok(())
    })
}

/// Transactions of one update, all queued at once.
pub(in super::super) fn queued(name: &'static str, settings: &Settings) -> Result<Report> {
    compare(name, settings, settings.objects, |workspace, objects| {
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

/// Compares the same work on two files, of which one gets records.
fn compare(
    name: &'static str,
    settings: &Settings,
    changed: usize,
    work: impl Fn(&Workspace, Vec<BenchDoc>) -> Result<()>,
) -> Result<Report> {
    let mut with = Run::new(settings, Durability::Normal, changed)?;
    let mut without = Run::new(settings, Durability::Normal, changed)?;
    with.sides.record_changes()?;
    let objects = |run: &Run| -> Result<Vec<BenchDoc>> {
        let objects = run.sides.workspace.fetch().limit(changed);
        Ok(objects.all()?.to_vec())
    };
    settings.compare(
        name,
        |probe| {
            let objects = objects(&with)?;
            with.ours(probe, |sides| work(&sides.workspace, objects))
        },
        |probe| {
            let objects = objects(&without)?;
            without.ours(probe, |sides| work(&sides.workspace, objects))
        },
    )
}
