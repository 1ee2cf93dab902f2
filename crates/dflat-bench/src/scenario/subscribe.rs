//! Notifying subscribers. The time is from the handler's return to the return of the last callback.
//! The floor is the time to the completion, without subscribers.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use dflat::{
    ChangeRequest, Durability, Fetch, FetchedResult, SubscribedObject, Subscription, Update,
    Workspace,
};

use super::sides::Sides;
use super::tally::Tally;
use crate::Result;
use crate::measure::{Probe, Report, Settings};
use crate::workload::{BenchDoc, number};

const SUBSCRIPTIONS_MAX: usize = 1000;
const RUNS_MAX: usize = 5;

/// The subscriptions of a workspace whose callbacks a tally counts.
pub(super) type Subscribe = fn(&Workspace, &Ranges, &Arc<Tally>) -> Result<Vec<Subscription>>;

/// Subscribes to results of one object each, by its key. All objects are updated.
pub(super) fn results(name: &'static str, settings: &Settings) -> Result<Report> {
    compare(name, settings, to_results)
}

/// Subscribes to objects. All objects are updated.
pub(super) fn objects(name: &'static str, settings: &Settings) -> Result<Report> {
    compare(name, settings, to_objects)
}

/// Subscribes to results of a tenth of the objects each. All objects leave each result, and as many
/// others enter.
pub(super) fn ranges(name: &'static str, settings: &Settings) -> Result<Report> {
    compare(name, settings, to_ranges)
}

/// Subscribes to results of one object each, by its key.
pub(super) fn to_results(
    workspace: &Workspace,
    ranges: &Ranges,
    tally: &Arc<Tally>,
) -> Result<Vec<Subscription>> {
    let mut subscriptions = Vec::new();
    for i in 0..ranges.count {
        let title = BenchDoc::TITLE.eq(format!("title{i}"));
        let known = workspace.fetch().filter(title).all()?;
        let tally = Arc::clone(tally);
        let callback = move |found: dflat::Result<Update<FetchedResult<BenchDoc>>>| {
            tally.count(found.is_ok_and(|found| found.len() == 1));
        };
        subscriptions.push(workspace.subscribe(&known, callback)?);
    }
    Ok(subscriptions)
}

/// Subscribes to objects.
pub(super) fn to_objects(
    workspace: &Workspace,
    ranges: &Ranges,
    tally: &Arc<Tally>,
) -> Result<Vec<Subscription>> {
    let mut subscriptions = Vec::new();
    for object in &workspace.fetch::<BenchDoc>().limit(ranges.count).all()? {
        let before = object.priority();
        let tally = Arc::clone(tally);
        let callback = move |event: SubscribedObject<BenchDoc>| {
            tally.count(matches!(
                event,
                SubscribedObject::Updated(object) if object.priority() != before
            ));
        };
        subscriptions.push(workspace.subscribe(object, callback)?);
    }
    Ok(subscriptions)
}

/// Subscribes to results of a tenth of the objects each, which were fetched before.
pub(super) fn to_fetched_ranges(
    workspace: &Workspace,
    ranges: &Ranges,
    fetched: &[FetchedResult<BenchDoc>],
    tally: &Arc<Tally>,
) -> Result<Vec<Subscription>> {
    let mut subscriptions = Vec::new();
    for (range, known) in fetched.iter().enumerate() {
        let (tally, width) = (Arc::clone(tally), ranges.width);
        let bounds = ranges.bounds(range);
        let callback = move |found: dflat::Result<Update<FetchedResult<BenchDoc>>>| {
            tally.count(found.is_ok_and(|found| {
                let first = found.first().map(BenchDoc::priority);
                found.len() == width && first.is_some_and(|p| bounds.contains(&p))
            }));
        };
        subscriptions.push(workspace.subscribe(known, callback)?);
    }
    Ok(subscriptions)
}

fn to_ranges(
    workspace: &Workspace,
    ranges: &Ranges,
    tally: &Arc<Tally>,
) -> Result<Vec<Subscription>> {
    let fetched = ranges.fetch(workspace)?;
    to_fetched_ranges(workspace, ranges, &fetched, tally)
}

/// Subscribes to the first 20 objects of such results, in an order of two keys. Every object moves
/// up by one.
pub(super) fn top(name: &'static str, settings: &Settings) -> Result<Report> {
    compare_moved(name, settings, Some(1), |workspace, ranges, tally| {
        let mut subscriptions = Vec::new();
        for range in 0..ranges.count {
            let query = ranges.query(workspace, range);
            let query = query.order_by(BenchDoc::PRIORITY.descending());
            let query = query.order_by(BenchDoc::TITLE.ascending()).limit(20);
            let (tally, bounds) = (Arc::clone(tally), ranges.bounds(range));
            let width = ranges.width.min(20);
            let callback = move |found: dflat::Result<Update<FetchedResult<BenchDoc>>>| {
                tally.count(found.is_ok_and(|found| {
                    let first = found.first().map(BenchDoc::priority);
                    found.len() == width && first == Some(bounds.end - 1)
                }));
            };
            let observation = workspace.observe(query)?.without_initial();
            subscriptions.push(observation.call(callback)?);
        }
        Ok(subscriptions)
    })
}

