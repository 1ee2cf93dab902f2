//! Inserting.

use std::thread;

use dflat::{Durability, Workspace};

use super::sides::{Sides, initial_sum, insert_all};
use crate::Result;
use crate::measure::{Report, Settings};
use crate::workload::{BenchDoc, BenchDocV2, BenchDocV3, BenchDocV4, Doc};

/// Inserts all objects of a table in one transaction.
pub(super) fn one_transaction(name: &'static str, settings: &Settings) -> Result<Report> {
    let count = settings.objects;
    let sum = initial_sum::<BenchDoc>(count);
    settings.compare(
        name,
        |probe| {
            let sides = Sides::empty(settings, Durability::Normal)?;
            let work = || Ok(insert_all::<BenchDoc>(&sides.workspace, count).wait()?);
            let ((), time) = probe.time(work)?;
            sides.check_ours::<BenchDoc>(count, sum)?;
            Ok(time)
        },
        |probe| {
            let mut sides = Sides::empty(settings, Durability::Normal)?;
            let objects = (0..count).map(|i| BenchDoc::data(i, count));
            let ((), time) = probe.time(|| sides.floor.insert::<BenchDoc>(0, objects))?;
            sides.check_floor::<BenchDoc>(0, count, sum)?;
            Ok(time)
        },
    )
}

/// Inserts all objects of four tables, each table with its own thread and transaction. The floor
/// fills one table after the other.
pub(super) fn four_threads(name: &'static str, settings: &Settings) -> Result<Report> {
    fn floor<T: Doc>(sides: &mut Sides, table: usize, count: usize) -> Result<()> {
        let objects = (0..count).map(|i| T::data(i, count));
        sides.floor.insert::<T>(table, objects)
    }
    let count = settings.objects;
    let sum = initial_sum::<BenchDoc>(count);
    settings.compare(
        name,
        |probe| {
            let sides = Sides::empty(settings, Durability::Normal)?;
            let ((), time) = probe.time(|| insert_by_threads(&sides.workspace, count))?;
            sides.check_ours::<BenchDoc>(count, sum)?;
            sides.check_ours::<BenchDocV2>(count, sum)?;
            sides.check_ours::<BenchDocV3>(count, sum)?;
            sides.check_ours::<BenchDocV4>(count, sum)?;
            Ok(time)
        },
        |probe| {
            let mut sides = Sides::empty(settings, Durability::Normal)?;
            let ((), time) = probe.time(|| {
                floor::<BenchDoc>(&mut sides, 0, count)?;
                floor::<BenchDocV2>(&mut sides, 1, count)?;
                floor::<BenchDocV3>(&mut sides, 2, count)?;
                floor::<BenchDocV4>(&mut sides, 3, count)
            })?;
            sides.check_floor::<BenchDoc>(0, count, sum)?;
            sides.check_floor::<BenchDocV4>(3, count, sum)?;
            Ok(time)
        },
    )
}

fn insert_by_threads(workspace: &Workspace, count: usize) -> Result<()> {
    thread::scope(|scope| {
        let threads = [
            scope.spawn(|| insert_all::<BenchDoc>(workspace, count).wait()),
            scope.spawn(|| insert_all::<BenchDocV2>(workspace, count).wait()),
            scope.spawn(|| insert_all::<BenchDocV3>(workspace, count).wait()),
            scope.spawn(|| insert_all::<BenchDocV4>(workspace, count).wait()),
        ];
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })
}
