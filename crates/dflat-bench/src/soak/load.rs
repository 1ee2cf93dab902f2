//! The work of the threads that make the load.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use dflat::{ChangeRequest, Error, ErrorKind, TransactionContext, Workspace};

use crate::workload::{BenchDoc, BenchDocV2, BenchDocV3, Doc};
use crate::{Result, check as check_equal};

/// The maximum number of objects of a type.
const OBJECTS: usize = 2000;

/// The number of transactions that a writer queues before it waits for them.
const QUEUE: usize = 16;

/// Numbers that look random but are the same in every run: a linear congruential generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end
    }
}

/// Creates the object with a number, or changes it, or deletes it.
fn change<T: Doc>(tx: &TransactionContext, number: usize, deletes: bool) -> dflat::Result<()> {
    let mut data = T::data(number, OBJECTS);
    let Some(found) = tx.get::<T>(T::title_of(&data))? else {
        return tx.submit(ChangeRequest::<T>::creation(data)).map(drop);
    };
    if deletes {
        if let Some(request) = ChangeRequest::deletion(tx, &found)? {
            tx.submit(request)?;
        }
        return Ok(());
    }
    *T::priority_of(&mut data) = found.priority().wrapping_add(1);
    tx.submit(ChangeRequest::<T>::upsert(data)).map(drop)
}

/// Changes objects of a type, and sometimes of a second type with them, until `stop` is set.
pub(super) fn write<T: Doc, U: Doc>(w: &Workspace, stop: &AtomicBool, seed: u64) -> Result<()> {
    let mut numbers = Numbers(seed);
    while !stop.load(Ordering::Relaxed) {
        let mut handles = Vec::with_capacity(QUEUE);
        for _ in 0..QUEUE {
            let (first, second) = (numbers.below(OBJECTS), numbers.below(OBJECTS));
            let (deletes, kind) = (numbers.below(4) == 0, numbers.below(20));
            let tables = [T::TABLE, U::TABLE];
            let tables = tables.into_iter().take(if kind < 2 { 2 } else { 1 });
            handles.push(w.perform_changes(tables, move |tx| {
                change::<T>(tx, first, deletes)?;
                match kind {
                    0 | 1 => change::<U>(tx, second, deletes),
                    // Undo a part of the transaction, or abort it.
                    2 => tx
                        .nested(|tx| {
                            change::<T>(tx, second, !deletes)?;
                            Err(given_up())
                        })
                        .or_else(|error: Error| {
                            if is_given_up(&error) {
                                Ok(())
                            } else {
                                Err(error)
                            }
                        }),
                    3 => Err(given_up()),
                    _ => change::<T>(tx, second, deletes),
                }
            }));
        }
        for handle in handles {
            match handle.wait() {
                Err(error) if !is_given_up(&error) => return Err(error.into()),
                _ => {}
            }
        }
    }
    Ok(())
}

fn given_up() -> Error {
    Error::new(ErrorKind::InvalidArgument, "given up")
}

fn is_given_up(error: &Error) -> bool {
    error.kind() == ErrorKind::InvalidArgument
}

/// Fetches by key and by condition, with and without snapshots, until `stop` is set.
pub(super) fn read<T: Doc>(w: &Workspace, stop: &AtomicBool) -> Result<()> {
    let mut numbers = Numbers(7);
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..50 {
            let data = T::data(numbers.below(OBJECTS), OBJECTS);
            w.get::<T>(T::title_of(&data))?;
        }
        let snapshot = w.snapshot()?;
        let all = snapshot.fetch::<T>().all()?.len();
        let positive = snapshot
            .fetch::<T>()
            .filter(T::priority_field().gt(0))
            .all()?
            .len();
        let others = snapshot
            .fetch::<T>()
            .filter(T::priority_field().le(0))
            .all()?
            .len();
        check_equal("objects in a snapshot", &(positive + others), &all)?;
    }
    Ok(())
}

/// Subscribes to results and objects, and cancels the subscriptions, until `stop` is set.
pub(super) fn observe<T: Doc>(w: &Workspace, stop: &AtomicBool) -> Result<()> {
    static COUNTS: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());
    let note = |name: usize, count: usize| {
        if let Ok(mut counts) = COUNTS.lock() {
            counts.insert(name, count);
        }
    };
    let mut numbers = Numbers(11);
    while !stop.load(Ordering::Relaxed) {
        let mut subscriptions = Vec::new();
        for name in 0..8 {
            let from = i32::try_from(numbers.below(OBJECTS))?;
            let range = w
                .fetch::<T>()
                .filter(T::priority_field().gt(from))
                .limit(100);
            subscriptions.push(w.subscribe(range, move |result: dflat::Result<_>| {
                note(
                    name,
                    result.map_or(0, |objects: dflat::Update<dflat::FetchedResult<T>>| {
                        objects.len()
                    }),
                );
            })?);
        }
        for object in w.fetch::<T>().limit(20).all()?.iter() {
            subscriptions.push(w.subscribe(object, move |_| note(usize::MAX, 1))?);
        }
        for _ in 0..20 {
            if !stop.load(Ordering::Relaxed) {
                w.perform_changes_blocking([T::TABLE], |_| Ok(()))?;
            }
        }
        for subscription in subscriptions {
            subscription.cancel();
        }
    }
    Ok(())
}

/// Checks that the stored objects can be read, and that there are no more than were written.
pub(super) fn check(w: &Workspace) -> Result<()> {
    let counts = [
        count::<BenchDoc>(w)?,
        count::<BenchDocV2>(w)?,
        count::<BenchDocV3>(w)?,
    ];
    if counts.iter().any(|count| *count == 0 || *count > OBJECTS) {
        return Err(format!("{counts:?} objects instead of up to {OBJECTS}").into());
    }
    Ok(())
}

fn count<T: Doc>(w: &Workspace) -> Result<usize> {
    let objects = w.fetch::<T>().all()?;
    for object in objects.iter() {
        let found = w.get::<T>(Doc::title(object))?;
        check_equal(
            "an object by its key",
            &found.map(|found| found.row_id()),
            &Some(object.row_id()),
        )?;
    }
    Ok(objects.len())
}
