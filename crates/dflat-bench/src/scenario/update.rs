//! Updating.

use std::time::Duration;

use dflat::{ChangeRequest, Durability, TransactionContext, UpdatedObject};

use super::sides::{Sides, initial_sum};
use crate::measure::{Probe, Report, Settings};
use crate::workload::{BenchDoc, BenchDocData, Doc};
use crate::{Result, check};

/// The maximum number of runs if each run waits for the device once per object.
const FULL_RUNS_MAX: usize = 9;

/// Fetches all objects, and changes and writes each of them, in one transaction.
pub(super) fn one_transaction(name: &'static str, settings: &Settings) -> Result<Report> {
    let mut ours = Run::new(settings, Durability::Normal, settings.objects)?;
    let mut floor = Run::new(settings, Durability::Normal, settings.objects)?;
    settings.compare(
        name,
        |probe| ours.ours(probe, ours_in_one),
        |probe| floor.floor(probe, |sides| sides.floor.update_all::<BenchDoc>(0, raise)),
    )
}

/// Changes each object in a separate transaction. All transactions are queued at once.
pub(super) fn individual(name: &'static str, settings: &Settings) -> Result<Report> {
    each(name, settings, Durability::Normal)
}

/// Does the same with commits that survive a loss of power.
pub(super) fn individual_full(name: &'static str, settings: &Settings) -> Result<Report> {
    each(
        name,
        &settings.with_runs_max(FULL_RUNS_MAX),
        Durability::Full,
    )
}

fn each(name: &'static str, settings: &Settings, durability: Durability) -> Result<Report> {
    let mut ours = Run::new(settings, durability, settings.objects)?;
    let mut floor = Run::new(settings, durability, settings.objects)?;
    settings.compare(
        name,
        |probe| {
            let objects: Vec<BenchDoc> = ours.sides.workspace.fetch().all()?.to_vec();
            ours.ours(probe, |sides| ours_each(sides, objects))
        },
        |probe| {
            let mut objects = floor.sides.floor.fetch_owned::<BenchDoc>(0, |_| true)?;
            let update =
                |sides: &mut Sides| sides.floor.update_each::<BenchDoc>(0, &mut objects, raise);
            floor.floor(probe, update)
        },
    )
}

/// Both sides, one of which is changed repeatedly, and the expected sum of the priorities.
pub(super) struct Run {
    pub(super) sides: Sides,
    count: usize,
    /// The number of objects that each run changes.
    changed: usize,
    sum: i64,
}

impl Run {
    pub(super) fn new(settings: &Settings, durability: Durability, changed: usize) -> Result<Self> {
        Ok(Self {
            sides: Sides::filled(settings, durability)?,
            count: settings.objects,
            changed,
            sum: initial_sum::<BenchDoc>(settings.objects),
        })
    }

    pub(super) fn ours(
        &mut self,
        probe: &mut Probe,
        work: impl FnOnce(&Sides) -> Result<()>,
    ) -> Result<Duration> {
        self.sides.settle_ours()?;
        let ((), time) = probe.time(|| work(&self.sides))?;
        self.sum += i64::try_from(self.changed)?;
        self.sides.check_ours::<BenchDoc>(self.count, self.sum)?;
        Ok(time)
    }

    pub(super) fn floor(
        &mut self,
        probe: &mut Probe,
        work: impl FnOnce(&mut Sides) -> Result<()>,
    ) -> Result<Duration> {
        self.sides.settle_floor()?;
        let ((), time) = probe.time(|| work(&mut self.sides))?;
        self.sum += i64::try_from(self.changed)?;
        self.sides
            .check_floor::<BenchDoc>(0, self.count, self.sum)?;
        Ok(time)
    }
}

pub(super) fn raise(data: &mut BenchDocData) {
    data.priority += 1;
}

fn ours_in_one(sides: &Sides) -> Result<()> {
    let transaction = sides.workspace.perform_changes([BenchDoc::TABLE], |tx| {
        for object in &tx.fetch::<BenchDoc>().all()? {
            update(tx, object)?;
        }
        Ok(())
    });
    Ok(transaction.wait()?)
}

fn ours_each(sides: &Sides, objects: Vec<BenchDoc>) -> Result<()> {
    let queue = |object: BenchDoc| {
        sides
            .workspace
            .perform_changes([BenchDoc::TABLE], move |tx| update(tx, &object))
    };
    let handles: Vec<_> = objects.into_iter().map(queue).collect();
    for handle in handles {
        check("an update", &handle.wait()?, &true)?;
    }
    Ok(())
}

/// Raises the priority of an object. Returns false if the object was deleted.
pub(super) fn update<T: Doc>(tx: &TransactionContext, object: &T) -> dflat::Result<bool> {
    let Some(mut request) = ChangeRequest::change(tx, object)? else {
        return Ok(false);
    };
    *T::priority_of(&mut request) += 1;
    Ok(matches!(tx.submit(request)?, UpdatedObject::Updated(_)))
}
