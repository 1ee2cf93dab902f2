//! Laws of the dictionary.

use std::collections::BTreeMap;
use std::sync::{Arc, Barrier};
use std::thread;

use dflat::{Dictionary, ErrorKind, FlatBuffersValue, Serde, Workspace};

use crate::fixture::Open;
use crate::random::Random;

#[allow(clippy::use_self, dead_code, reason = "generated")]
mod rows {
    include!(concat!(env!("OUT_DIR"), "/dict.rs"));
}

use rows::{DictItem, DictItemChangeRequest, DictItemData, ValueType};

/// The rows of the namespace without a name, after all values are written.
fn stored(w: &Workspace) -> BTreeMap<String, DictItem> {
    w.dictionary().synchronize().unwrap();
    let rows = w.fetch::<DictItem>().filter(DictItem::NAMESPACE.eq(""));
    let rows = rows.all().unwrap();
    rows.iter().map(|row| (row.key().to_owned(), row.clone())).collect()
}

pub(super) fn stored_numbers(w: &Workspace) -> BTreeMap<String, i64> {
    let rows = stored(w).into_iter();
    rows.map(|(key, row)| (key, row.long_value())).collect()
}

/// Stores a number directly in the table, without the dictionary.
pub(super) fn store_behind(w: &Workspace, key: &str, long_value: i64) {
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

// Promise: compatibility#P53
pub fn value_of_each_type_is_readable_at_once_and_stored(open: Open) {
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

/// A value that serde stores.
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

// Promise: compatibility#P54
pub fn serde_value_is_read_back(open: Open) {
    let w = open();
    let d = w.dictionary();
    let mut window = Window {
        size: (3, 0.1),
        title: None,
        mode: Mode::Split { left: 200 },
        tabs: BTreeMap::from([("a".into(), vec![-1])]),
    };
    d.set("w", Serde(&window)).unwrap();
    // Later versions of the crate must read these bytes.
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

pub fn integers_of_every_type_are_read_as_any_type_that_they_fit_in(open: Open) {
    let w = open();
    let d = w.dictionary();
    macro_rules! each {
        ($($stored:ident { $($type:ident)* })*) => {$($(
            for number in [$type::MIN, 0, 7, $type::MAX] {
                let set = d.set("k", number);
                let Some(fitting) = $stored::try_from(number).ok() else {
                    assert_eq!(set.unwrap_err().kind(), ErrorKind::InvalidArgument);
                    continue;
                };
                set.unwrap();
                assert_eq!(d.get::<$type>("k").unwrap(), Some(number));
                assert_eq!(d.get::<$stored>("k").unwrap(), Some(fitting));
                assert_eq!(d.get::<i128>("k").unwrap(), i128::try_from(number).ok());
                let small = d.get::<u8>("k").map_err(|error| error.kind());
                let expected = u8::try_from(number).map_err(|_| ErrorKind::WrongType);
                assert_eq!(small, expected.map(Some));
            }
        )*)*};
    }
    each! { i64 { i8 i16 i32 i64 i128 isize } u64 { u8 u16 u32 u64 u128 usize } }
    d.set("k", 300).unwrap();
    let error = d.get::<u8>("k").unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot read the value of \"k\" as u8: it is i64 300"
    );
    d.set("k", 1.5).unwrap();
    assert_eq!(d.get::<i16>("k").unwrap_err().kind(), ErrorKind::WrongType);
    let counted = d.update("n", |n: Option<u16>| Some(n.unwrap_or(0) + 1));
    assert_eq!(counted.unwrap(), Some(1));
}

pub fn setting_none_removes_the_value(open: Open) {
    let w = open();
    let d = w.dictionary();
    for _ in 0..2 {
        d.set("k", Some("text")).unwrap();
        assert_eq!(d.get::<String>("k").unwrap().as_deref(), Some("text"));
        d.set("k", None::<i32>).unwrap();
        assert!(!d.contains("k").unwrap());
    }
    let done = w.perform_changes([Dictionary::TABLE], |tx| {
        let keys = tx.dictionary();
        keys.set("a", Some(1_u8))?;
        keys.set("b", Some(2_u8))?;
        keys.set("a", None::<u8>)?;
        keys.get::<u8>("b")
    });
    assert_eq!(done.wait().unwrap(), Some(2));
    assert_eq!(d.keys().unwrap(), ["b"]);
}

// Promise: compatibility#P55
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

// Promise: compatibility#P56
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

pub fn namespaces_are_separate(open: Open) {
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

// Promise: compatibility#P57
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

// Promise: compatibility#P53
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

pub fn dictionary_update_can_remove_a_key(open: Open) {
    let w = open();
    let d = w.dictionary();
    d.set("n", 1_i64).unwrap();
    assert_eq!(d.update("n", |_: Option<i64>| None).unwrap(), None);
    assert_eq!(d.update("n", |n: Option<i64>| n).unwrap(), None);
    assert!(stored(&w).is_empty());
}

// Promise: compatibility#P57
pub fn shutdown_writes_all_set_values(open: Open) {
    let w = open();
    let d = w.dictionary();
    (0..100).for_each(|n| d.set(&n.to_string(), n).unwrap());
    w.shutdown().unwrap();
    assert_eq!(d.set("1", 9_i64).unwrap_err().kind(), ErrorKind::ShutDown);
    assert_eq!(d.failures(), 0);
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
