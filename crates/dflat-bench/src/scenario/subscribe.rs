//! Notifying subscribers. The time is from the handler's return to the return of the last callback.
//! The floor is the time to the completion, without subscribers.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use dflat::{
    ChangeRequest, Durability, Fetch, FetchedResult, SubscribedObject, Subscription, Update,
    Workspace,
};

use super::sides::Sides;
use crate::measure::{Probe, Report, Settings};
use crate::workload::{BenchDoc, number};
use crate::{Result, check};

const SUBSCRIPTIONS_MAX: usize = 1000;
const RUNS_MAX: usize = 5;
/// How long a run waits for callbacks that run after the completion.
const CALLS_WAIT_MAX: Duration = Duration::from_secs(60);

/// Subscribes to results of one object each, by its key. All objects are updated.
pub(super) fn results(name: &'static str, settings: &Settings) -> Result<Report> {
    compare(name, settings, |run, tally| {
        let mut subscriptions = Vec::new();
        for i in 0..run.ranges.count {
            let title = BenchDoc::TITLE.eq(format!("title{i}"));
            let known = run.sides.workspace.fetch().filter(title).all()?;
            let tally = Arc::clone(tally);
            let callback = move |found: dflat::Result<Update<FetchedResult<BenchDoc>>>| {
                tally.count(found.is_ok_and(|found| found.len() == 1));
            };
            subscriptions.push(run.sides.workspace.subscribe(&known, callback)?);
        }
        Ok(subscriptions)
    })
}

/// Subscribes to objects. All objects are updated.
pub(super) fn objects(name: &'static str, settings: &Settings) -> Result<Report> {
    compare(name, settings, |run, tally| {
        let mut subscriptions = Vec::new();
        for object in &run
            .sides
            .workspace
            .fetch::<BenchDoc>()
            .limit(run.ranges.count)
            .all()?
        {
            let before = object.priority();
            let tally = Arc::clone(tally);
            let callback = move |event: SubscribedObject<BenchDoc>| {
                tally.count(matches!(
                    event,
                    SubscribedObject::Updated(object) if object.priority() != before
                ));
            };
            subscriptions.push(run.sides.workspace.subscribe(object, callback)?);
        }
        Ok(subscriptions)
    })
}

/// Subscribes to results of a tenth of the objects each. All objects leave each result, and as many
/// others enter.
pub(super) fn ranges(name: &'static str, settings: &Settings) -> Result<Report> {
    compare(name, settings, |run, tally| {
        let mut subscriptions = Vec::new();
        for range in 0..run.ranges.count {
            let known = run.ranges.query(&run.sides.workspace, range).all()?;
            let (tally, width) = (Arc::clone(tally), run.ranges.width);
            let bounds = run.ranges.bounds(range);
            let callback = move |found: dflat::Result<Update<FetchedResult<BenchDoc>>>| {
                tally.count(found.is_ok_and(|found| {
                    let first = found.first().map(BenchDoc::priority);
                    found.len() == width && first.is_some_and(|p| bounds.contains(&p))
                }));
            };
            subscriptions.push(run.sides.workspace.subscribe(&known, callback)?);
        }
        Ok(subscriptions)
    })
}

