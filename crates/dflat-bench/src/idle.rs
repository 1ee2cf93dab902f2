//! What a subscription takes that nothing is told.

use dflat::{Predicate, Subscription, Workspace};

use crate::scenario::insert_all;
use crate::workload::{BenchDoc, number};
use crate::{Result, allocator};

/// How many subscriptions are made, so many at a time: what the queues that they go through have
/// room for stays, however few there are.
const COUNT: usize = 10_000;
const BATCH: usize = 100;

/// A kind of subscription, by its number among many.
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

/// The bytes of a subscription of each kind, beside those of the objects in its result. Nothing
/// else may go on in this process: the bytes of all threads are counted.
///
/// # Errors
/// If there can't be so many.
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
        // What the first of all takes is not theirs.
        let first = batch(COUNT / BATCH)?;
        let (many, usage) =
            allocator::counted(|| (0..COUNT / BATCH).map(batch).collect::<Result<Vec<_>>>());
        drop((first, many?));
        Ok((*kind, usize::try_from(usage.held_bytes)? / COUNT))
    });
    measured.collect()
}
