//! Laws of savepoints: changes inside a transaction that are kept or undone together.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

use dflat::{Error, ErrorKind, Object, Result, TransactionContext};

use crate::conformance::observing::results::ItemsUpdate;
use crate::conformance::samples::{ids, item, other};
use crate::fixture::{Open, drained, next};
use crate::random::Random;
use crate::schema::{Item, ItemChangeRequest, Other, OtherChangeRequest};

/// The error that a savepoint returns to be undone.
fn undo<R>() -> Result<R> {
    Err(Error::new(ErrorKind::InvalidArgument, "undo"))
}

fn insert(tx: &TransactionContext, id: &str, rank: i32) -> Result<Item> {
    let inserted = tx.submit(ItemChangeRequest::creation(item(id, rank)))?;
    Ok(inserted.into_object().unwrap())
}

fn set_rank(tx: &TransactionContext, object: &Item, rank: i32) -> Result<Item> {
    let mut change = ItemChangeRequest::change(tx, object)?.unwrap();
    change.rank = rank;
    Ok(tx.submit(change)?.into_object().unwrap())
}

fn delete(tx: &TransactionContext, object: &Item) -> Result<()> {
    let request = ItemChangeRequest::deletion(tx, object)?.unwrap();
    tx.submit(request).map(drop)
}

fn shown(items: &[Item]) -> Vec<(&str, i32)> {
    items.iter().map(|item| (item.id(), item.rank())).collect()
}

// Promise: concurrency#C53
pub fn failed_savepoint_is_undone_and_the_rest_is_kept(open: Open) {
    let w = open();
    let created = w.create::<Item>([item("old", 1), item("gone", 2)]);
    w.perform([Item::TABLE], move |tx| {
        let before = insert(tx, "before", 3)?;
        let kind = tx.nested(|tx| {
            set_rank(tx, &created[0], 10)?;
            set_rank(tx, &before, 30)?;
            delete(tx, &created[1])?;
            insert(tx, "never", 4)?;
            assert_eq!(ids(&tx.fetch::<Item>().all()?), ["old", "before", "never"]);
            undo::<()>()
        });
        assert_eq!(kind.unwrap_err().kind(), ErrorKind::InvalidArgument);
        let expected = [("old", 1), ("gone", 2), ("before", 3)];
        assert_eq!(shown(&tx.fetch::<Item>().all()?), expected);
        assert!(tx.fetch::<Item>().filter(Item::RANK.gt(3)).all()?.is_empty());
        assert_eq!(ids(&tx.fetch::<Item>().filter(Item::RANK.eq(2)).all()?), ["gone"]);
        insert(tx, "after", 5)
    });
    let expected = [("old", 1), ("gone", 2), ("before", 3), ("after", 5)];
    assert_eq!(shown(&w.fetch::<Item>().all().unwrap()), expected);
    assert!(w.fetch::<Item>().filter(Item::RANK.ge(10)).all().unwrap().is_empty());
}

// Promise: concurrency#C53
pub fn successful_savepoint_is_kept(open: Open) {
    let w = open();
    let value = w.perform([Item::TABLE], |tx| {
        insert(tx, "a", 1)?;
        tx.nested(|tx| {
            insert(tx, "b", 2)?;
            Ok(7)
        })
    });
    assert_eq!(value, 7);
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["a", "b"]);
}

// Promise: concurrency#C53
pub fn savepoints_can_be_nested(open: Open) {
    let w = open();
    w.perform([Item::TABLE], |tx| {
        let a = insert(tx, "a", 1)?;
        tx.nested(|tx| {
            set_rank(tx, &a, 2)?;
            let inner = tx.nested(|tx| {
                set_rank(tx, &a, 3)?;
                insert(tx, "inner", 1)?;
                undo::<()>()
            });
            assert!(inner.is_err());
            assert_eq!(shown(&tx.fetch::<Item>().all()?), [("a", 2)]);
            insert(tx, "b", 2)
        })?;
        let outer = tx.nested(|tx| {
            set_rank(tx, &a, 4)?;
            tx.nested(|tx| {
                set_rank(tx, &a, 5)?;
                insert(tx, "inner", 1)
            })?;
            assert_eq!(tx.fetch::<Item>().all()?.len(), 3);
            undo::<()>()
        });
        assert!(outer.is_err());
        Ok(())
    });
    assert_eq!(shown(&w.fetch::<Item>().all().unwrap()), [("a", 2), ("b", 2)]);
}

