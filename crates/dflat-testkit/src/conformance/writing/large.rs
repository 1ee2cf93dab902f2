//! Laws of large transactions, which keep ranges of the rows that they insert.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use dflat::{
    Durability, Error, ErrorKind, FetchedResult, Object, Result, Subscription, TransactionContext,
    Update,
};

use crate::conformance::observing::results::ItemsUpdate;
use crate::conformance::samples::{item, other};
use crate::fixture::{Fixture, Open, drained, next, until};
use crate::random::Random;
use crate::schema::{Item, ItemChangeRequest, Other, OtherChangeRequest};

/// The number of objects to insert before other changes: more than the engine lists.
const MANY: usize = 300;

/// The stored items: their ranks by key.
type Model = BTreeMap<String, i32>;

/// A transaction that is compared with a model after each of its steps.
struct Work<'t> {
    tx: &'t TransactionContext,
    random: Random,
    model: Model,
    /// Objects that were read earlier. They may be out of date or deleted.
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

    /// Changes or deletes an object that was read before, or one that is looked up by its key.
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
        // This request is made before other changes of the object, and has the values of that time.
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

    /// A savepoint with a few steps, which is kept or undone.
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
        // A savepoint may contain the first change of its transaction.
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

pub fn large_transaction_with_random_changes_agrees_with_a_model(open: Open) {
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

pub fn row_ids_of_aborted_inserts_are_not_used_again(open: Open) {
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

pub fn nested_savepoints_of_many_insertions_are_kept_and_undone(open: Open) {
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

pub fn savepoint_of_any_size_at_the_start_of_a_transaction_is_undone(open: Open) {
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

pub fn durability_set_in_an_undone_savepoint_keeps_the_changes_before_it(open: Open) {
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

pub fn request_made_before_many_insertions_replaces_the_stored_object(open: Open) {
    let w = open();
    w.perform([Item::TABLE], |tx| {
        let created = tx.submit(ItemChangeRequest::creation(item("a", 1)))?;
        let object = created.into_object().unwrap();
        let early = ItemChangeRequest::change(tx, &object)?.unwrap();
        let mut later = ItemChangeRequest::change(tx, &object)?.unwrap();
        later.rank = 2;
        tx.submit(later)?;
        insert_some(tx, "b", MANY)?;
        // The request has rank 1, which differs from the stored rank.
        tx.submit(early)
    });
    assert_eq!(w.get::<Item>("a").unwrap().unwrap().rank(), 1);
}

/// The deliveries of each subscriber, in order, as text.
type Log = Receiver<(&'static str, String)>;

/// The contents of a delivery of a result: the commit, the difference and the objects.
fn shown(update: &Update<FetchedResult<Item>>) -> String {
    let objects: Vec<_> = update.iter().map(|item| (item.id(), item.rank())).collect();
    format!("{} {:?} {objects:?}", update.commit(), update.difference())
}

/// Subscribes to an object, a result, a window, two counts and the values of a field.
fn subscribe_all(w: &Fixture, object: &Item) -> (Vec<Subscription>, Log) {
    let (send, log) = mpsc::channel();
    let note = |name| {
        let send = send.clone();
        move |text| send.send((name, text)).unwrap()
    };
    let (object_log, result, window) = (note("object"), note("result"), note("window"));
    let (items, others, values) = (note("items"), note("others"), note("values"));
    let ones = w.fetch::<Item>().filter(Item::RANK.eq(1));
    let page = w.fetch::<Item>().order_by(Item::ID.descending()).offset(3).limit(5);
    let all = w.fetch::<Item>();
    let subscriptions = vec![
        w.subscribe(object, move |received| object_log(format!("{received:?}"))),
        w.subscribe(ones, move |received: ItemsUpdate| result(shown(&received.unwrap()))),
        w.subscribe(page, move |received: ItemsUpdate| window(shown(&received.unwrap()))),
        w.subscribe(all.live_count(), move |received| items(format!("{received:?}"))),
        w.subscribe(w.fetch::<Other>().live_count(), move |count| others(format!("{count:?}"))),
        w.subscribe(w.fetch::<Item>().live_select(Item::RANK), move |received| {
            let update = received.unwrap();
            values(format!("{} {:?} {:?}", update.commit(), update.difference(), *update));
        }),
    ];
    (subscriptions.into_iter().map(Result::unwrap).collect(), log)
}

/// Inserts many objects, changes an older object, and changes and deletes some of the inserted
/// ones.
fn import(tx: &TransactionContext, older: &Item) -> Result<()> {
    insert_some(tx, "n", MANY)?;
    for (id, rank) in [("n00003", 3), ("n00004", 4)] {
        let mut request = ItemChangeRequest::change(tx, &tx.get::<Item>(id)?.unwrap())?.unwrap();
        request.rank = rank;
        tx.submit(request)?;
    }
    let mut request = ItemChangeRequest::change(tx, older)?.unwrap();
    request.rank = 7;
    tx.submit(request)?;
    tx.submit(ItemChangeRequest::deletion(tx, &tx.get::<Item>("n00005")?.unwrap())?.unwrap())?;
    tx.submit(OtherChangeRequest::creation(other(1)))?;
    Ok(())
}

/// Changes and deletes objects that the import has inserted.
fn change_again(tx: &TransactionContext) -> Result<()> {
    let mut request = ItemChangeRequest::change(tx, &tx.get::<Item>("n00001")?.unwrap())?.unwrap();
    request.rank = 9;
    tx.submit(request)?;
    let last = format!("n{:05}", MANY - 1);
    let last = tx.get::<Item>(last.as_str())?.unwrap();
    tx.submit(ItemChangeRequest::deletion(tx, &last)?.unwrap())?;
    Ok(())
}

/// The deliveries of an import and of a commit after it. With `late`, no delivery is made before
/// both are committed, so no subscriber is registered before.
fn deliveries_of_an_import(w: &Fixture, late: bool) -> BTreeMap<&'static str, Vec<String>> {
    let old: Vec<Item> = w.create((0..6).map(|n| item(&format!("a{n}"), n)));
    let (go, goes) = mpsc::channel::<()>();
    let (begin, begins) = mpsc::channel();
    let held = w.perform_changes([Item::TABLE], move |_| {
        next(&begins);
        Ok(())
    });
    let (end, ended) = mpsc::channel();
    held.on_completion(move |_| {
        end.send(()).unwrap();
        next(&goes);
    });
    begin.send(()).unwrap();
    if !late {
        go.send(()).unwrap();
    }
    // The completion is in the queue of deliveries before any registration.
    next(&ended);
    let (subscriptions, log) = subscribe_all(w, &old[0]);
    if !late {
        w.settle::<Item>();
        w.settle::<Other>();
    }
    let older = old[0].clone();
    let import = w.perform_changes([Item::TABLE, Other::TABLE], move |tx| import(tx, &older));
    let after = w.perform_changes([Item::TABLE], change_again);
    until(|| w.fetch::<Item>().filter(Item::RANK.eq(9)).count().unwrap() == 1);
    if late {
        assert!(drained(&log).is_empty());
        go.send(()).unwrap();
    }
    import.wait().unwrap();
    after.wait().unwrap();
    let mut deliveries = BTreeMap::<_, Vec<_>>::new();
    for (name, text) in drained(&log) {
        deliveries.entry(name).or_default().push(text);
    }
    drop(subscriptions);
    deliveries
}

// Promise: live-queries#L26
pub fn subscribers_that_register_during_a_large_import_get_the_deliveries_of_any_commit(
    open: Open,
) {
    let late = deliveries_of_an_import(&open(), true);
    let counts = [6, 6 + MANY - 1, 6 + MANY - 2].map(|count| format!("Ok({count})"));
    assert_eq!(late["items"], counts);
    assert_eq!(late["others"], ["Ok(0)", "Ok(1)"]);
    assert_eq!(late["result"].len(), 3);
    assert_eq!(late, deliveries_of_an_import(&open(), false));
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
