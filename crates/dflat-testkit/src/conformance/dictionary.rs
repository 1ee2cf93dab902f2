//! Laws of the dictionary.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use dflat::{Dictionary, ErrorKind, FlatBuffersValue, Serde, Workspace};

use super::samples::item;
use crate::fixture::{Open, next};
use crate::random::Random;
use crate::schema::{Item, ItemChangeRequest};

#[allow(clippy::use_self, dead_code, reason = "generated")]
mod rows {
    include!(concat!(env!("OUT_DIR"), "/dict.rs"));
}

use rows::{DictItem, DictItemChangeRequest, DictItemData, ValueType};

/// The rows of the namespace without a name, once all is written.
fn stored(w: &Workspace) -> BTreeMap<String, DictItem> {
    w.dictionary().synchronize().unwrap();
    let rows = w.fetch::<DictItem>().filter(DictItem::NAMESPACE.eq(""));
    let rows = rows.all().unwrap();
    rows.iter().map(|row| (row.key().to_owned(), row.clone())).collect()
}

fn stored_numbers(w: &Workspace) -> BTreeMap<String, i64> {
    let rows = stored(w).into_iter();
    rows.map(|(key, row)| (key, row.long_value())).collect()
}

/// Stores a number where the dictionary does not see it.
fn store_behind(w: &Workspace, key: &str, long_value: i64) {
    let data = DictItemData {
        key: key.into(),
        value_type: ValueType::LongValue,
        long_value,
        ..DictItemData::default()
    };
    let created = w.perform_changes([DictItem::TABLE], |tx| {
        tx.submit(DictItemChangeRequest::creation(data))
    });
    created.wait().unwrap();
}

pub fn a_value_of_each_type_is_there_at_once_and_stored(open: Open) {
    let w = open();
    let d = w.dictionary();
    d.set("bool", true).unwrap();
    d.set("i64", i64::MIN).unwrap();
    d.set("u64", u64::MAX).unwrap();
    d.set("f32", -0.5_f32).unwrap();
    d.set("f64", 1e300).unwrap();
    d.set("text", "文字\0").unwrap();
    d.set("bytes", &[1, 2, 0xFF][..]).unwrap();
    let payload = FlatBuffersValue {
        version: "v1".into(),
        bytes: vec![9; 9],
    };
    d.set("payload", payload.clone()).unwrap();
    for _ in 0..2 {
        assert_eq!(d.get("bool").unwrap(), Some(true));
        assert_eq!(d.get("i64").unwrap(), Some(i64::MIN));
        assert_eq!(d.get("u64").unwrap(), Some(u64::MAX));
        assert_eq!(d.get("f32").unwrap(), Some(-0.5_f32));
        assert_eq!(d.get("f64").unwrap(), Some(1e300));
        assert_eq!(d.get::<String>("text").unwrap().as_deref(), Some("文字\0"));
        assert_eq!(d.get("bytes").unwrap(), Some(vec![1_u8, 2, 0xFF]));
        assert_eq!(d.get("payload").unwrap(), Some(payload.clone()));
        d.synchronize().unwrap();
    }
    let rows = stored(&w);
    assert_eq!(rows.len(), 8);
    assert!(rows["bool"].bool_value());
    assert_eq!(rows["i64"].long_value(), i64::MIN);
    assert_eq!(rows["u64"].unsigned_long_value(), u64::MAX);
    assert_eq!(rows["f32"].float_value(), -0.5);
    assert_eq!(rows["f64"].double_value(), 1e300);
    assert_eq!(rows["text"].string_value(), Some("文字\0"));
    assert_eq!(rows["bytes"].value_type(), ValueType::CodableValue);
    assert_eq!(rows["payload"].version(), Some("v1"));
    assert!(rows["payload"].codable().iter().eq([9; 9]));
}

/// What serde knows.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Window {
    size: (u32, f64),
    title: Option<String>,
    mode: Mode,
    tabs: BTreeMap<String, Vec<i8>>,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
enum Mode {
    Full,
    Split { left: u8 },
}