// Promise: concurrency#C54
pub fn undone_changes_are_never_delivered(open: Open) {
    let w = open();
    let created = w.create::<Item>([item("touched", 1), item("changed", 2)]);
    let (sender, received) = mpsc::channel();
    let watch = |name: &'static str, object: &Item| {
        let sender = sender.clone();
        let received = move |_| sender.send((name, Vec::new())).unwrap();
        w.subscribe(object, received).unwrap()
    };
    let _touched = watch("touched", &created[0]);
    let _changed = watch("changed", &created[1]);
    let sender_all = sender.clone();
    let _all = w
        .subscribe(w.fetch::<Item>(), move |result: ItemsUpdate| {
            let items = result.unwrap();
            let ranks = items.iter().map(Item::rank).collect();
            sender_all.send(("all", ranks)).unwrap();
        })
        .unwrap();
    assert_eq!(next(&received), ("all", vec![1, 2]));
    w.perform([Item::TABLE], move |tx| {
        let failed = tx.nested(|tx| {
            set_rank(tx, &created[0], 10)?;
            insert(tx, "never", 9)?;
            undo::<()>()
        });
        assert!(failed.is_err());
        set_rank(tx, &created[1], 20)
    });
    assert_eq!(drained(&received), [("changed", vec![]), ("all", vec![1, 20])]);
    w.perform([Item::TABLE], |tx| {
        let failed = tx.nested(|tx| {
            insert(tx, "never", 9)?;
            undo::<()>()
        });
        assert!(failed.is_err());
        Ok(())
    });
    assert!(drained(&received).is_empty(), "nothing was changed");
}

pub fn keys_swapped_in_an_undone_savepoint_are_restored(open: Open) {
    let w = open();
    let created = w.create::<Item>([item("a", 1), item("b", 2)]);
    w.perform([Item::TABLE], move |tx| {
        let failed = tx.nested(|tx| {
            let (a, b) = (&created[0], &created[1]);
            for (object, id) in [(a, "between"), (b, "a"), (a, "b")] {
                let mut change = ItemChangeRequest::change(tx, object)?.unwrap();
                change.id = id.into();
                tx.submit(change)?;
            }
            assert_eq!(tx.get::<Item>("a")?.unwrap().rank(), 2);
            undo::<()>()
        });
        assert!(failed.is_err());
        Ok(())
    });
    let rank = |id: &str| w.get::<Item>(id).unwrap().unwrap().rank();
    assert_eq!([rank("a"), rank("b")], [1, 2]);
    assert!(w.get::<Item>("between").unwrap().is_none());
}

// Promise: concurrency#C55
pub fn conflict_inside_a_savepoint_leaves_it_usable(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    w.perform([Item::TABLE], |tx| {
        tx.nested(|tx| {
            insert(tx, "b", 2)?;
            assert_eq!(insert(tx, "a", 3).unwrap_err().kind(), ErrorKind::AlreadyExists);
            insert(tx, "c", 4)
        })
    });
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["a", "b", "c"]);
}

