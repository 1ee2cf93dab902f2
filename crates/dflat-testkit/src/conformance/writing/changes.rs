//! Laws of creating, changing and deleting objects.

use dflat::{ErrorKind, Object, UpdatedObject};

use crate::conformance::samples::{bag, item};
use crate::fixture::Open;
use crate::schema::{
    Bag, BagChangeRequest, BagData, Item, ItemChangeRequest, ItemData, Keyed, KeyedChangeRequest,
    KeyedData, Level,
};

pub fn created_object_is_read_back(open: Open) {
    let w = open();
    let created = w.create::<Item>([ItemData {
        name: Some("name".into()),
        level: Level::High,
        ..item("a", 7)
    }]);
    let read = w.get::<Item>("a").unwrap().unwrap();
    assert_eq!(read, created[0]);
    assert_eq!(
        (read.id(), read.rank(), read.size(), read.name(), read.nick()),
        ("a", 7, 7, Some("name"), None)
    );
    assert_eq!((read.level(), read.code()), (Level::High, None));
}

pub fn vectors_of_everything_are_read_back(open: Open) {
    let w = open();
    w.create::<Bag>([bag(1), BagData { id: 2, ..BagData::default() }]);
    let full = w.get::<Bag>(1).unwrap().unwrap();
    // NaN is unequal to itself, so the data is compared as text.
    assert_eq!(format!("{:?}", full.to_data()), format!("{:?}", bag(1)));
    let empty = w.get::<Bag>(2).unwrap().unwrap();
    assert!(empty.bools().is_empty() && empty.bodies().is_empty() && empty.tree().is_none());
    assert_eq!((empty.limit(), empty.ratio().is_nan(), empty.maybe()), (u64::MAX, true, None));
}

pub fn data_saved_unchanged_writes_nothing(open: Open) {
    let w = open();
    let created = w.create::<Bag>([bag(1)]).remove(0);
    let again = w.perform([Bag::TABLE], move |tx| {
        tx.submit(BagChangeRequest::upsert(created.to_data()))
    });
    assert!(matches!(again, UpdatedObject::Identity(_)), "{again:?}");
}

pub fn missing_key_is_none(open: Open) {
    let w = open();
    assert!(w.get::<Item>("a").unwrap().is_none());
    w.create::<Item>([item("a", 1)]);
    assert!(w.get::<Item>("b").unwrap().is_none());
    assert!(w.get::<Item>("A").unwrap().is_none());
    assert!(w.get::<Item>("").unwrap().is_none());
}

pub fn composite_key_is_compared_by_all_its_parts(open: Open) {
    let w = open();
    let key = |zone: &str, number, open, text: &str| KeyedData {
        zone: zone.into(),
        number,
        open,
        text: Some(text.into()),
    };
    w.create::<Keyed>([
        key("a", 1, false, "first"),
        key("a", 1, true, "second"),
        key("a", u64::MAX, true, "third"),
        key("b", 1, false, "fourth"),
    ]);
    let text = |key| w.get::<Keyed>(key).unwrap().map(|o| o.text().unwrap().to_owned());
    assert_eq!(text(("a", 1, true)).as_deref(), Some("second"));
    assert_eq!(text(("a", u64::MAX, true)).as_deref(), Some("third"));
    assert_eq!(text(("b", 1, false)).as_deref(), Some("fourth"));
    assert_eq!(text(("b", 1, true)), None);
    let error = w
        .perform_changes([Keyed::TABLE], move |tx| {
            tx.submit(KeyedChangeRequest::creation(key("a", u64::MAX, true, "")))
        })
        .wait()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
}

// Promise: compatibility#P22
pub fn submit_returns_inserted_unchanged_updated_or_deleted(open: Open) {
    let w = open();
    let outcomes = w.perform([Item::TABLE], |tx| {
        let inserted = tx.submit(ItemChangeRequest::creation(item("a", 1)))?;
        let object = inserted.object().unwrap().clone();
        let same = ItemChangeRequest::change(tx, &object)?.unwrap();
        let identity = tx.submit(same)?;
        let mut change = ItemChangeRequest::change(tx, &object)?.unwrap();
        change.rank = 2;
        let updated = tx.submit(change)?;
        let deleted = tx.submit(ItemChangeRequest::deletion(tx, &object)?.unwrap())?;
        Ok((inserted, identity, updated, deleted))
    });
    let (inserted, identity, updated, deleted) = outcomes;
    let row_id = inserted.object().unwrap().row_id();
    assert!(matches!(&inserted, UpdatedObject::Inserted(o) if o.rank() == 1));
    assert!(matches!(&identity, UpdatedObject::Identity(o) if o.rank() == 1));
    assert!(matches!(&updated, UpdatedObject::Updated(o) if o.rank() == 2 && o.row_id() == row_id));
    assert_eq!(deleted, UpdatedObject::Deleted(row_id));
    assert!(w.get::<Item>("a").unwrap().is_none());
}