pub fn a_value_of_serdes_is_read_back(open: Open) {
    let w = open();
    let d = w.dictionary();
    let mut window = Window {
        size: (3, 0.1),
        title: None,
        mode: Mode::Split { left: 200 },
        tabs: BTreeMap::from([("a".into(), vec![-1])]),
    };
    d.set("w", Serde(&window)).unwrap();
    // What a crate of today has written is read by one of tomorrow, byte by byte.
    d.set("mode", Serde(Mode::Full)).unwrap();
    let rows = stored(&w);
    assert!(rows["mode"].codable().iter().eq(*b"\0dflatm\xa4Full"));
    assert_eq!(d.get::<Serde<Window>>("w").unwrap().unwrap().0, window);
    assert_eq!(d.get::<Serde<Mode>>("w").unwrap_err().kind(), ErrorKind::WrongType);
    assert_eq!(d.get::<Vec<u8>>("w").unwrap_err().kind(), ErrorKind::WrongType);
    let updated = d.update("w", |old: Option<Serde<Window>>| {
        let mut window = old?.0;
        window.mode = Mode::Full;
        Some(Serde(window))
    });
    window.mode = Mode::Full;
    assert_eq!(updated.unwrap().unwrap().0, window);
}

pub fn a_value_of_another_type_is_an_error_that_names_both(open: Open) {
    let w = open();
    let d = w.dictionary();
    d.set("k", "text").unwrap();
    let error = d.get::<i64>("k").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongType);
    assert_eq!(
        error.to_string(),
        "cannot read the value of \"k\" as i64: it is String"
    );
    assert!(d.get_or("k", 1_u64).is_err());
    assert!(d.update("k", |old: Option<bool>| old).is_err());
    assert_eq!(d.get_or("none", 7_u64).unwrap(), 7);
    assert!(!d.contains("none").unwrap() && d.contains("k").unwrap());
}

pub fn a_key_that_was_never_read_can_be_removed_and_set(open: Open) {
    let w = open();
    for key in ["removed", "set", "read"] {
        store_behind(&w, key, 1);
    }
    let d = w.dictionary();
    d.remove("removed").unwrap();
    d.set("set", 2_i64).unwrap();
    assert_eq!(d.get::<i64>("removed").unwrap(), None);
    assert_eq!(d.get("read").unwrap(), Some(1_i64));
    let numbers = [("read".to_owned(), 1), ("set".to_owned(), 2)];
    assert_eq!(stored_numbers(&w), BTreeMap::from(numbers));
}

pub fn namespaces_are_apart(open: Open) {
    let w = open();
    let (d, ui) = (w.dictionary(), w.dictionary().namespace("ui"));
    d.set("k", 1_i64).unwrap();
    ui.set("k", 2_i64).unwrap();
    ui.set("u", 3_i64).unwrap();
    for _ in 0..2 {
        assert_eq!(d.get("k").unwrap(), Some(1_i64));
        assert_eq!(w.dictionary().namespace("ui").get("k").unwrap(), Some(2_i64));
        assert_eq!((d.keys().unwrap(), ui.keys().unwrap().len()), (vec!["k".into()], 2));
        d.synchronize().unwrap();
    }
    ui.remove_all().unwrap();
    assert_eq!(stored_numbers(&w), BTreeMap::from([("k".to_owned(), 1)]));
    assert!(ui.is_empty().unwrap() && d.len().unwrap() == 1);
}

pub fn keys_are_those_in_the_file_and_in_memory(open: Open) {
    let w = open();
    for key in ["b", "ab", "gone"] {
        store_behind(&w, key, 1);
    }
    let d = w.dictionary();
    d.set("aa", true).unwrap();
    d.remove("gone").unwrap();
    assert_eq!(d.get::<i64>("nothing").unwrap(), None);
    for _ in 0..2 {
        assert_eq!(d.keys().unwrap(), ["aa", "ab", "b"]);
        assert_eq!(d.keys_with_prefix("a").unwrap(), ["aa", "ab"]);
        let entries: Vec<_> = d.iter().unwrap().collect();
        assert!(entries[0].get::<bool>().unwrap());
        assert_eq!((entries[1].key(), entries[1].type_name()), ("ab", "i64"));
        d.synchronize().unwrap();
    }
    d.remove_all().unwrap();
    assert!(d.is_empty().unwrap());
    assert_eq!(d.get::<i64>("b").unwrap(), None);
    assert!(stored(&w).is_empty());
}