// Promise: concurrency#C58
pub fn panic_in_a_savepoint_undoes_it_and_goes_on(open: Open) {
    let w = open();
    w.perform([Item::TABLE], |tx| {
        insert(tx, "kept", 1)?;
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            tx.nested(|tx| -> Result<()> {
                insert(tx, "never", 2)?;
                panic!("on purpose")
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(ids(&tx.fetch::<Item>().all()?), ["kept"]);
        Ok(())
    });
    let handle = w.perform_changes([Item::TABLE], |tx| {
        insert(tx, "outside", 1)?;
        tx.nested(|tx| -> Result<()> {
            insert(tx, "never", 2)?;
            panic!("on purpose")
        })
    });
    assert_eq!(handle.wait().unwrap_err().kind(), ErrorKind::Panicked);
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["kept"]);
}

// Promise: concurrency#C57
pub fn abort_in_a_savepoint_aborts_the_transaction(open: Open) {
    let w = open();
    let handle = w.perform_changes([Item::TABLE], |tx| {
        insert(tx, "a", 1)?;
        tx.nested(|tx| {
            insert(tx, "b", 1)?;
            assert!(tx.abort());
            Ok(())
        })?;
        let after = tx.nested(|_| -> Result<()> { panic!("not called") });
        assert_eq!(after.unwrap_err().kind(), ErrorKind::Aborted);
        Ok(())
    });
    assert_eq!(handle.wait().unwrap_err().kind(), ErrorKind::Aborted);
    assert!(w.fetch::<Item>().all().unwrap().is_empty());
}

// Promise: concurrency#C56
pub fn objects_of_an_undone_savepoint_are_looked_up_again(open: Open) {
    let w = open();
    let created = w.create::<Item>([item("a", 1), item("b", 1)]);
    w.perform([Item::TABLE], move |tx| {
        let mut leaked = Vec::new();
        let failed = tx.nested(|tx| {
            leaked.push(set_rank(tx, &created[0], 5)?);
            set_rank(tx, &created[1], 6)?;
            leaked.extend(tx.get::<Item>("b")?);
            leaked.push(insert(tx, "never", 7)?);
            undo::<()>()
        });
        assert!(failed.is_err());
        for object in &leaked[..2] {
            let change = ItemChangeRequest::change(tx, object)?.unwrap();
            assert_eq!(change.rank, 1, "{}", object.id());
        }
        assert!(ItemChangeRequest::change(tx, &leaked[2])?.is_none());
        set_rank(tx, &leaked[1], 6).map(drop)
    });
    assert_eq!(shown(&w.fetch::<Item>().all().unwrap()), [("a", 1), ("b", 6)]);
    let found = w.fetch::<Item>().filter(Item::RANK.eq(6)).all().unwrap();
    assert_eq!(ids(&found), ["b"], "the index followed");
}

// Promise: concurrency#C56
pub fn request_of_an_undone_savepoint_starts_from_the_stored_object(open: Open) {
    let w = open();
    let created = w.create::<Item>([item("a", 1), item("b", 1)]);
    w.perform([Item::TABLE], move |tx| {
        let early = ItemChangeRequest::change(tx, &created[1])?.unwrap();
        let mut requests = Vec::new();
        let failed = tx.nested(|tx| {
            let changed = set_rank(tx, &created[0], 5)?;
            requests.extend(ItemChangeRequest::change(tx, &changed)?);
            let never = insert(tx, "never", 7)?;
            requests.extend(ItemChangeRequest::change(tx, &never)?);
            undo::<()>()
        });
        assert!(failed.is_err());
        let lost = requests.pop().unwrap();
        assert_eq!(tx.submit(lost).unwrap_err().kind(), ErrorKind::NotFound);
        // The request has rank 5, which is no longer stored.
        tx.submit(requests.pop().unwrap())?;
        let mut early = early;
        early.rank = 2;
        tx.submit(early)
    });
    for (rank, id) in [(5, "a"), (2, "b")] {
        let found = w.fetch::<Item>().filter(Item::RANK.eq(rank)).all().unwrap();
        assert_eq!(ids(&found), [id]);
    }
    assert!(w.fetch::<Item>().filter(Item::RANK.eq(1)).all().unwrap().is_empty());
}

pub fn row_ids_of_undone_objects_are_not_used_again(open: Open) {
    let w = open();
    let (never, after) = w.perform([Item::TABLE], |tx| {
        let mut never = Vec::new();
        let failed = tx.nested(|tx| {
            never.push(insert(tx, "never", 1)?);
            undo::<()>()
        });
        assert!(failed.is_err());
        Ok((never.remove(0), insert(tx, "after", 1)?))
    });
    assert!(after.row_id() > never.row_id());
}

pub fn transaction_whose_only_changes_are_undone_succeeds(open: Open) {
    let w = open();
    w.perform([Item::TABLE, Other::TABLE], |tx| {
        let failed = tx.nested(|tx| {
            insert(tx, "never", 1)?;
            tx.submit(OtherChangeRequest::creation(other(1)))?;
            undo::<()>()
        });
        assert!(failed.is_err());
        assert!(tx.fetch::<Item>().all()?.is_empty());
        Ok(())
    });
    assert!(w.fetch::<Item>().all().unwrap().is_empty());
    assert!(w.fetch::<Other>().all().unwrap().is_empty());
    w.create::<Item>([item("a", 1)]);
}

pub fn error_in_a_savepoint_loses_the_transaction_only_if_it_does_outside(open: Open) {
    let w = open();
    w.perform([Item::TABLE], |tx| {
        let undeclared = tx.nested(|tx| tx.submit(OtherChangeRequest::creation(other(1))));
        assert_eq!(undeclared.unwrap_err().kind(), ErrorKind::UndeclaredType);
        insert(tx, "goes on", 1)
    });
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["goes on"]);
}

