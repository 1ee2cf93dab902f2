//! The C interface beside the typed interface of Rust, which is the floor here: both do the same
//! work, on files with the same objects.

mod calls;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use dflat::{ChangeRequest, Durability, FetchedResult, TransactionContext, Update, Workspace};
use dflat_engine::object::TableView;

use self::calls::Opened;
use super::fetch::priority;
use super::sides::{Sides, initial_sum};
use super::update::update;
use crate::measure::{Report, Settings};
use crate::workload::{BenchDoc, Doc, titles};
use crate::{Result, check};

/// The number of live queries, each of so many objects, and the most commits that they follow.
const LIVE: usize = 100;
const FOLLOWED: usize = 20;
const COMMITS_MAX: usize = 1000;

/// A file with all objects, and the same file as a program in C has it.
fn filled(settings: &Settings) -> Result<(Opened, Sides)> {
    let sides = Sides::filled(settings, Durability::Normal)?;
    let opened = Opened::new(&sides.ours_path, BenchDoc::TABLE_NAME)?;
    Ok((opened, sides))
}

/// The priority in a payload, read in place.
fn priority_of(payload: &[u8]) -> i64 {
    priority(&TableView::root(payload).unwrap_or_default()).into()
}

/// Fetches all objects as views, reads a field of each in place, and releases them.
pub(in crate::scenario) fn fetch(name: &'static str, settings: &Settings) -> Result<Report> {
    let (opened, sides) = filled(settings)?;
    let sum = initial_sum::<BenchDoc>(settings.objects);
    settings.compare(
        name,
        |probe| {
            let mut is = 0;
            let ((), time) = probe.time(|| opened.fetch(|payload| is += priority_of(payload)))?;
            check("sum", &is, &sum)?;
            Ok(time)
        },
        |probe| {
            let (is, time) = probe.time(|| {
                let objects = sides.workspace.fetch::<BenchDoc>().all()?;
                Ok(objects.iter().map(|o| i64::from(o.priority())).sum::<i64>())
            })?;
            check("sum", &is, &sum)?;
            Ok(time)
        },
    )
}

/// Gets each object by its key, reads a field in place, and releases it.
pub(in crate::scenario) fn get(name: &'static str, settings: &Settings) -> Result<Report> {
    let (opened, sides) = filled(settings)?;
    let titles = titles(settings.objects);
    let sum = initial_sum::<BenchDoc>(settings.objects);
    settings.compare(
        name,
        |probe| {
            let (is, time) = probe.time(|| {
                titles
                    .iter()
                    .try_fold(0, |sum, title| Ok(sum + opened.get(title, priority_of)?))
            })?;
            check("sum", &is, &sum)?;
            Ok(time)
        },
        |probe| {
            let (is, time) = probe.time(|| {
                titles.iter().try_fold(0, |sum, title| {
                    let found = sides.workspace.get::<BenchDoc>(title)?;
                    let object = found.ok_or("the object is missing")?;
                    Ok(sum + i64::from(object.priority()))
                })
            })?;
            check("sum", &is, &sum)?;
            Ok(time)
        },
    )
}

/// Inserts all objects in one transaction: payloads, beside values that the Rust side encodes.
pub(in crate::scenario) fn insert(name: &'static str, settings: &Settings) -> Result<Report> {
    let count = settings.objects;
    let sum = initial_sum::<BenchDoc>(count);
    let mut payloads = Vec::with_capacity(count);
    filled(settings)?
        .0
        .fetch(|payload| payloads.push(payload.to_vec()))?;
    settings.compare(
        name,
        |probe| {
            let sides = Sides::empty(settings, Durability::Normal)?;
            let opened = Opened::new(&sides.ours_path, BenchDoc::TABLE_NAME)?;
            let ((), time) = probe.time(|| opened.insert(&payloads))?;
            sides.check_ours::<BenchDoc>(count, sum)?;
            Ok(time)
        },
        |probe| {
            let sides = Sides::empty(settings, Durability::Normal)?;
            let data: Vec<_> = (0..count).map(|i| BenchDoc::data(i, count)).collect();
            let work = || -> Result<()> {
                let insert = |tx: &TransactionContext| {
                    for data in data {
                        tx.submit(ChangeRequest::<BenchDoc>::creation(data))?;
                    }
                    Ok(())
                };
                Ok(sides
                    .workspace
                    .perform_changes_blocking([BenchDoc::TABLE], insert)?)
            };
            let ((), time) = probe.time(work)?;
            sides.check_ours::<BenchDoc>(count, sum)?;
            Ok(time)
        },
    )
}

/// Changes an object once in each of many commits, which live queries follow. Both sides commit by
/// the typed interface: the difference is that of the subscribers.
pub(in crate::scenario) fn delivery(name: &'static str, settings: &Settings) -> Result<Report> {
    let (opened, ours) = filled(settings)?;
    let floor = Sides::filled(settings, Durability::Normal)?;
    let commits = settings.objects.min(COMMITS_MAX);
    let expected = commits * LIVE * FOLLOWED.min(settings.objects);
    let (of_ours, of_floor) = (
        AtomicUsize::new(0),
        std::sync::Arc::new(AtomicUsize::new(0)),
    );
    let seen = |count: usize| {
        of_ours.fetch_add(count, Ordering::Relaxed);
    };
    let follow = |_| opened.follow(FOLLOWED as u64, &seen);
    let followed: Vec<_> = (0..LIVE).map(follow).collect::<Result<_>>()?;
    let follow = |_| {
        let query = floor.workspace.fetch::<BenchDoc>().limit(FOLLOWED);
        let of_floor = std::sync::Arc::clone(&of_floor);
        let callback = move |update: dflat::Result<Update<FetchedResult<BenchDoc>>>| {
            let count = update.map_or(0, |update| update.len());
            of_floor.fetch_add(count, Ordering::Relaxed);
        };
        Ok(floor
            .workspace
            .observe(query)?
            .without_initial()
            .call(callback)?)
    };
    let subscriptions: Vec<_> = (0..LIVE).map(follow).collect::<Result<_>>()?;
    let side = |workspace: &Workspace, seen: &AtomicUsize| {
        workspace.settle()?;
        seen.store(0, Ordering::Relaxed);
        let start = Instant::now();
        for _ in 0..commits {
            raise(workspace)?;
        }
        let time = start.elapsed();
        check(
            "objects of the deliveries",
            &seen.load(Ordering::Relaxed),
            &expected,
        )?;
        Ok(time)
    };
    let report = settings.compare(
        name,
        |_| side(&ours.workspace, &of_ours),
        |_| side(&floor.workspace, &of_floor),
    );
    drop((followed, subscriptions));
    report
}

/// Raises the priority of the first object, and waits for the deliveries.
fn raise(workspace: &Workspace) -> Result<()> {
    let object = workspace.get::<BenchDoc>("title0")?;
    let object = object.ok_or("the object is missing")?;
    let raise = |tx: &TransactionContext| update(tx, &object).map(|_| ());
    Ok(workspace.perform_changes_blocking([BenchDoc::TABLE], raise)?)
}
