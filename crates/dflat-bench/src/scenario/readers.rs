//! Threads that read by key while another thread writes.

use std::path::Path;
use std::sync::Barrier;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use dflat::{ChangeRequest, Durability, Workspace};

use super::sides::{Sides, TABLE_NAMES};
use crate::floor::Floor;
use crate::measure::{Report, Settings};
use crate::workload::{BenchDoc, Doc, titles};
use crate::{Result, check};

/// The pause of the writer between two commits.
const REST: Duration = Duration::from_millis(1);

pub(super) fn one(name: &'static str, settings: &Settings) -> Result<Report> {
    readers(name, settings, 1)
}

pub(super) fn two(name: &'static str, settings: &Settings) -> Result<Report> {
    readers(name, settings, 2)
}

pub(super) fn four(name: &'static str, settings: &Settings) -> Result<Report> {
    readers(name, settings, 4)
}

pub(super) fn eight(name: &'static str, settings: &Settings) -> Result<Report> {
    readers(name, settings, 8)
}

/// Each thread fetches each object by its key. The floor has one connection per thread.
fn readers(name: &'static str, settings: &Settings, count: usize) -> Result<Report> {
    let sides = Sides::filled(settings, Durability::Normal)?;
    let (workspace, path) = (&sides.workspace, sides.floor_path.as_path());
    let titles = titles(settings.objects);
    // The readers open their connections while the log has a commit. While the log is empty, a
    // reader assumes that no program writes to the file, and fails with `Busy` if the writer
    // begins.
    change_ours(workspace)?;
    settings.compare(
        name,
        |probe| {
            let read = |start: &Barrier| {
                start.wait();
                found(&titles, |title| {
                    Ok(workspace.get::<BenchDoc>(title)?.is_some())
                })
            };
            let work = || while_writing(|stop| write_ours(workspace, stop), || timed(count, &read));
            // The memory of all threads is counted. The time is counted from when all threads are
            // ready.
            Ok(probe.time(work)?.0)
        },
        |_| {
            let read = |start: &Barrier| {
                // Order: the other threads wait for this one at the barrier, so it is reached even
                // if opening fails.
                let floor = open_floor(path);
                start.wait();
                let mut floor = floor?;
                found(&titles, |title| {
                    Ok(floor.get::<BenchDoc>(0, title)?.is_some())
                })
            };
            while_writing(|stop| write_floor(path, stop), || timed(count, &read))
        },
    )
}

fn open_floor(path: &Path) -> Result<Floor> {
    Floor::open(path, Durability::Normal, &TABLE_NAMES)
}

fn found(titles: &[String], mut get: impl FnMut(&str) -> Result<bool>) -> Result<()> {
    for title in titles {
        check("found", &get(title)?, &true)?;
    }
    Ok(())
}

/// The time from when all threads are ready to when the last thread is done.
fn timed(count: usize, read: &(impl Fn(&Barrier) -> Result<()> + Sync)) -> Result<Duration> {
    let start = Barrier::new(count + 1);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(|| read(&start))).collect();
        start.wait();
        let begun = Instant::now();
        for thread in threads {
            thread.join().map_err(|_| "a reader panicked")??;
        }
        Ok(begun.elapsed())
    })
}

/// Runs `work` while a thread writes.
fn while_writing<R>(
    write: impl FnOnce(&mpsc::Receiver<()>) -> Result<()> + Send,
    work: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let (stop, stopped) = mpsc::channel();
    thread::scope(|scope| {
        let writer = scope.spawn(move || write(&stopped));
        let result = work();
        drop(stop);
        writer.join().map_err(|_| "the writer panicked")??;
        result
    })
}

/// Pauses. Returns whether the writer goes on.
fn rested(stop: &mpsc::Receiver<()>) -> bool {
    stop.recv_timeout(REST) == Err(RecvTimeoutError::Timeout)
}

fn write_ours(workspace: &Workspace, stop: &mpsc::Receiver<()>) -> Result<()> {
    while rested(stop) {
        change_ours(workspace)?;
    }
    Ok(())
}

fn change_ours(workspace: &Workspace) -> Result<()> {
    let object = workspace
        .get::<BenchDoc>("title0")?
        .ok_or("it is missing")?;
    let changed = workspace.perform_changes([BenchDoc::TABLE], move |tx| {
        if let Some(mut request) = ChangeRequest::change(tx, &object)? {
            *BenchDoc::priority_of(&mut request) += 1;
            tx.submit(request)?;
        }
        Ok(())
    });
    Ok(changed.wait()?)
}

fn write_floor(path: &Path, stop: &mpsc::Receiver<()>) -> Result<()> {
    let mut floor = open_floor(path)?;
    while rested(stop) {
        let object = floor.get::<BenchDoc>(0, "title0")?.ok_or("it is missing")?;
        floor.update_each::<BenchDoc>(0, &mut [object], |data| {
            *BenchDoc::priority_of(data) += 1;
        })?;
    }
    Ok(())
}