// Promise: concurrency#C47, compatibility#P23
pub fn duplicate_key_leaves_the_transaction_usable(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    let kind = w.perform([Item::TABLE], |tx| {
        tx.submit(ItemChangeRequest::creation(item("b", 2)))?;
        let refused = tx.submit(ItemChangeRequest::creation(item("a", 9)));
        tx.submit(ItemChangeRequest::creation(item("c", 3)))?;
        Ok(refused.unwrap_err().kind())
    });
    assert_eq!(kind, ErrorKind::AlreadyExists);
    let all = w.fetch::<Item>().all().unwrap();
    assert_eq!(crate::conformance::samples::ids(&all), ["a", "b", "c"]);
    assert_eq!(all[0].rank(), 1);
}

pub fn duplicate_key_names_type_and_key(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    let error = w
        .perform_changes([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::creation(item("a", 9)))
        })
        .wait()
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("Item") && text.contains("id = \"a\""), "{text}");
}

// Promise: compatibility#P24
pub fn moving_a_key_onto_another_is_a_conflict(open: Open) {
    let w = open();
    let objects = w.create::<Item>([item("a", 1), item("b", 2)]);
    let kind = w.perform([Item::TABLE], move |tx| {
        let mut change = ItemChangeRequest::change(tx, &objects[0])?.unwrap();
        change.id = "b".into();
        change.rank = 9;
        Ok(tx.submit(change).unwrap_err().kind())
    });
    assert_eq!(kind, ErrorKind::AlreadyExists);
    let all = w.fetch::<Item>().all().unwrap();
    let shown: Vec<_> = all.iter().map(|o| (o.id(), o.rank())).collect();
    assert_eq!(shown, [("a", 1), ("b", 2)]);
    assert_eq!(w.fetch::<Item>().filter(Item::RANK.eq(9)).all().unwrap().len(), 0);
}

pub fn moved_key_finds_the_object_and_frees_the_old_one(open: Open) {
    let w = open();
    let objects = w.create::<Item>([item("a", 1)]);
    let moved = w.change(&objects[0], |data| data.id = "z".into());
    assert_eq!(moved.row_id(), objects[0].row_id());
    assert!(w.get::<Item>("a").unwrap().is_none());
    assert_eq!(w.get::<Item>("z").unwrap().unwrap(), moved);
    let other = w.create::<Item>([item("a", 2)]);
    assert!(other[0].row_id() > moved.row_id());
}

pub fn unique_conflict_is_undone(open: Open) {
    let w = open();
    let coded = |id: &str, rank, code: &str| ItemData {
        code: Some(code.into()),
        ..item(id, rank)
    };
    let objects = w.create::<Item>([coded("a", 1, "x"), coded("b", 2, "y")]);
    w.perform([Item::TABLE], move |tx| {
        let error = tx.submit(ItemChangeRequest::creation(coded("c", 50, "x"))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert!(error.to_string().contains("code = \"x\""), "{error}");
        let mut change = ItemChangeRequest::change(tx, &objects[1])?.unwrap();
        change.code = Some("x".into());
        change.rank = 50;
        assert_eq!(tx.submit(change).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(tx.fetch::<Item>().all()?.len(), 2);
        Ok(())
    });
    assert!(w.get::<Item>("c").unwrap().is_none());
    assert!(w.fetch::<Item>().filter(Item::RANK.eq(50)).all().unwrap().is_empty());
    let codes = w.fetch::<Item>().filter(Item::CODE.eq("y")).all().unwrap();
    assert_eq!(crate::conformance::samples::ids(&codes), ["b"]);
}

pub fn unique_field_may_be_absent_many_times(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1), item("b", 2), item("c", 3)]);
    let absent = w.fetch::<Item>().filter(Item::CODE.is_null()).all().unwrap();
    assert_eq!(absent.len(), 3);
}

pub fn unique_value_is_free_after_its_object_is_gone(open: Open) {
    let w = open();
    let coded = |id: &str| ItemData {
        code: Some("x".into()),
        ..item(id, 1)
    };
    let first = w.create::<Item>([coded("a")]);
    w.perform([Item::TABLE], move |tx| {
        tx.submit(ItemChangeRequest::deletion(tx, &first[0])?.unwrap())?;
        tx.submit(ItemChangeRequest::creation(coded("b")))
    });
    let found = w.fetch::<Item>().filter(Item::CODE.eq("x")).all().unwrap();
    assert_eq!(crate::conformance::samples::ids(&found), ["b"]);
}