/// Subscribes to the first 20 objects of such results, in an order of two keys. Every object moves
/// up by one.
pub(super) fn top(name: &'static str, settings: &Settings) -> Result<Report> {
    compare_moved(name, settings, Some(1), |run, tally| {
        let mut subscriptions = Vec::new();
        for range in 0..run.ranges.count {
            let query = run.ranges.query(&run.sides.workspace, range);
            let query = query.order_by(BenchDoc::PRIORITY.descending());
            let query = query.order_by(BenchDoc::TITLE.ascending()).limit(20);
            let (tally, bounds) = (Arc::clone(tally), run.ranges.bounds(range));
            let width = run.ranges.width.min(20);
            let callback = move |found: dflat::Result<Update<FetchedResult<BenchDoc>>>| {
                tally.count(found.is_ok_and(|found| {
                    let first = found.first().map(BenchDoc::priority);
                    found.len() == width && first == Some(bounds.end - 1)
                }));
            };
            let observation = run.sides.workspace.observe(query)?.without_initial();
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

/// Counts of the callbacks of a run, and the time of the last one.
struct Tally {
    start: Instant,
    right: AtomicUsize,
    wrong: AtomicUsize,
    last_ns: AtomicU64,
}

impl Tally {
    fn count(&self, right: bool) {
        let counter = if right { &self.right } else { &self.wrong };
        let ns = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.last_ns.fetch_max(ns, Ordering::Release);
        // Order: the time first, so that a counted call has its time.
        counter.fetch_add(1, Ordering::Release);
    }

    /// Waits until this many callbacks have run, at most [`CALLS_WAIT_MAX`]. On a loaded machine a
    /// completion may give up a callback as slow; the callback then runs after the completion.
    fn wait_for(&self, calls: usize) {
        let end = Instant::now() + CALLS_WAIT_MAX;
        let called =
            || self.right.load(Ordering::Acquire) + self.wrong.load(Ordering::Acquire) >= calls;
        while !called() && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A workspace whose priorities are 0, 1, 2 and so on, in some order.
struct Run {
    sides: Sides,
    ranges: Ranges,
    /// The number of places by which objects move.
    places: usize,
}

fn compare(
    name: &'static str,
    settings: &Settings,
    subscribe: impl Fn(&Run, &Arc<Tally>) -> Result<Vec<Subscription>>,
) -> Result<Report> {
    compare_moved(name, settings, None, subscribe)
}

/// As [`compare`], with objects that move up by `places` places. `None` means the number of
/// objects in a range.
fn compare_moved(
    name: &'static str,
    settings: &Settings,
    places: Option<usize>,
    subscribe: impl Fn(&Run, &Arc<Tally>) -> Result<Vec<Subscription>>,
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
        |probe| ours.measure(probe, &subscribe),
        |probe| floor.measure(probe, |_, _| Ok(Vec::new())),
    )
}

impl Run {
    fn measure(
        &mut self,
        probe: &mut Probe,
        subscribe: impl Fn(&Self, &Arc<Tally>) -> Result<Vec<Subscription>>,
    ) -> Result<Duration> {
        let tally = Arc::new(Tally {
            start: Instant::now(),
            right: AtomicUsize::new(0),
            wrong: AtomicUsize::new(0),
            last_ns: AtomicU64::new(0),
        });
        let subscriptions = subscribe(self, &tally)?;
        // Subscriptions take their turn like transactions. After this transaction they are in
        // place.
        self.sides
            .workspace
            .perform_changes([BenchDoc::TABLE], |_| Ok(()))
            .wait()?;
        self.sides.settle_ours()?;
        let ((returned, completed), _) = probe.time(|| self.rotate())?;
        tally.wait_for(subscriptions.len());
        check(
            "right deliveries",
            &tally.right.load(Ordering::Acquire),
            &subscriptions.len(),
        )?;
        check("wrong deliveries", &tally.wrong.load(Ordering::Acquire), &0)?;
        let end = if subscriptions.is_empty() {
            completed
        } else {
            tally.start + Duration::from_nanos(tally.last_ns.load(Ordering::Acquire))
        };
        Ok(end.duration_since(returned))
    }

    /// Moves every object. Returns the time at which the handler returned, and the time at which
    /// the transaction was complete.
    fn rotate(&self) -> Result<(Instant, Instant)> {
        let (count, places) = (number(self.ranges.objects), number(self.places));
        let (send, completion) = mpsc::channel();
        self.sides
            .workspace
            .perform_changes([BenchDoc::TABLE], move |tx| {
                for object in &tx.fetch::<BenchDoc>().all()? {
                    if let Some(mut request) = ChangeRequest::change(tx, object)? {
                        request.priority = (request.priority + places) % count;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_waits_for_callbacks_that_run_after_the_completion() {
        let tally = Tally {
            start: Instant::now(),
            right: AtomicUsize::new(0),
            wrong: AtomicUsize::new(0),
            last_ns: AtomicU64::new(0),
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                tally.count(true);
            });
            tally.wait_for(1);
            assert_eq!(tally.right.load(Ordering::Acquire), 1);
            assert_ne!(tally.last_ns.load(Ordering::Acquire), 0);
        });
    }
}
