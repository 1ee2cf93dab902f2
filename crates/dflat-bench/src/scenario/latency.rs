//! Latencies: the time of each of many commits, and the time until the last subscriber is notified.

mod process;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use dflat::{ChangeRequest, Durability, Subscription, Workspace};

use super::sides::Sides;
use super::subscribe::{Ranges, rank_all};
use crate::measure::{Report, Settings};
use crate::workload::{BenchDoc, BenchDocV2, Doc};
use crate::{Result, check};

pub(super) use process::latency as process;
pub(super) use process::serve;

/// The maximum number of transactions that a writer at full speed queues.
const QUEUED_MAX: usize = 256;

/// The maximum number of runs, because each run gives the times of many transactions.
const RUNS_MAX: usize = 3;

/// Makes transactions one at a time, and waits for the commit of each. The floor makes commits.
pub(super) fn commit(name: &'static str, settings: &Settings) -> Result<Report> {
    let ours = Sides::filled(settings, Durability::Normal)?;
    let mut floor = Sides::filled(settings, Durability::Normal)?;
    settings.with_runs_max(RUNS_MAX).compare_each(
        name,
        || each_commit(&ours.workspace),
        || {
            let mut objects = floor.floor.fetch_owned::<BenchDoc>(0, |_| true)?;
            let raise = |data: &mut _| *BenchDoc::priority_of(data) += 1;
            let commit = |object| {
                let start = Instant::now();
                let one = std::slice::from_mut(object);
                floor.floor.update_each::<BenchDoc>(0, one, raise)?;
                Ok(start.elapsed())
            };
            objects.iter_mut().map(commit).collect()
        },
    )
}

/// Makes the same transactions while another thread writes to another table at full speed. The
/// floor has no such thread.
pub(super) fn commit_loaded(name: &'static str, settings: &Settings) -> Result<Report> {
    let open = || -> Result<Sides> {
        let mut sides = Sides::filled(settings, Durability::Normal)?;
        sides.fill::<BenchDocV2>(settings.objects, 1)?;
        Ok(sides)
    };
    let (ours, floor) = (open()?, open()?);
    settings.with_runs_max(RUNS_MAX).compare_each(
        name,
        || {
            let stopped = AtomicBool::new(false);
            thread::scope(|scope| {
                let load = scope.spawn(|| {
                    let go_on = || !stopped.load(Ordering::Acquire);
                    write::<BenchDocV2>(&ours.workspace, go_on, |_| ())
                });
                let times = each_commit(&ours.workspace);
                stopped.store(true, Ordering::Release);
                let written = load.join().map_err(|_| "the writer has panicked")?;
                check("a writer at full speed", &(written? > 0), &true)?;
                times
            })
        },
        || each_commit(&floor.workspace),
    )
}

/// Runs a writer at full speed beside a thousand live queries of 20 objects in an order. Measures
/// the time from each handler's return to the return of the last callback that the transaction
/// causes. The floor measures the time to the completion, without subscribers.
pub(super) fn delivery(name: &'static str, settings: &Settings) -> Result<Report> {
    let open = || -> Result<Sides> {
        let sides = Sides::filled(settings, Durability::Normal)?;
        rank_all(&sides.workspace)?;
        Ok(sides)
    };
    let (ours, floor) = (open()?, open()?);
    let start = Instant::now();
    // The time at which the last callback since the previous completion returned; 0 if there was
    // none.
    let last_ns = Arc::new(AtomicU64::new(0));
    let subscriptions = subscribe(&ours.workspace, settings, start, &last_ns)?;
    let report = settings.with_runs_max(RUNS_MAX).compare_each(
        name,
        || {
            deliveries(&ours.workspace, settings, start, {
                let last_ns = Arc::clone(&last_ns);
                move || Some(last_ns.swap(0, Ordering::AcqRel)).filter(|ns| *ns > 0)
            })
        },
        || {
            deliveries(&floor.workspace, settings, start, move || {
                Some(ns_since(start))
            })
        },
    );
    drop(subscriptions);
    report
}

