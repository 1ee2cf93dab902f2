//! Laws of large transactions, which do without a list of what they insert.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, Sender};
use std::thread;

use dflat::{
    Durability, Error, ErrorKind, Object, Result, SubscribedObject, TransactionContext,
    TransactionHandle,
};

use super::results::Told;
use super::samples::{item, other};
use crate::fixture::{Fixture, Open, next};
use crate::random::Random;
use crate::schema::{Item, ItemChangeRequest, Other, OtherChangeRequest};

/// How many objects are inserted before anything else is done with them: more than are listed.
const MANY: usize = 300;

/// What is stored, by key: the rank of each item.
type Model = BTreeMap<String, i32>;

/// A transaction that is compared with a model after each of its steps.
struct Work<'t> {
    tx: &'t TransactionContext,
    random: Random,
    model: Model,
    /// Objects as they were met, which may be out of date or gone.
    met: Vec<Item>,
    next_id: usize,
}

impl Work<'_> {
    fn insert(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            let (id, rank) = (format!("n{:05}", self.next_id), self.random.below(50) as i32);
            self.next_id += 1;
            let created = self.tx.submit(ItemChangeRequest::creation(item(&id, rank)))?;
            if self.random.one_in(10) {
                self.met.extend(created.into_object());
            }
            self.model.insert(id, rank);
        }
        Ok(())
    }

    /// Changes or deletes an object that was met before, or one that is looked for by its key.
    fn change(&mut self) -> Result<()> {
        let object = match self.random.one_in(2) {
            true => Some(self.random.pick(&self.met).clone()),
            false => {
                let id = format!("n{:05}", self.random.below(self.next_id));
                self.tx.get::<Item>(id.as_str())?
            }
        };
        let Some(object) = object else { return Ok(()) };
        let id = object.id().to_owned();
        // Made before others change the object: it stands on what was stored then.
        let early = ItemChangeRequest::change(self.tx, &object)?;
        let known = self.model.get(&id).copied();
        assert_eq!(early.as_ref().map(|request| request.rank), known, "{id}");
        match (early, self.random.below(4)) {
            (None, _) => {}
            (Some(_), 0) => {
                let deletion = ItemChangeRequest::deletion(self.tx, &object)?.unwrap();
                self.tx.submit(deletion)?;
                self.model.remove(&id);
            }
            (Some(mut early), again) => {
                for _ in 1..again {
                    let mut request = ItemChangeRequest::change(self.tx, &object)?.unwrap();
                    request.rank += 1;
                    self.met.extend(self.tx.submit(request)?.into_object());
                }
                early.rank = self.random.below(50) as i32;
                self.model.insert(id, early.rank);
                self.met.extend(self.tx.submit(early)?.into_object());
            }
        }
        Ok(())
    }

    /// A nested group of a few steps, which is kept or undone.
    fn nested(&mut self) -> Result<()> {
        let before = self.model.clone();
        let tx = self.tx;
        let failed = tx.nested(|_| {
            let count = [3, MANY][self.random.below(2)];
            self.insert(count)?;
            for _ in 0..self.random.below(20) {
                self.change()?;
            }
            if self.random.one_in(3) {
                self.ask_for_durability();
                self.insert(1)?;
            }
            match self.random.one_in(2) {
                true => Err(Error::new(ErrorKind::InvalidArgument, "undo")),
                false => Ok(()),
            }
        });
        if let Err(error) = failed {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            self.model = before;
        }
        Ok(())
    }

    fn ask_for_durability(&mut self) {
        let durabilities = [Durability::Normal, Durability::Full];
        self.tx.set_durability(*self.random.pick(&durabilities));
    }

    fn check(&self) -> Result<()> {
        let items = self.tx.fetch::<Item>().all()?;
        assert_eq!(stored(&items), self.model);
        Ok(())
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        // What a group begins with is the transaction's first change, too.
        if self.random.one_in(2) {
            self.nested()?;
            self.check()?;
        }
        self.insert(MANY)?;
        for _ in 0..steps {
            match self.random.below(8) {
                0 => self.insert(MANY)?,
                1 => self.nested()?,
                2 => self.ask_for_durability(),
                _ => self.change()?,
            }
        }
        self.check()
    }
}

fn stored(items: &[Item]) -> Model {
    let of = |item: &Item| (item.id().to_owned(), item.rank());
    items.iter().map(of).collect()
}

/// A table with some objects in it, and a transaction of random steps, which `end` ends.
fn random_work(
    w: &Fixture,
    seed: u64,
    end: fn(&TransactionContext) -> Result<()>,
) -> (Model, Model) {
    let old: Vec<Item> = w.create((0..40).map(|n| item(&format!("n{n:05}"), n)));
    let before = stored(&old);
    let model = before.clone();
    let handle = w.perform_changes([Item::TABLE], move |tx| {
        let mut work = Work {
            tx,
            random: Random::new(seed),
            model,
            met: old,
            next_id: 40,
        };
        work.run(40)?;
        end(tx)?;
        Ok(work.model)
    });
    let after = handle.wait().unwrap_or_else(|error| {
        assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
        before.clone()
    });
    (before, after)
}