// Promise: concurrency#C54
pub fn undone_savepoint_is_not_written_again_with_its_transaction(open: Open) {
    let w = open();
    for undone_before in [true, false] {
        w.perform([Item::TABLE], |tx| {
            let items = tx.fetch::<Item>().all()?;
            items.iter().try_for_each(|item| delete(tx, item))
        });
        let (go, goes) = mpsc::channel::<()>();
        w.perform_changes([Item::TABLE], move |_| {
            let _ = goes.recv();
            Ok(())
        })
        .detach();
        let (sender, received) = mpsc::channel();
        w.perform_changes([Item::TABLE], |tx| insert(tx, "first", 1).map(drop))
            .on_completion(move |outcome: Result<()>| sender.send(outcome).unwrap());
        // The first transaction is committed while the second runs; the second's changes are undone
        // and written again.
        let second = w.perform_changes([Item::TABLE], move |tx| {
            let kept = insert(tx, "kept", 2)?;
            let wait = || received.recv_timeout(Duration::from_secs(5)).unwrap();
            let failed = tx.nested(|tx| {
                set_rank(tx, &kept, 7)?;
                insert(tx, "never", 3)?;
                if !undone_before {
                    wait()?;
                }
                undo::<()>()
            });
            assert!(failed.is_err());
            if undone_before {
                wait()?;
            }
            insert(tx, "last", 4).map(drop)
        });
        drop(go);
        second.wait().unwrap();
        let expected = [("first", 1), ("kept", 2), ("last", 4)];
        assert_eq!(shown(&w.fetch::<Item>().all().unwrap()), expected);
        assert!(w.fetch::<Item>().filter(Item::RANK.eq(7)).all().unwrap().is_empty());
    }
}

type Model = BTreeMap<String, i32>;

/// Makes random changes to the transaction and to the model, with nested savepoints.
fn change_at_random(
    tx: &TransactionContext,
    model: &mut Model,
    random: &mut Random,
    depth: usize,
) -> Result<()> {
    for _ in 0..1 + random.below(6) {
        let id = format!("{}", random.below(8));
        let rank = i32::try_from(random.below(5)).unwrap();
        match (tx.get::<Item>(&id)?, random.below(8)) {
            (_, 0 | 1) if depth < 4 => {
                let mut inner = model.clone();
                let fails = random.one_in(2);
                let outcome = tx.nested(|tx| {
                    change_at_random(tx, &mut inner, random, depth + 1)?;
                    if fails { undo() } else { Ok(()) }
                });
                assert_eq!(outcome.is_err(), fails);
                if !fails {
                    *model = inner;
                }
            }
            (Some(found), 2 | 3) => {
                delete(tx, &found)?;
                model.remove(&id);
            }
            (Some(found), 4) => {
                let to = format!("{}", random.below(8));
                let mut change = ItemChangeRequest::change(tx, &found)?.unwrap();
                change.id.clone_from(&to);
                match tx.submit(change) {
                    Ok(_) => {
                        let rank = model.remove(&id).unwrap();
                        model.insert(to, rank);
                    }
                    Err(_) => assert!(id != to && model.contains_key(&to)),
                }
            }
            (Some(found), _) => {
                set_rank(tx, &found, rank)?;
                model.insert(id, rank);
            }
            (None, _) => {
                insert(tx, &id, rank)?;
                model.insert(id, rank);
            }
        }
        let all = tx.fetch::<Item>().order_by(Item::ID.ascending()).all()?;
        let seen: Model = all.iter().map(|item| (item.id().to_owned(), item.rank())).collect();
        assert_eq!(seen, *model);
    }
    Ok(())
}

// Promise: concurrency#C53
pub fn random_savepoints_agree_with_a_model(open: Open) {
    let w = open();
    let (sender, received) = mpsc::channel();
    let _all = w
        .subscribe(w.fetch::<Item>(), move |result: ItemsUpdate| {
            sender.send(result.unwrap()).unwrap();
        })
        .unwrap();
    let mut last = next(&received);
    let mut model = Model::new();
    for seed in 0..60 {
        let before = model.clone();
        model = w.perform([Item::TABLE], move |tx| {
            let mut model = before;
            change_at_random(tx, &mut model, &mut Random::new(seed), 0)?;
            Ok(model)
        });
        let all = w.fetch::<Item>().all().unwrap();
        last = drained(&received).pop().unwrap_or(last);
        assert_eq!(&all, last.result(), "{seed}: live is not as fetched");
        for rank in 0..5 {
            let found = w.fetch::<Item>().filter(Item::RANK.eq(rank)).all().unwrap();
            let expected = model.values().filter(|value| **value == rank).count();
            assert_eq!(found.len(), expected, "{seed}: the index is not as the rows");
        }
    }
}