pub fn updates_by_many_threads_lose_nothing(open: Open) {
    let w = open();
    let start = Arc::new(Barrier::new(4));
    let threads = [0; 4].map(|_| {
        let (d, start) = (w.dictionary(), Arc::clone(&start));
        thread::spawn(move || {
            start.wait();
            for _ in 0..250 {
                d.update("n", |n: Option<i64>| Some(n.unwrap_or(0) + 1)).unwrap();
            }
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(w.dictionary().get("n").unwrap(), Some(1000_i64));
    assert_eq!(stored_numbers(&w), BTreeMap::from([("n".to_owned(), 1000)]));
}

pub fn an_update_can_remove(open: Open) {
    let w = open();
    let d = w.dictionary();
    d.set("n", 1_i64).unwrap();
    assert_eq!(d.update("n", |_: Option<i64>| None).unwrap(), None);
    assert_eq!(d.update("n", |n: Option<i64>| n).unwrap(), None);
    assert!(stored(&w).is_empty());
}

pub fn what_was_set_is_written_before_the_shutdown_ends(open: Open) {
    let w = open();
    let d = w.dictionary();
    (0..100).for_each(|n| d.set(&n.to_string(), n).unwrap());
    w.shutdown().unwrap();
    assert_eq!(d.set("1", 9_i64).unwrap_err().kind(), ErrorKind::ShutDown);
    assert_eq!(d.set("1", 1_i64).map_err(|e| e.kind()), Ok(()), "it is that already");
    assert_eq!(d.failures(), 0);
    assert_eq!(d.get("1").unwrap(), Some(1_i64));
    assert_eq!(d.get::<i64>("x").unwrap_err().kind(), ErrorKind::ShutDown);
}

pub fn a_transaction_changes_values_with_objects(open: Open) {
    let w = open();
    let d = w.dictionary();
    d.set("n", 1_i64).unwrap();
    let outside = d.clone();
    w.perform([Item::TABLE, Dictionary::TABLE], move |tx| {
        let inside = tx.dictionary();
        assert_eq!(inside.get("n")?, Some(1_i64));
        inside.set("n", 2_i64)?;
        inside.namespace("ui").set("m", 3_i64)?;
        assert_eq!(inside.update("n", |n: Option<i64>| n.map(|n| n + 5))?, Some(7));
        assert_eq!(inside.get("n")?, Some(7_i64));
        // Outside, it is what it was.
        assert_eq!(outside.get("n")?, Some(1_i64));
        assert_eq!(outside.namespace("ui").get::<i64>("m")?, None);
        let refused = outside.set("n", 5_i64).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::WouldDeadlock);
        outside.set("other", 4_i64)?;
        tx.submit(ItemChangeRequest::creation(item("a", 1)))
    });
    assert_eq!(d.get("n").unwrap(), Some(7_i64));
    assert_eq!(d.namespace("ui").get("m").unwrap(), Some(3_i64));
    let numbers = [("n".to_owned(), 7), ("other".to_owned(), 4)];
    assert_eq!(stored_numbers(&w), BTreeMap::from(numbers));
}

pub fn a_transaction_that_fails_changes_no_value(open: Open) {
    let w = open();
    let d = w.dictionary();
    d.set("n", 1_i64).unwrap();
    d.set("gone", 1_i64).unwrap();
    for way in 0..3 {
        let outcome = w.perform_changes([Dictionary::TABLE], move |tx| {
            let inside = tx.dictionary();
            inside.set("n", 2_i64)?;
            inside.remove("gone")?;
            inside.set("new", 3_i64)?;
            match way {
                0 => Err(dflat::Error::user(std::fmt::Error)),
                1 => {
                    tx.abort();
                    Ok(())
                }
                _ => panic!("as the test wants"),
            }
        });
        outcome.wait().unwrap_err();
        assert_eq!(d.get("n").unwrap(), Some(1_i64));
        assert_eq!(d.get("gone").unwrap(), Some(1_i64));
        assert_eq!(d.get::<i64>("new").unwrap(), None);
        let numbers = [("n".to_owned(), 1), ("gone".to_owned(), 1)];
        assert_eq!(stored_numbers(&w), BTreeMap::from(numbers));
        // Nothing waits for ever for the keys.
        d.set("new", way).unwrap();
        d.remove("new").unwrap();
    }
}

pub fn a_group_of_changes_that_is_undone_changes_no_value(open: Open) {
    let w = open();
    let d = w.dictionary();
    let outside = d.clone();
    w.perform([Dictionary::TABLE], move |tx| {
        tx.dictionary().set("kept", 1_i64)?;
        // Not written yet, and written first by the group that is undone.
        outside.set("direct", 5_i64)?;
        let undone: dflat::Result<()> = tx.nested(|tx| {
            tx.dictionary().set("kept", 2_i64)?;
            tx.dictionary().set("direct", 6_i64)?;
            tx.dictionary().set("new", 2_i64)?;
            Err(dflat::Error::user(std::fmt::Error))
        });
        assert_eq!(undone.unwrap_err().kind(), ErrorKind::User);
        assert_eq!(tx.dictionary().get("kept")?, Some(1_i64));
        assert_eq!(tx.dictionary().get("direct")?, Some(5_i64));
        Ok(())
    });
    let numbers = [("kept".to_owned(), 1), ("direct".to_owned(), 5)];
    assert_eq!(stored_numbers(&w), BTreeMap::from(numbers));
    assert_eq!(d.get("direct").unwrap(), Some(5_i64));
    assert_eq!(d.get::<i64>("new").unwrap(), None);
}

pub fn a_panic_in_a_group_of_changes_loses_no_direct_change(open: Open) {
    let w = open();
    let d = w.dictionary();
    let outside = d.clone();
    w.perform([Dictionary::TABLE], move |tx| {
        outside.set("direct", 5_i64)?;
        let caught = catch_unwind(AssertUnwindSafe(|| {
            tx.nested(|tx| -> dflat::Result<()> {
                tx.dictionary().set("direct", 6_i64)?;
                panic!("as the test wants")
            })
        }));
        assert!(caught.is_err());
        assert_eq!(tx.dictionary().get("direct")?, Some(5_i64));
        Ok(())
    });
    assert_eq!(d.get("direct").unwrap(), Some(5_i64));
    assert_eq!(stored_numbers(&w), BTreeMap::from([("direct".to_owned(), 5)]));
}

/// The second begins before the first is acknowledged; the direct change is older than both.
pub fn transactions_in_a_row_build_on_one_another(open: Open) {
    for way in 0..3_i64 {
        let w = open();
        let d = w.dictionary();
        let (go, goes) = mpsc::channel::<()>();
        let types = [Dictionary::TABLE];
        let first = w.perform_changes(types.clone(), move |_| {
            next(&goes);
            Ok(())
        });
        let second = w.perform_changes(types.clone(), move |tx| match way {
            0 => tx.dictionary().set("k", 2_i64),
            1 => tx.dictionary().remove("k"),
            _ => tx.dictionary().get::<i64>("k").map(drop),
        });
        let expected = [Some(2), None, Some(1)][way as usize];
        let third = w.perform_changes(types.clone(), |tx| tx.dictionary().get::<i64>("k"));
        let fourth = w.perform_changes(types, |tx| {
            tx.dictionary().update("k", |n: Option<i64>| n.map(|n| n + 10))
        });
        // Its own write is queued after all of them.
        d.set("k", 1_i64).unwrap();
        go.send(()).unwrap();
        first.wait().unwrap();
        second.wait().unwrap();
        assert_eq!(third.wait().unwrap(), expected, "way {way}");
        let expected = expected.map(|n| n + 10);
        assert_eq!(fourth.wait().unwrap(), expected, "way {way}");
        assert_eq!(d.get("k").unwrap(), expected, "way {way}");
        assert_eq!(stored_numbers(&w).get("k").copied(), expected, "way {way}");
    }
}

pub fn every_way_to_perform_changes_has_the_dictionary(open: Open) {
    let w = open();
    let add = |tx: &dflat::TransactionContext| {
        tx.dictionary().update("n", |n: Option<i64>| Some(n.unwrap_or(0) + 1))
    };
    let types = [Dictionary::TABLE];
    assert_eq!(w.perform_changes(types.clone(), add).wait().unwrap(), Some(1));
    assert_eq!(w.perform_changes_retrying(types.clone(), add).wait().unwrap(), Some(2));
    assert_eq!(w.perform_changes_blocking(types.clone(), add).unwrap(), Some(3));
    let failed = w.perform_changes_blocking(types, |tx| {
        tx.dictionary().set("n", 9)?;
        tx.abort();
        Ok(())
    });
    failed.unwrap_err();
    assert_eq!(w.dictionary().get("n").unwrap(), Some(3_i64));
    w.dictionary().set("n", 4).unwrap();
    assert_eq!(stored_numbers(&w), BTreeMap::from([("n".to_owned(), 4)]));
}

pub fn a_direct_change_waits_for_the_transaction_that_uses_the_key(open: Open) {
    let w = open();
    let d = w.dictionary();
    let (used, is_used) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let handle = w.perform_changes([Dictionary::TABLE], move |tx| {
        tx.dictionary().set("n", 1_i64)?;
        used.send(()).unwrap();
        next(&goes);
        Ok(())
    });
    next(&is_used);
    let (set, is_set) = mpsc::channel();
    let setter = d.clone();
    thread::spawn(move || {
        let before = setter.get::<i64>("n").unwrap();
        setter.set("n", 2_i64).unwrap();
        set.send(before).unwrap();
    });
    // Other keys are free.
    d.set("m", 3_i64).unwrap();
    assert!(is_set.try_recv().is_err());
    go.send(()).unwrap();
    handle.wait().unwrap();
    next(&is_set);
    assert_eq!(d.get("n").unwrap(), Some(2_i64));
    let numbers = [("m".to_owned(), 3), ("n".to_owned(), 2)];
    assert_eq!(stored_numbers(&w), BTreeMap::from(numbers));
}

pub fn a_transaction_must_name_the_dictionary(open: Open) {
    let w = open();
    let d = w.dictionary();
    w.perform([Item::TABLE], |tx| {
        let refused = tx.dictionary().set("n", 1_i64).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::UndeclaredType);
        assert!(tx.dictionary().get::<i64>("n").is_err());
        Ok(())
    });
    d.set("n", 2_i64).unwrap();
    // It can be read inside any handler, also if it is not in memory.
    store_behind(&w, "cold", 4);
    w.perform([Item::TABLE], move |_| {
        assert_eq!(d.get("n")?, Some(2_i64));
        assert_eq!(d.get("cold")?, Some(4_i64));
        Ok(())
    });
}

/// Random work, alone and in transactions, agrees with a map.
pub fn random_work_agrees_with_a_map(open: Open) {
    for seed in 0..12 {
        let w = open();
        let d = w.dictionary();
        let mut random = Random::new(seed);
        let mut model = BTreeMap::<String, i64>::new();
        for step in 0..150 {
            let key = format!("k{}", random.below(12));
            match random.below(8) {
                0 => {
                    d.remove(&key).unwrap();
                    model.remove(&key);
                }
                1 => d.synchronize().unwrap(),
                2 => assert_eq!(d.get(&key).unwrap(), model.get(&key).copied()),
                3 | 4 => {
                    let commits = random.one_in(2);
                    let keys: Vec<String> =
                        (0..4).map(|_| format!("k{}", random.below(12))).collect();
                    let inside = keys.clone();
                    let handle = w.perform_changes([Dictionary::TABLE], move |tx| {
                        for key in &inside {
                            tx.dictionary()
                                .update(key, |n: Option<i64>| n.map_or(Some(step), |n| {
                                    (n % 3 > 0).then_some(n + 1)
                                }))?;
                        }
                        if commits { Ok(()) } else { Err(dflat::Error::user(std::fmt::Error)) }
                    });
                    assert_eq!(handle.wait().is_ok(), commits);
                    for key in keys.into_iter().filter(|_| commits) {
                        match model.get(&key).copied() {
                            Some(n) if n % 3 == 0 => model.remove(&key),
                            n => model.insert(key, n.map_or(step, |n| n + 1)),
                        };
                    }
                }
                _ => {
                    d.set(&key, step).unwrap();
                    model.insert(key, step);
                }
            }
            assert_eq!(d.len().unwrap(), model.len(), "seed {seed}, step {step}");
        }
        assert_eq!(stored_numbers(&w), model, "seed {seed}");
        let read = model.keys().map(|key| (key.clone(), d.get(key).unwrap().unwrap()));
        assert_eq!(read.collect::<BTreeMap<_, i64>>(), model, "seed {seed}");
    }
}