pub fn a_large_transaction_agrees_with_a_model_whatever_becomes_of_what_it_inserts(open: Open) {
    for seed in 0..4 {
        let w = open();
        let (_, after) = random_work(&w, seed, |_| Ok(()));
        assert_eq!(stored(&w.fetch::<Item>().all().unwrap()), after, "seed {seed}");
        for rank in after.values().copied().collect::<BTreeSet<i32>>() {
            let found = w.fetch::<Item>().filter(Item::RANK.eq(rank)).all().unwrap();
            let expected = after.iter().filter(|(_, r)| **r == rank).count();
            assert_eq!(found.len(), expected, "the index has rank {rank}");
        }
        w.create::<Item>([item("afterwards", 1)]);
    }
}

pub fn a_large_transaction_that_is_aborted_leaves_nothing(open: Open) {
    for seed in 100..102 {
        let w = open();
        let abort = |tx: &TransactionContext| {
            tx.abort();
            Ok(())
        };
        let (before, _) = random_work(&w, seed, abort);
        assert_eq!(stored(&w.fetch::<Item>().all().unwrap()), before, "seed {seed}");
    }
}

fn insert_some(tx: &TransactionContext, name: &str, count: usize) -> Result<()> {
    for n in 0..count {
        tx.submit(ItemChangeRequest::creation(item(&format!("{name}{n:05}"), 1)))?;
    }
    Ok(())
}

pub fn no_object_gets_the_identity_of_one_that_was_not_committed(open: Open) {
    let w = open();
    let mut last: Item = w.create([item("first", 0)]).remove(0);
    for count in [255, 256, 257, 511, 512, 513] {
        let handle = w.perform_changes([Item::TABLE], move |tx| {
            insert_some(tx, "never", count)?;
            tx.abort();
            Ok(())
        });
        assert_eq!(handle.wait().unwrap_err().kind(), ErrorKind::Aborted);
        let next: Item = w.create([item(&format!("after {count}"), 1)]).remove(0);
        let between = next.row_id().0 - last.row_id().0;
        assert!(between > count as i64, "{between} after {count}");
        last = next;
    }
}

pub fn nested_groups_of_many_insertions_are_kept_and_undone(open: Open) {
    let w = open();
    w.perform([Item::TABLE], |tx| {
        insert_some(tx, "a", MANY)?;
        let undone = tx.nested(|tx| {
            insert_some(tx, "b", 2 * MANY)?;
            Err::<(), _>(Error::new(ErrorKind::InvalidArgument, "undo"))
        });
        assert!(undone.is_err());
        assert_eq!(tx.fetch::<Item>().count()?, MANY);
        tx.nested(|tx| insert_some(tx, "c", 2 * MANY))?;
        insert_some(tx, "d", MANY)
    });
    let stored = w.fetch::<Item>().all().unwrap();
    let expected = [("a", MANY), ("b", 0), ("c", 2 * MANY), ("d", MANY)];
    for (name, count) in expected {
        let found = stored.iter().filter(|item| item.id().starts_with(name));
        assert_eq!(found.count(), count, "{name}");
    }
}

pub fn a_group_that_begins_a_transaction_is_undone_however_large_it_is(open: Open) {
    let undo = || Err::<(), _>(Error::new(ErrorKind::InvalidArgument, "undo"));
    for count in [1, 255, 256, 257, MANY, 2 * MANY] {
        let w = open();
        w.perform([Item::TABLE], move |tx| {
            let undone = tx.nested(|tx| {
                tx.nested(|tx| insert_some(tx, "a", count))?;
                undo()
            });
            assert!(undone.is_err());
            assert_eq!(tx.fetch::<Item>().count()?, 0, "{count}");
            // The keys are free again.
            tx.nested(|tx| insert_some(tx, "a", count))?;
            insert_some(tx, "b", MANY)
        });
        assert_eq!(w.fetch::<Item>().count().unwrap(), count + MANY);
        w.perform([Item::TABLE], move |tx| {
            let undone = tx.nested(|tx| {
                insert_some(tx, "c", count)?;
                undo()
            });
            assert!(undone.is_err());
            Ok(())
        });
        assert_eq!(w.fetch::<Item>().count().unwrap(), count + MANY);
    }
}