// Promise: concurrency#C3, concurrency#C64
pub fn change_starts_from_the_latest_values(open: Open) {
    let w = open();
    let old = w.create::<Item>([item("a", 1)]).remove(0);
    w.change(&old, |data| data.rank = 5);
    let changed = w.change(&old, |data| data.size = 9);
    assert_eq!((changed.rank(), changed.size()), (5, 9));
    assert_eq!(old.rank(), 1);
}

// Promise: compatibility#P28
pub fn change_of_a_deleted_object_makes_no_request(open: Open) {
    let w = open();
    let old = w.create::<Item>([item("a", 1)]).remove(0);
    w.delete(&old);
    w.create::<Item>([item("a", 2)]);
    w.perform([Item::TABLE], move |tx| {
        assert!(ItemChangeRequest::change(tx, &old)?.is_none());
        assert!(ItemChangeRequest::deletion(tx, &old)?.is_none());
        Ok(())
    });
    assert_eq!(w.get::<Item>("a").unwrap().unwrap().rank(), 2);
}

// Promise: concurrency#C47
pub fn request_made_before_a_deletion_fails_with_not_found(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    w.perform([Item::TABLE], move |tx| {
        let mut change = ItemChangeRequest::change(tx, &object)?.unwrap();
        change.rank = 2;
        tx.submit(ItemChangeRequest::deletion(tx, &object)?.unwrap())?;
        assert_eq!(tx.submit(change).unwrap_err().kind(), ErrorKind::NotFound);
        tx.submit(ItemChangeRequest::creation(item("b", 1)))
    });
    assert_eq!(crate::conformance::samples::ids(&w.fetch::<Item>().all().unwrap()), ["b"]);
}

// Promise: compatibility#P28
pub fn upsert_inserts_then_changes_nothing_then_replaces_everything(open: Open) {
    let w = open();
    let named = ItemData {
        name: Some("n".into()),
        ..item("a", 1)
    };
    let upsert = |data: ItemData| {
        w.perform([Item::TABLE], move |tx| tx.submit(ItemChangeRequest::upsert(data)))
    };
    let inserted = upsert(named.clone());
    assert!(matches!(inserted, UpdatedObject::Inserted(_)));
    assert!(matches!(upsert(named), UpdatedObject::Identity(_)));
    let replaced = upsert(item("a", 3));
    assert!(matches!(&replaced, UpdatedObject::Updated(o) if o.name().is_none() && o.rank() == 3));
    let row_id = inserted.object().unwrap().row_id();
    assert_eq!(replaced.object().unwrap().row_id(), row_id);
}

pub fn upsert_sees_the_transactions_own_objects(open: Open) {
    let w = open();
    w.perform([Item::TABLE], |tx| {
        tx.submit(ItemChangeRequest::creation(item("a", 1)))?;
        let updated = tx.submit(ItemChangeRequest::upsert(item("a", 2)))?;
        assert!(matches!(updated, UpdatedObject::Updated(_)));
        tx.submit(ItemChangeRequest::deletion(tx, updated.object().unwrap())?.unwrap())?;
        let again = tx.submit(ItemChangeRequest::upsert(item("a", 3)))?;
        assert!(matches!(again, UpdatedObject::Inserted(_)));
        Ok(())
    });
    assert_eq!(w.get::<Item>("a").unwrap().unwrap().rank(), 3);
}

pub fn row_ids_increase_and_are_never_reused(open: Open) {
    let w = open();
    let mut last = 0;
    for round in 0..5 {
        let object = w.create::<Item>([item("a", round)]).remove(0);
        let row_id = object.row_id().0;
        assert!(row_id > last, "{row_id} after {last}");
        last = row_id;
        w.delete(&object);
    }
}

pub fn large_objects_are_kept(open: Open) {
    let w = open();
    let long = "x".repeat(300_000);
    let data = ItemData {
        name: Some(long.clone()),
        nick: Some(long.clone()),
        ..item("a", 1)
    };
    w.create::<Item>([data, item("b", 2)]);
    assert_eq!(w.get::<Item>("a").unwrap().unwrap().nick(), Some(long.as_str()));
    let found = w.fetch::<Item>().filter(Item::NAME.eq(&long)).all().unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].detach().name().unwrap().len(), long.len());
}