fn ns_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn subscribe(
    workspace: &Workspace,
    settings: &Settings,
    start: Instant,
    last_ns: &Arc<AtomicU64>,
) -> Result<Vec<Subscription>> {
    let ranges = Ranges::new(settings.objects);
    let subscribe = |range| {
        let query = ranges.query(workspace, range);
        let query = query.order_by(BenchDoc::PRIORITY.descending()).limit(20);
        let last_ns = Arc::clone(last_ns);
        let callback = move |_| {
            last_ns.fetch_max(ns_since(start), Ordering::AcqRel);
        };
        let observation = workspace.observe(query)?.without_initial();
        Ok(observation.call(callback)?)
    };
    (0..ranges.count).map(subscribe).collect()
}

/// The times from each handler's return to the transaction's `end`. The completion calls `end`; a
/// transaction for which it returns `None` is not counted.
fn deliveries(
    workspace: &Workspace,
    settings: &Settings,
    start: Instant,
    end: impl Fn() -> Option<u64> + Clone + Send + 'static,
) -> Result<Vec<Duration>> {
    workspace.settle()?;
    let times: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let noted = Arc::clone(&times);
    let mut left = settings.objects;
    let go_on = || {
        left -= usize::from(left > 0);
        left > 0
    };
    write::<BenchDoc>(workspace, go_on, move |returned| {
        let returned = returned.saturating_duration_since(start);
        if let Some(end) = end() {
            let time = Duration::from_nanos(end).saturating_sub(returned);
            noted
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(time);
        }
    })?;
    workspace.settle()?;
    let times = std::mem::take(&mut *times.lock().unwrap_or_else(PoisonError::into_inner));
    check("an object was delivered", &times.is_empty(), &false)?;
    Ok(times)
}

/// Changes one object after the other, and waits for the transaction of each.
fn each_commit(workspace: &Workspace) -> Result<Vec<Duration>> {
    let objects = workspace.fetch::<BenchDoc>().all()?;
    let commit = |object: &BenchDoc| {
        let object = object.clone();
        let start = Instant::now();
        let changed = workspace.perform_changes([BenchDoc::TABLE], move |tx| {
            let request = ChangeRequest::change(tx, &object)?;
            let Some(mut request) = request else {
                return Ok(false);
            };
            request.priority += 1;
            tx.submit(request).map(|_| true)
        });
        check("an update", &changed.wait()?, &true)?;
        Ok(start.elapsed())
    };
    objects.iter().map(commit).collect()
}

/// Changes one object after the other, each in a separate transaction, as fast as transactions are
/// committed. Returns the number of transactions. Each completion calls `completed` with the time
/// at which the handler returned.
fn write<T: Doc>(
    workspace: &Workspace,
    mut go_on: impl FnMut() -> bool,
    completed: impl Fn(Instant) + Clone + Send + 'static,
) -> Result<usize> {
    let objects = workspace.fetch::<T>().all()?;
    let (queue, done) = mpsc::sync_channel(QUEUED_MAX);
    let done = Arc::new(Mutex::new(done));
    let mut count = 0;
    for object in objects.iter().cycle() {
        if !go_on() {
            break;
        }
        let object = object.clone();
        queue.send(())?;
        let (done, completed) = (Arc::clone(&done), completed.clone());
        let changing = workspace.perform_changes([T::TABLE], move |tx| {
            if let Some(mut request) = ChangeRequest::change(tx, &object)? {
                *T::priority_of(&mut request) += 1;
                tx.submit(request)?;
            }
            Ok(Instant::now())
        });
        changing.on_completion(move |returned| {
            if let Ok(returned) = returned {
                completed(returned);
            }
            // One message was sent for each transaction, so that `recv` does not wait.
            let _ = done.lock().unwrap_or_else(PoisonError::into_inner).recv();
        });
        count += 1;
    }
    workspace.settle()?;
    Ok(count)
}
