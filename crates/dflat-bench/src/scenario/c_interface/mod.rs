//! The C interface beside the typed interface of Rust, which is the floor here: both do the same
//! work, on files with the same objects.

mod calls;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Instant;

use dflat::{
    ChangeRequest, Durability, Fetch, FetchedResult, Subscription, TransactionContext, Update,
    Workspace,
};
use dflat_engine::object::TableView;

use self::calls::{Opened, View};
use super::fetch::priority;
use super::sides::{Sides, initial_sum};
use super::update::update;
use crate::measure::{Report, Settings};
use crate::workload::{BenchDoc, BenchDocData, Doc, titles};
use crate::{Result, check};

/// The number of live queries, each of so many objects, and the most commits that they follow.
const LIVE: usize = 100;
const FOLLOWED: usize = 20;
const COMMITS_MAX: usize = 1000;

/// A file with a table, as a program in C has it: no other workspace of this process has it open.
fn in_c(sides: &Sides) -> Result<Opened> {
    sides.workspace.shutdown()?;
    Opened::new(&sides.ours_path, BenchDoc::TABLE_NAME)
}

/// Opens the file of this library anew by the typed interface.
fn in_rust(sides: &mut Sides) -> Result<()> {
    sides.workspace.shutdown()?;
    sides.workspace = Workspace::open(&sides.ours_path)?;
    Ok(())
}

/// A file with all objects for each side, as a program in C and one in Rust have it. The file of
/// the program in C is in the folder of the last value.
fn filled(settings: &Settings) -> Result<(Opened, Sides, Sides)> {
    let ours = Sides::filled(settings, Durability::Normal)?;
    let mut floor = Sides::filled(settings, Durability::Normal)?;
    in_rust(&mut floor)?;
    Ok((in_c(&ours)?, floor, ours))
}

/// The priority in a payload, read in place.
fn priority_of(payload: &[u8]) -> i64 {
    priority(&TableView::root(payload).unwrap_or_default()).into()
}

/// Fetches all objects as views, reads a field of each in place, and releases them.
pub(in crate::scenario) fn fetch(name: &'static str, settings: &Settings) -> Result<Report> {
    let (opened, sides, _files) = filled(settings)?;
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
    let (opened, sides, _files) = filled(settings)?;
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

/// Inserts all objects in one transaction. Both sides encode the same values with the same code, in
/// handlers on the thread of the caller.
pub(in crate::scenario) fn insert(name: &'static str, settings: &Settings) -> Result<Report> {
    let count = settings.objects;
    let sum = initial_sum::<BenchDoc>(count);
    let values = || (0..count).map(|i| BenchDoc::data(i, count)).collect();
    settings.compare(
        name,
        |probe| {
            let mut sides = Sides::empty(settings, Durability::Normal)?;
            let opened = in_c(&sides)?;
            let values: Vec<BenchDocData> = values();
            let ((), time) = probe.time(|| opened.insert(values))?;
            drop(opened);
            in_rust(&mut sides)?;
            sides.check_ours::<BenchDoc>(count, sum)?;
            Ok(time)
        },
        |probe| {
            let mut sides = Sides::empty(settings, Durability::Normal)?;
            in_rust(&mut sides)?;
            let values: Vec<BenchDocData> = values();
            let work = || -> Result<()> {
                let insert = |tx: &TransactionContext| {
                    for data in values {
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

/// The objects that callbacks were called with, and the sum of their priorities.
#[derive(Default)]
struct Seen {
    objects: AtomicUsize,
    priorities: AtomicI64,
}

impl Seen {
    fn add(&self, objects: usize, priorities: i64) {
        self.objects.fetch_add(objects, Ordering::Relaxed);
        self.priorities.fetch_add(priorities, Ordering::Relaxed);
    }

    /// The number of objects and the sum since the last call.
    fn take(&self) -> (usize, i64) {
        let objects = self.objects.swap(0, Ordering::Relaxed);
        (objects, self.priorities.swap(0, Ordering::Relaxed))
    }
}

/// The first objects of a workspace, which the live queries follow.
fn first(workspace: &Workspace) -> Fetch<'_, BenchDoc> {
    workspace.fetch::<BenchDoc>().limit(FOLLOWED)
}

/// Live queries with callbacks in Rust, which read a field of each object.
fn follow_in_rust(workspace: &Workspace, seen: &Arc<Seen>) -> Result<Vec<Subscription>> {
    let follow = |_| {
        let seen = Arc::clone(seen);
        let callback = move |update: dflat::Result<Update<FetchedResult<BenchDoc>>>| {
            if let Ok(update) = update {
                let priorities = update.iter().map(|object| i64::from(object.priority()));
                seen.add(update.len(), priorities.sum());
            }
        };
        let observed = workspace.observe(first(workspace))?;
        Ok(observed.without_initial().call(callback)?)
    };
    (0..LIVE).map(follow).collect()
}

/// Changes an object once in each of many commits, which live queries follow whose callbacks read a
/// field of each object. Both sides commit by the typed interface: the difference is that of the
/// subscribers.
pub(in crate::scenario) fn delivery(name: &'static str, settings: &Settings) -> Result<Report> {
    let ours = Sides::filled(settings, Durability::Normal)?;
    let floor = Sides::filled(settings, Durability::Normal)?;
    let opened = Opened::new(&ours.ours_path, BenchDoc::TABLE_NAME)?;
    let (of_ours, of_floor) = (Seen::default(), Arc::new(Seen::default()));
    let seen = |views: &[View]| {
        let priorities = views.iter().map(|view| priority_of(view.payload()));
        of_ours.add(views.len(), priorities.sum());
    };
    let follow = |_| opened.follow(FOLLOWED as u64, &seen);
    let followed: Vec<_> = (0..LIVE).map(follow).collect::<Result<_>>()?;
    let subscriptions = follow_in_rust(&floor.workspace, &of_floor)?;
    let commits = settings.objects.min(COMMITS_MAX);
    let side = |workspace: &Workspace, seen: &Seen| {
        workspace.settle()?;
        seen.take();
        let before = first(workspace).all()?;
        let mut sum: i64 = before.iter().map(|o| i64::from(o.priority())).sum();
        let mut expected = (0, 0);
        for _ in 0..commits {
            sum += 1;
            expected = (
                expected.0 + LIVE * before.len(),
                expected.1 + LIVE as i64 * sum,
            );
        }
        let start = Instant::now();
        for _ in 0..commits {
            raise(workspace)?;
        }
        let time = start.elapsed();
        check("objects of the deliveries", &seen.take(), &expected)?;
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