/// Makes one change while there are ten live queries by key for each object, none of which the
/// change concerns.
pub(super) fn keys(name: &'static str, settings: &Settings) -> Result<Report> {
    let ours = Sides::filled(settings, Durability::Normal)?;
    let floor = Sides::filled(settings, Durability::Normal)?;
    let mut subscriptions = Vec::new();
    for i in 0..10 * settings.objects {
        let query = ours.workspace.fetch::<BenchDoc>();
        let query = query.filter(BenchDoc::TITLE.eq(format!("another{i}")));
        subscriptions.push(ours.workspace.subscribe(query, |_| ())?);
    }
    ours.workspace.settle()?;
    let change = |sides: &Sides, probe: &mut Probe| {
        let object = sides.workspace.fetch::<BenchDoc>().first()?;
        let object = object.ok_or("there is an object")?;
        let changed = || {
            let changed = sides
                .workspace
                .perform_changes([BenchDoc::TABLE], move |tx| {
                    if let Some(mut request) = ChangeRequest::change(tx, &object)? {
                        request.priority += 1;
                        tx.submit(request)?;
                    }
                    Ok(())
                });
            Ok(changed.wait()?)
        };
        Ok(probe.time(changed)?.1)
    };
    settings.compare(
        name,
        |probe| change(&ours, probe),
        |probe| change(&floor, probe),
    )
}

/// Overlapping ranges of priorities. The priorities are 0, 1, 2 and so on.
pub(super) struct Ranges {
    objects: usize,
    pub(super) count: usize,
    /// The number of objects in each range.
    pub(super) width: usize,
}

impl Ranges {
    pub(super) fn new(objects: usize) -> Self {
        Self {
            objects,
            count: objects.min(SUBSCRIPTIONS_MAX),
            width: (objects / 10).max(1),
        }
    }

    pub(super) fn bounds(&self, range: usize) -> Range<i32> {
        let start = range * (self.objects - self.width) / self.count;
        number(start)..number(start + self.width)
    }

    pub(super) fn query<'w>(&self, workspace: &'w Workspace, range: usize) -> Fetch<'w, BenchDoc> {
        let Range { start, end } = self.bounds(range);
        workspace
            .fetch()
            .filter(BenchDoc::PRIORITY.ge(start) & BenchDoc::PRIORITY.lt(end))
    }

    /// The objects of each range.
    pub(super) fn fetch(&self, workspace: &Workspace) -> Result<Vec<FetchedResult<BenchDoc>>> {
        let fetch = |range| Ok(self.query(workspace, range).all()?);
        (0..self.count).map(fetch).collect()
    }
}

/// Sets the priorities to 0, 1, 2 and so on.
pub(super) fn rank_all(workspace: &Workspace) -> Result<()> {
    let ranked = workspace.perform_changes([BenchDoc::TABLE], |tx| {
        for (i, object) in tx.fetch::<BenchDoc>().all()?.iter().enumerate() {
            if let Some(mut request) = ChangeRequest::change(tx, object)? {
                request.priority = number(i);
                tx.submit(request)?;
            }
        }
        Ok(())
    });
    Ok(ranked.wait()?)
}

/// A workspace whose priorities are 0, 1, 2 and so on, in some order.
struct Run {
    sides: Sides,
    ranges: Ranges,
    /// The number of places by which objects move.
    places: usize,
}

fn compare(name: &'static str, settings: &Settings, subscribe: Subscribe) -> Result<Report> {
    compare_moved(name, settings, None, subscribe)
}

/// As [`compare`], with objects that move up by `places` places. `None` means the number of
/// objects in a range.
fn compare_moved(
    name: &'static str,
    settings: &Settings,
    places: Option<usize>,
    subscribe: Subscribe,
) -> Result<Report> {
    let open = || -> Result<Run> {
        let sides = Sides::filled(settings, Durability::Normal)?;
        rank_all(&sides.workspace)?;
        let ranges = Ranges::new(settings.objects);
        let places = places.unwrap_or(ranges.width);
        Ok(Run {
            sides,
            ranges,
            places,
        })
    };
    let (mut ours, mut floor) = (open()?, open()?);
    settings.with_runs_max(RUNS_MAX).compare(
        name,
        |probe| ours.measure(probe, subscribe),
        |probe| floor.measure(probe, |_, _, _| Ok(Vec::new())),
    )
}

impl Run {
    fn measure(&mut self, probe: &mut Probe, subscribe: Subscribe) -> Result<Duration> {
        let tally = Arc::new(Tally::start());
        let subscriptions = subscribe(&self.sides.workspace, &self.ranges, &tally)?;
        // Subscriptions take their turn like transactions. After this transaction they are in
        // place.
        self.sides
            .workspace
            .perform_changes([BenchDoc::TABLE], |_| Ok(()))
            .wait()?;
        self.sides.settle_ours()?;
        let (count, places) = (number(self.ranges.objects), number(self.places));
        let rotate = || {
            update_all(&self.sides.workspace, move |priority| {
                (priority + places) % count
            })
        };
        let ((returned, completed), _) = probe.time(rotate)?;
        let last = tally.last_of(subscriptions.len())?;
        let end = last.unwrap_or(completed);
        Ok(end.duration_since(returned))
    }
}

/// Changes the priority of every object. Returns the time at which the handler returned, and the
/// time at which the transaction was complete.
pub(super) fn update_all(
    workspace: &Workspace,
    changed: impl Fn(i32) -> i32 + Send + 'static,
) -> Result<(Instant, Instant)> {
    let (send, completion) = mpsc::channel();
    workspace
        .perform_changes([BenchDoc::TABLE], move |tx| {
            for object in &tx.fetch::<BenchDoc>().all()? {
                if let Some(mut request) = ChangeRequest::change(tx, object)? {
                    request.priority = changed(request.priority);
                    tx.submit(request)?;
                }
            }
            Ok(Instant::now())
        })
        .on_completion(move |returned| {
            // The receiver waits, so that sending can't fail.
            let _ = send.send((returned, Instant::now()));
        });
    let (returned, completed) = completion.recv()?;
    Ok((returned?, completed))
}
