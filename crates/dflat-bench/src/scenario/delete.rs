//! Deleting objects that were fetched before.

use std::thread;

use dflat::{ChangeRequest, Durability, FetchedResult, Workspace};

use super::sides::Sides;
use crate::Result;
use crate::measure::{Report, Settings};
use crate::workload::{BenchDoc, BenchDocV2, BenchDocV3, BenchDocV4, Doc};

/// Deletes all objects of a table in one transaction.
pub(super) fn one_transaction(name: &'static str, settings: &Settings) -> Result<Report> {
    settings.compare(
        name,
        |probe| {
            let sides = Sides::filled(settings, Durability::Normal)?;
            // The objects are dropped outside the measured time, as the floor's row ids are.
            let objects = sides.workspace.fetch::<BenchDoc>().all()?;
            let ((), time) = probe.time(|| delete_all(&sides.workspace, objects.clone()))?;
            sides.check_ours::<BenchDoc>(0, 0)?;
            Ok(time)
        },
        |probe| {
            let mut sides = Sides::filled(settings, Durability::Normal)?;
            let row_ids = sides.row_ids_of_floor(0)?;
            let ((), time) = probe.time(|| sides.floor.delete(0, &row_ids))?;
            sides.check_floor::<BenchDoc>(0, 0, 0)?;
            Ok(time)
        },
    )
}

/// Deletes all objects of four tables, each table with its own thread and transaction. The floor
/// deletes one table after the other.
pub(super) fn four_threads(name: &'static str, settings: &Settings) -> Result<Report> {
    settings.compare(
        name,
        |probe| {
            let sides = four_tables(settings)?;
            let workspace = &sides.workspace;
            let objects = (
                workspace.fetch::<BenchDoc>().all()?,
                workspace.fetch::<BenchDocV2>().all()?,
                workspace.fetch::<BenchDocV3>().all()?,
                workspace.fetch::<BenchDocV4>().all()?,
            );
            let work = || {
                thread::scope(|scope| {
                    let threads = [
                        scope.spawn(|| delete_all(workspace, objects.0.clone())),
                        scope.spawn(|| delete_all(workspace, objects.1.clone())),
                        scope.spawn(|| delete_all(workspace, objects.2.clone())),
                        scope.spawn(|| delete_all(workspace, objects.3.clone())),
                    ];
                    for thread in threads {
                        thread.join().map_err(|_| "a thread panicked")??;
                    }
                    Ok(())
                })
            };
            let ((), time) = probe.time(work)?;
            sides.check_ours::<BenchDoc>(0, 0)?;
            sides.check_ours::<BenchDocV4>(0, 0)?;
            Ok(time)
        },
        |probe| {
            let mut sides = four_tables(settings)?;
            let row_ids = (0..4)
                .map(|table| sides.row_ids_of_floor(table))
                .collect::<Result<Vec<_>>>()?;
            let ((), time) = probe.time(|| {
                for (table, row_ids) in row_ids.iter().enumerate() {
                    sides.floor.delete(table, row_ids)?;
                }
                Ok(())
            })?;
            sides.check_floor::<BenchDoc>(0, 0, 0)?;
            sides.check_floor::<BenchDocV4>(3, 0, 0)?;
            Ok(time)
        },
    )
}

fn four_tables(settings: &Settings) -> Result<Sides> {
    let mut sides = Sides::filled(settings, Durability::Normal)?;
    sides.fill::<BenchDocV2>(settings.objects, 1)?;
    sides.fill::<BenchDocV3>(settings.objects, 2)?;
    sides.fill::<BenchDocV4>(settings.objects, 3)?;
    Ok(sides)
}

fn delete_all<T: Doc>(workspace: &Workspace, objects: FetchedResult<T>) -> Result<()> {
    let transaction = workspace.perform_changes([T::TABLE], move |tx| {
        for object in &objects {
            if let Some(request) = ChangeRequest::deletion(tx, object)? {
                tx.submit(request)?;
            }
        }
        Ok(())
    });
    Ok(transaction.wait()?)
}
