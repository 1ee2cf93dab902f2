//! The memory of an idle subscription, one that gets no deliveries.

use dflat::{Predicate, Subscription, Workspace};

use crate::scenario::insert_all;
use crate::workload::{BenchDoc, number};
use crate::{Result, allocator};

/// The number of subscriptions, which are made in batches: the queues that subscriptions pass
/// through keep their capacity, however few subscriptions wait in them.
const COUNT: usize = 10_000;
const BATCH: usize = 100;

/// Makes a subscription of one kind, given its number among many.
type Subscribe = fn(&Workspace, usize) -> Result<Subscription>;

/// The kinds of subscriptions.
const KINDS: [(&str, Subscribe); 7] = [
    ("object", |workspace, _| {
        let object = workspace.get::<BenchDoc>("title0")?;
        let object = object.ok_or("there is an object")?;
        Ok(workspace.subscribe(&object, |_| ())?)
    }),
    ("number", |workspace, i| {
        let query = workspace.fetch().filter(BenchDoc::PRIORITY.eq(number(i)));
        Ok(workspace.subscribe(query, |_| ())?)
    }),
    ("text", |workspace, i| {
        let query = workspace.fetch().filter(of_title(i));
        Ok(workspace.subscribe(query, |_| ())?)
    }),
    ("count", |workspace, i| {
        let count = workspace.fetch().filter(of_title(i)).live_count();
        Ok(workspace.observe(count)?.call(|_| ())?)
    }),
    ("projection", |workspace, i| {
        let query = workspace.fetch().filter(of_title(i));
        let priorities = query.live_select(BenchDoc::PRIORITY);
        Ok(workspace.observe(priorities)?.call(|_| ())?)
    }),
    ("range", |workspace, i| {
        let query = workspace.fetch().filter(in_range(i));
        Ok(workspace.subscribe(query, |_| ())?)
    }),
    ("top", |workspace, i| {
        let query = workspace.fetch().filter(in_range(i));
        let top = query.order_by(BenchDoc::PRIORITY.descending()).limit(20);
        Ok(workspace.subscribe(top, |_| ())?)
    }),
];

fn of_title(i: usize) -> Predicate<BenchDoc> {
    BenchDoc::TITLE.eq(format!("another{i}"))
}

fn in_range(i: usize) -> Predicate<BenchDoc> {
    BenchDoc::PRIORITY.ge(number(i)) & BenchDoc::PRIORITY.lt(number(i + 5))
}

/// The bytes of a subscription of each kind, without those of the objects in its result. This
/// process must do nothing else meanwhile, because the bytes of all threads are counted.
///
/// # Errors
/// If a subscription can't be made.
pub fn measure() -> Result<Vec<(&'static str, usize)>> {
    let measured = KINDS.iter().map(|(kind, subscribe)| {
        let workspace = Workspace::in_memory();
        insert_all::<BenchDoc>(&workspace, 1).wait()?;
        let batch = |batch: usize| -> Result<Vec<Subscription>> {
            let some = (batch * BATCH..(batch + 1) * BATCH).map(|i| subscribe(&workspace, i));
            let some = some.collect();
            workspace.settle()?;
            some
        };
        // Memory that only the first subscriptions of a workspace take is not counted.
        let first = batch(COUNT / BATCH)?;
        let (many, usage) =
            allocator::counted(|| (0..COUNT / BATCH).map(batch).collect::<Result<Vec<_>>>());
        drop((first, many?));
        Ok((*kind, usize::try_from(usage.held_bytes)? / COUNT))
    });
    measured.collect()
}