pub fn durability_asked_for_in_a_group_that_is_undone_leaves_what_was_before_it(open: Open) {
    for keeps in [false, true] {
        let w = open();
        w.perform([Item::TABLE], move |tx| {
            insert_some(tx, "a", MANY)?;
            let ended = tx.nested(|tx| {
                tx.set_durability(Durability::Full);
                insert_some(tx, "b", MANY)?;
                match keeps {
                    true => Ok(()),
                    false => Err(Error::new(ErrorKind::InvalidArgument, "undo")),
                }
            });
            assert_eq!(ended.is_ok(), keeps);
            insert_some(tx, "c", 1)
        });
        let expected = MANY + 1 + if keeps { MANY } else { 0 };
        assert_eq!(w.fetch::<Item>().all().unwrap().len(), expected);
    }
}

pub fn a_request_made_before_many_insertions_replaces_what_is_stored(open: Open) {
    let w = open();
    w.perform([Item::TABLE], |tx| {
        let created = tx.submit(ItemChangeRequest::creation(item("a", 1)))?;
        let object = created.into_object().unwrap();
        let early = ItemChangeRequest::change(tx, &object)?.unwrap();
        let mut later = ItemChangeRequest::change(tx, &object)?.unwrap();
        later.rank = 2;
        tx.submit(later)?;
        insert_some(tx, "b", MANY)?;
        // It says rank 1, which is not what is stored.
        tx.submit(early)
    });
    assert_eq!(w.get::<Item>("a").unwrap().unwrap().rank(), 1);
}

/// Inserts many, changes an object, and inserts another; `written` is told before it is committed.
fn insert_many(w: &Fixture, changed: Item, written: Sender<()>) -> TransactionHandle<()> {
    w.perform_changes([Item::TABLE, Other::TABLE], move |tx| {
        insert_some(tx, "n", MANY)?;
        let mut request = ItemChangeRequest::change(tx, &changed)?.unwrap();
        request.rank = 7;
        tx.submit(request)?;
        tx.submit(OtherChangeRequest::creation(other(1)))?;
        written.send(()).unwrap();
        Ok(())
    })
}

// Promise: live-queries#L26
pub fn who_subscribed_but_was_not_known_when_a_large_transaction_wrote_is_told(open: Open) {
    let w = open();
    let old: Item = w.create([item("old", 0)]).remove(0);
    // While a completion is called, nobody is told, and nobody's subscription begins.
    let (go, goes) = mpsc::channel::<()>();
    let (begin, begins) = mpsc::channel();
    let held = w.perform_changes([Item::TABLE], move |_| {
        next(&begins);
        Ok(())
    });
    held.on_completion(move |_| next(&goes));
    begin.send(()).unwrap();
    let (send, results) = mpsc::channel();
    let _ones = w.subscribe(w.fetch::<Item>().filter(Item::RANK.eq(1)), move |told: Told| {
        let told = told.unwrap();
        send.send((told.len(), told.difference().inserted().len())).unwrap();
    });
    let (send, objects) = mpsc::channel();
    let _object = w.subscribe(&old, move |told| send.send(told).unwrap()).unwrap();
    let (send, counts) = mpsc::channel();
    let count = w.fetch::<Other>().live_count();
    let told = move |count: Result<usize>| send.send(count.unwrap()).unwrap();
    let _others = w.subscribe(count, told).unwrap();
    let (write, written) = mpsc::channel();
    let large = insert_many(&w, old, write);
    next(&written);
    let create = |tx: &TransactionContext| tx.submit(OtherChangeRequest::creation(other(2)));
    let after = w.perform_changes([Other::TABLE], create);
    while w.fetch::<Other>().count().unwrap() < 2 {
        thread::yield_now();
    }
    go.send(()).unwrap();
    large.wait().unwrap();
    // Once, and before the transaction's completion.
    assert_eq!(results.try_iter().collect::<Vec<_>>(), [(0, 0), (MANY, MANY)]);
    after.wait().unwrap();
    // Of another type, each commit is told as ever.
    assert_eq!(counts.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
    let told: Vec<_> = objects.try_iter().collect();
    assert!(matches!(&told[..], [SubscribedObject::Updated(item)] if item.rank() == 7), "{told:?}");
    w.create::<Item>([item("next", 1)]);
    assert_eq!(next(&results), (MANY + 1, 1));
}

pub fn large_transactions_of_several_threads_lose_nothing(open: Open) {
    let w = open();
    thread::scope(|scope| {
        for thread in 0..3 {
            let w = &w;
            scope.spawn(move || {
                for round in 0..4 {
                    let size = [3, MANY][(thread + round) % 2];
                    let data = move |n| item(&format!("{thread}-{round}-{n}"), 1);
                    let created: Vec<Item> = w.create((0..size).map(data));
                    w.change(&created[size - 1], |data| data.rank = 2);
                }
            });
        }
    });
    assert_eq!(w.fetch::<Item>().all().unwrap().len(), 6 * (3 + MANY));
    let changed = w.fetch::<Item>().filter(Item::RANK.eq(2)).all().unwrap();
    assert_eq!(changed.len(), 12);
}
