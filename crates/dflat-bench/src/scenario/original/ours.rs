//! The program by the public interface.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use dflat::{ChangeRequest, Durability, FetchedResult, Subscription, Workspace};
use tempfile::TempDir;

use super::{FILL_TIMES, Step, Timed, time};
use crate::measure::{Probe, Settings};
use crate::scenario::sides::insert_all;
use crate::scenario::subscribe::{
    Ranges, rank_all, to_fetched_ranges, to_objects, to_results, update_all,
};
use crate::scenario::tally::Tally;
use crate::scenario::update::update;
use crate::workload::{
    BenchDoc, BenchDocV2, BenchDocV3, BenchDocV4, Doc, number, selected_count, threshold, titles,
};
use crate::{Result, check};

/// A workspace on a new file.
pub struct Ours {
    workspace: Workspace,
    /// The path of the file.
    pub path: PathBuf,
    count: usize,
    ranges: Ranges,
    fetched: Vec<FetchedResult<BenchDoc>>,
    // Order: the directory is removed after the workspace is closed.
    _scratch: TempDir,
}

impl Ours {
    /// Opens a new file.
    ///
    /// # Errors
    /// If it can't be opened.
    pub fn new(settings: &Settings) -> Result<Self> {
        let scratch = settings.scratch()?;
        let path = scratch.path().join("ours.db");
        Ok(Self {
            workspace: Workspace::builder(&path)
                .durability(Durability::Normal)
                .open()?,
            path,
            count: settings.objects,
            ranges: Ranges::new(settings.objects),
            fetched: Vec::new(),
            _scratch: scratch,
        })
    }

    /// Makes the next step, and returns its time.
    ///
    /// # Errors
    /// If the step fails or has a wrong result.
    pub fn run(&mut self, step: Step, probe: &mut Probe) -> Result<Duration> {
        let (workspace, count) = (&self.workspace, self.count);
        match step {
            Step::Fill => insert(workspace, FILL_TIMES * count, probe),
            Step::Insert | Step::InsertLater => insert(workspace, count, probe),
            Step::Empty | Step::Delete => time(probe, || delete_all::<BenchDoc>(workspace)),
            Step::Scan | Step::ScanAgain => scan(workspace, count, probe),
            Step::Update => time(probe, || update_all(workspace, |priority| priority + 1)),
            Step::UpdateEach => update_each(workspace, count, probe),
            Step::FetchByKey => fetch_by_key(workspace, count, probe),
            Step::InsertThreads => time(probe, || {
                in_threads([
                    &|| Ok(insert_all::<BenchDoc>(workspace, count).wait()?),
                    &|| Ok(insert_all::<BenchDocV2>(workspace, count).wait()?),
                    &|| Ok(insert_all::<BenchDocV3>(workspace, count).wait()?),
                    &|| Ok(insert_all::<BenchDocV4>(workspace, count).wait()?),
                ])
            }),
            Step::DeleteThreads => time(probe, || {
                in_threads([
                    &|| delete_all::<BenchDoc>(workspace),
                    &|| delete_all::<BenchDocV2>(workspace),
                    &|| delete_all::<BenchDocV3>(workspace),
                    &|| delete_all::<BenchDocV4>(workspace),
                ])
            }),
            Step::DeliverResults => self.deliver(1, |ours, tally| {
                to_results(&ours.workspace, &ours.ranges, tally)
            }),
            Step::DeliverObjects => self.deliver(1, |ours, tally| {
                to_objects(&ours.workspace, &ours.ranges, tally)
            }),
            Step::FetchRanges => {
                rank_all(workspace)?;
                let (fetched, time) = probe.time(|| self.ranges.fetch(&self.workspace))?;
                let found: usize = fetched.iter().map(|objects| objects.len()).sum();
                check(
                    "objects found",
                    &found,
                    &(self.ranges.count * self.ranges.width),
                )?;
                self.fetched = fetched;
                Ok(time)
            }
            Step::DeliverRanges => {
                let fetched = std::mem::take(&mut self.fetched);
                self.deliver(number(self.ranges.width), |ours, tally| {
                    to_fetched_ranges(&ours.workspace, &ours.ranges, &fetched, tally)
                })
            }
        }
    }

    /// Subscribes, moves all objects by this many places, and returns the time from the handler's
    /// return to the return of the last callback.
    fn deliver(
        &self,
        places: i32,
        subscribe: impl FnOnce(&Self, &Arc<Tally>) -> Result<Vec<Subscription>>,
    ) -> Timed {
        let tally = Arc::new(Tally::start());
        let subscriptions = subscribe(self, &tally)?;
        self.workspace.settle()?;
        let count = number(self.count);
        let moved = move |priority: i32| (priority + places).rem_euclid(count);
        let (returned, _) = update_all(&self.workspace, moved)?;
        let last = tally.last_of(subscriptions.len())?;
        let last = last.ok_or("there are no subscriptions")?;
        Ok(last.duration_since(returned))
    }
}

fn insert(workspace: &Workspace, count: usize, probe: &mut Probe) -> Timed {
    time(probe, || {
        Ok(insert_all::<BenchDoc>(workspace, count).wait()?)
    })
}

/// Fetches all objects of a table and deletes them, in one transaction.
pub(super) fn delete_all<T: Doc>(workspace: &Workspace) -> Result<()> {
    let transaction = workspace.perform_changes([T::TABLE], |tx| {
        for object in &tx.fetch::<T>().all()? {
            if let Some(request) = ChangeRequest::deletion(tx, object)? {
                tx.submit(request)?;
            }
        }
        Ok(())
    });
    Ok(transaction.wait()?)
}

fn scan(workspace: &Workspace, count: usize, probe: &mut Probe) -> Timed {
    let query = || {
        let query = workspace.fetch::<BenchDoc>();
        query.filter(BenchDoc::PRIORITY.gt(threshold(count))).all()
    };
    let (found, time) = probe.time(|| Ok(query()?))?;
    check("objects found", &found.len(), &selected_count(count))?;
    Ok(time)
}

fn update_each(workspace: &Workspace, count: usize, probe: &mut Probe) -> Timed {
    let objects = workspace.fetch::<BenchDoc>().all()?.to_vec();
    check("objects found", &objects.len(), &count)?;
    time(probe, || {
        let queue = |object: BenchDoc| {
            workspace.perform_changes([BenchDoc::TABLE], move |tx| update(tx, &object))
        };
        let handles: Vec<_> = objects.into_iter().map(queue).collect();
        for handle in handles {
            check("an update", &handle.wait()?, &true)?;
        }
        Ok(())
    })
}

fn fetch_by_key(workspace: &Workspace, count: usize, probe: &mut Probe) -> Timed {
    let titles = titles(count);
    let (found, time) = probe.time(|| {
        let mut found = 0;
        for title in &titles {
            let query = workspace.fetch::<BenchDoc>();
            found += query
                .filter(BenchDoc::TITLE.eq(title.as_str()))
                .all()?
                .len();
        }
        Ok(found)
    })?;
    check("objects found", &found, &count)?;
    Ok(time)
}

/// Runs each piece of work on a thread of its own.
fn in_threads(work: [&(dyn Fn() -> Result<()> + Sync); 4]) -> Result<()> {
    thread::scope(|scope| {
        let threads = work.map(|work| scope.spawn(work));
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })
}
