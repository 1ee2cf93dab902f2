//! The work that each store does, and its checks.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::store::{Open, Store};
use super::value::Kind;
use crate::Result;

/// How often each key is read that is read often.
const READS: usize = 100;
/// How often one key is saved among many.
const SAVES: usize = 20;

/// A piece of work.
pub struct Work {
    pub name: &'static str,
    kind: Kind,
    task: Task,
}

enum Task {
    /// All keys, new, to the file, by so many threads.
    Insert(usize),
    /// Some keys, many times each, the first time from the file.
    ReadCold,
    /// The same, when all have been read before, by so many threads.
    ReadHot(usize),
    /// One key, again and again, and at last to the file.
    UpdateOne,
    /// One key among all, to the file each time.
    SaveOne,
}

const fn work(name: &'static str, kind: Kind, task: Task) -> Work {
    Work { name, kind, task }
}

pub const WORK: &[Work] = &[
    work("insert numbers", Kind::Number, Task::Insert(1)),
    work("insert numbers, 2 threads", Kind::Number, Task::Insert(2)),
    work("insert numbers, 4 threads", Kind::Number, Task::Insert(4)),
    work("insert records (serde)", Kind::Record, Task::Insert(1)),
    work(
        "insert messages (FlatBuffers)",
        Kind::Message,
        Task::Insert(1),
    ),
    work(
        "read 1% of them 100 times, cold",
        Kind::Number,
        Task::ReadCold,
    ),
    work(
        "read 1% of them 100 times, hot",
        Kind::Number,
        Task::ReadHot(1),
    ),
    work("the same, 2 threads", Kind::Number, Task::ReadHot(2)),
    work("the same, 4 threads", Kind::Number, Task::ReadHot(4)),
    work("read records, hot", Kind::Record, Task::ReadHot(1)),
    work("read messages, hot", Kind::Message, Task::ReadHot(1)),
    work("update one key, keys times", Kind::Number, Task::UpdateOne),
    work(
        "save one key among them, 20 times",
        Kind::Number,
        Task::SaveOne,
    ),
];

impl Work {
    /// Does it in a folder of its own; what counts is timed, and what was read is checked.
    pub fn run(&self, open: Open, keys: &[String]) -> Result<Duration> {
        let folder = tempfile::tempdir()?;
        let open = |folder: &Path| open(folder, self.kind);
        match self.task {
            Task::Insert(threads) => insert(&*open(folder.path())?, keys, threads),
            Task::ReadCold => {
                open(folder.path())?.put(&mut items(keys))?;
                let (store, opening) = timed(|| open(folder.path()))?;
                Ok(opening + read(&*store, some(keys), 1)?)
            }
            Task::ReadHot(threads) => {
                let store = open(folder.path())?;
                store.put(&mut items(keys))?;
                read(&*store, some(keys), 1)?;
                read(&*store, some(keys), threads)
            }
            Task::UpdateOne => {
                let store = open(folder.path())?;
                let last = i64::try_from(keys.len())?;
                let mut items = (1..=last).map(|value| ("one", value));
                let ((), time) = timed(|| store.put(&mut items))?;
                check(store.get("one")?, last)?;
                Ok(time)
            }
            Task::SaveOne => {
                let store = open(folder.path())?;
                store.put(&mut items(keys))?;
                let save = |(key, value): (_, i64)| store.put(&mut [(key, -value)].into_iter());
                let ((), time) = timed(|| items(keys).take(SAVES).try_for_each(save))?;
                check(store.get(&keys[0])?, 0)?;
                Ok(time)
            }
        }
    }
}

/// The keys with their values, which are their positions.
fn items(keys: &[String]) -> impl Iterator<Item = (&str, i64)> {
    keys.iter().map(String::as_str).zip(0..)
}

/// A hundredth of the keys.
fn some(keys: &[String]) -> &[String] {
    &keys[..keys.len().div_ceil(READS)]
}

fn timed<R>(work: impl FnOnce() -> Result<R>) -> Result<(R, Duration)> {
    let start = Instant::now();
    let result = work()?;
    Ok((result, start.elapsed()))
}

fn insert(store: &dyn Store, keys: &[String], threads: usize) -> Result<Duration> {
    let ((), time) = timed(|| {
        if threads == 1 {
            return store.put(&mut items(keys));
        }
        let items: Vec<_> = items(keys).collect();
        each_part(&items, threads, |part| store.put(&mut part.iter().copied()))
    })?;
    for (key, value) in items(keys) {
        check(store.get(key)?, value)?;
    }
    Ok(time)
}

/// Reads each key many times, every thread a part of the times.
fn read(store: &dyn Store, keys: &[String], threads: usize) -> Result<Duration> {
    let rounds = vec![(); READS];
    let work = || {
        each_part(&rounds, threads, |rounds| {
            for (key, value) in rounds.iter().flat_map(|()| items(keys)) {
                check(store.get(key)?, value)?;
            }
            Ok(())
        })
    };
    Ok(timed(work)?.1)
}

/// Gives each thread its part.
fn each_part<T: Sync>(
    all: &[T],
    threads: usize,
    work: impl Fn(&[T]) -> Result<()> + Sync,
) -> Result<()> {
    let work = &work;
    thread::scope(|scope| {
        let parts = all.chunks(all.len().div_ceil(threads));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })
}

fn check(is: Option<i64>, wanted: i64) -> Result<()> {
    if is == Some(wanted) {
        Ok(())
    } else {
        Err(format!("{is:?} is stored instead of {wanted}").into())
    }
}
