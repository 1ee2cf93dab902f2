//! Laws of writes by query: their effect is that of single writes.

use std::sync::mpsc;

use dflat::{ChangeRequest, ErrorKind, SubscribedObject, TransactionContext};

use crate::conformance::samples::{item, owned_ids};
use crate::fixture::{Fixture, Open, drained};
use crate::schema::{Item, ItemData, Keyed, KeyedData, Other};

/// 600 items, more than are held at once, whose ranks repeat.
fn many(open: Open) -> Fixture {
    let w = open();
    w.create::<Item>((0..600).map(|n| ItemData {
        code: Some(format!("c{n}")),
        ..item(&format!("{n:03}"), n % 3)
    }));
    w
}

pub fn update_by_condition_changes_all_matching_objects(open: Open) {
    let w = many(open);
    // Each changed object meets the condition again, later in the order. It must not be changed
    // twice.
    let changed = w.perform([Item::TABLE], |tx| {
        let changed = tx.update_where(Item::RANK.ge(1), |item| {
            item.rank += 1;
            item.size += 10;
        })?;
        assert_eq!(tx.fetch::<Item>().filter(Item::RANK.eq(3)).count()?, 200);
        Ok(changed)
    });
    assert_eq!(changed, 400);
    for (rank, size) in [(0, 0), (2, 11), (3, 12)] {
        let both = Item::RANK.eq(rank) & Item::SIZE.eq(size);
        assert_eq!(w.fetch().filter(both).count().unwrap(), 200);
    }
    assert_eq!(w.fetch::<Item>().filter(Item::RANK.eq(1)).count().unwrap(), 0);
    let none = w.perform([Item::TABLE], |tx| tx.update_where(Item::RANK.gt(9), |_| panic!()));
    assert_eq!(none, 0);
}

pub fn deletion_by_key_gives_the_object_as_it_was(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1), item("b", 2)]);
    let deleted = w.perform([Item::TABLE], |tx| {
        let Some(b) = tx.get::<Item>("b")? else { panic!("an object was created") };
        let mut request = ChangeRequest::<Item>::change(tx, &b)?.unwrap();
        request.rank = 7;
        tx.submit(request)?;
        tx.submit(ChangeRequest::<Item>::creation(item("own", 3)))?;
        let keys = ["b", "own", "b", "none"];
        let deleted: dflat::Result<Vec<Option<Item>>> =
            keys.iter().map(|key| tx.delete::<Item>(*key)).collect();
        assert_eq!(tx.fetch::<Item>().count()?, 1);
        deleted
    });
    let ranks = deleted.iter().map(|item| item.as_ref().map(Item::rank));
    assert_eq!(ranks.collect::<Vec<_>>(), [Some(7), Some(3), None, None]);
    assert!(w.get::<Item>("b").unwrap().is_none());
    w.create::<Keyed>([1, 2].map(|number| KeyedData {
        zone: "zone".into(),
        number,
        ..KeyedData::default()
    }));
    w.perform([Keyed::TABLE], |tx| tx.delete::<Keyed>(("zone", 1, false)));
    assert_eq!(w.fetch::<Keyed>().all().unwrap()[0].number(), 2);
    let refused = w.perform_changes([Keyed::TABLE], |tx| tx.delete::<Item>("a"));
    assert_eq!(refused.wait().unwrap_err().kind(), ErrorKind::UndeclaredType);
    assert_eq!(w.fetch::<Item>().count().unwrap(), 1);
}

pub fn deletion_by_condition_deletes_all_matching_objects(open: Open) {
    let w = many(open);
    let deleted = w.perform([Item::TABLE], |tx| {
        tx.submit(ChangeRequest::<Item>::creation(item("own", 1)))?;
        tx.delete_where(Item::RANK.eq(1) & Item::SIZE.eq(1))
    });
    assert_eq!(deleted, 201);
    assert_eq!(w.fetch::<Item>().count().unwrap(), 400);
    assert_eq!(w.fetch::<Item>().filter(Item::RANK.eq(1)).count().unwrap(), 0);
    let rest = w.perform([Item::TABLE], |tx| tx.delete_where(Item::ID.is_not_null()));
    assert_eq!((rest, w.fetch::<Item>().count().unwrap()), (400, 0));
}

pub fn a_conflict_undoes_the_whole_write_and_the_transaction_goes_on(open: Open) {
    let w = many(open);
    w.perform([Item::TABLE], |tx| {
        tx.submit(ChangeRequest::<Item>::creation(item("first", 7)))?;
        let mut count = 0;
        let refused = tx.update_where(Item::RANK.eq(1), |item| {
            count += 1;
            item.size = 99;
            if count == 150 {
                item.code = Some("c0".into());
            }
        });
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(tx.fetch::<Item>().filter(Item::SIZE.eq(99)).count()?, 0);
        tx.delete_where(Item::ID.eq("000"))
    });
    assert_eq!(w.fetch::<Item>().filter(Item::SIZE.eq(99)).count().unwrap(), 0);
    assert_eq!(w.fetch::<Item>().count().unwrap(), 600);
}

pub fn writes_by_query_make_the_deliveries_of_single_writes(open: Open) {
    let received = |write: fn(&TransactionContext) -> dflat::Result<()>| {
        let w = many(open);
        let (sender, results) = mpsc::channel();
        let query = w.fetch::<Item>().filter(Item::SIZE.lt(2)).order_by(Item::RANK.descending());
        let followed = w.subscribe(query, move |result: dflat::Result<_>| {
            sender.send(owned_ids(&result.unwrap())).unwrap();
        });
        let (sender, objects) = mpsc::channel();
        let object = w.get::<Item>("001").unwrap().unwrap();
        let watched = w.subscribe(&object, move |object: SubscribedObject<Item>| {
            sender.send(format!("{object:?}")).unwrap();
        });
        w.settle::<Item>();
        w.perform([Item::TABLE], write);
        w.settle::<Item>();
        drop((followed, watched));
        (drained(&results), drained(&objects))
    };
    let by_query = received(|tx| {
        tx.update_where(Item::RANK.eq(1), |item| item.rank = 5)?;
        tx.delete_where(Item::RANK.eq(0) & Item::ID.lt("100"))?;
        // Objects that stay the same are not delivered.
        tx.update_where(Item::RANK.eq(2), |_| {})?;
        Ok(())
    });
    let one_by_one = received(|tx| {
        for object in &tx.fetch::<Item>().filter(Item::RANK.eq(1)).all()? {
            let mut request = ChangeRequest::change(tx, object)?.unwrap();
            request.rank = 5;
            tx.submit(request)?;
        }
        let few = tx.fetch::<Item>().filter(Item::RANK.eq(0) & Item::ID.lt("100"));
        for object in &few.all()? {
            tx.submit(ChangeRequest::deletion(tx, object)?.unwrap())?;
        }
        Ok(())
    });
    assert_eq!(by_query, one_by_one);
    assert_eq!((by_query.0.len(), by_query.1.len()), (2, 1));
}

pub fn write_by_query_of_an_undeclared_type_is_refused(open: Open) {
    let w = open();
    let refused = w.perform([Item::TABLE], |tx| Ok(tx.delete_where(Other::ID.eq(1)).unwrap_err()));
    assert_eq!(refused.kind(), ErrorKind::UndeclaredType);
}
