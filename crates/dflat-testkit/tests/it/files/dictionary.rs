//! The dictionary in files: in files of Dflat for Swift, in reopened files, and on failing devices.

use std::collections::BTreeMap;
use std::sync::mpsc;

use dflat::{Dictionary, ErrorKind, FlatBuffersValue, Workspace};
use dflat_testkit::fault::{self, Action, Device, Durability, Failure, Fault, FileKind, Operation};
use dflat_testkit::fixture::{drained, next, until};
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};
use rusqlite::Connection;

use crate::files::original::{FILES, copy};

fn rows(path: &std::path::Path) -> BTreeMap<String, Vec<u8>> {
    let sql = Connection::open(path).unwrap();
    let mut rows = sql
        .prepare("SELECT __pk0, p FROM dictitem_v_dflat_internal__")
        .unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

// Promise: compatibility#P60, compatibility#P61, storage-format#S12
#[test]
fn dictionary_values_of_dflat_for_swift_are_read_and_changed() {
    for file in FILES {
        let directory = tempfile::tempdir().unwrap();
        let path = copy(file, directory.path());
        let before = rows(&path);
        let workspace = Workspace::open(&path).unwrap();
        let d = workspace.dictionary();
        assert_eq!(d.get("launches").unwrap(), Some(42_i64));
        assert_eq!(d.get("ratio").unwrap(), Some(0.25_f64));
        assert_eq!(
            d.get::<String>("name").unwrap().as_deref(),
            Some("Dflat 文字")
        );
        assert_eq!(d.get("enabled").unwrap(), Some(true));
        assert_eq!(d.get("mask").unwrap(), Some(0xFFFF_FFFF_u64));
        assert_eq!(d.get("f").unwrap(), Some(1.5_f32));
        // A property list: foreign, and readable as bytes.
        let error = d.get::<String>("settings").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongType);
        assert!(
            error
                .to_string()
                .ends_with("a foreign value (a binary property list)")
        );
        let plist = d.get::<Vec<u8>>("settings").unwrap().unwrap();
        assert!(plist.starts_with(b"bplist00"));
        let content = d.get::<FlatBuffersValue>("content").unwrap().unwrap();
        assert_eq!((content.version.as_str(), content.bytes.len()), ("", 44));
        let keys = [
            "content", "enabled", "f", "launches", "mask", "name", "ratio", "settings",
        ];
        assert_eq!(d.keys().unwrap(), keys);

        d.set("launches", 43_i64).unwrap();
        d.remove("mask").unwrap();
        d.set("content", content).unwrap();
        workspace.shutdown().unwrap();
        let mut after = rows(&path);
        let launches = after.remove("launches").unwrap();
        assert_ne!(launches, before["launches"]);
        let mut rest = before;
        rest.remove("launches");
        rest.remove("mask");
        assert_eq!(after, rest);
        let workspace = Workspace::open(&path).unwrap();
        assert_eq!(
            workspace.dictionary().get("launches").unwrap(),
            Some(43_i64)
        );
        assert_eq!(workspace.dictionary().get::<u64>("mask").unwrap(), None);
    }
}

#[test]
fn dictionary_changes_survive_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let open = || {
        Workspace::builder(&path)
            .dictionary_keys_max(64)
            .open()
            .unwrap()
    };
    let workspace = open();
    let d = workspace.dictionary();
    (0..1000).for_each(|n| d.set(&n.to_string(), n).unwrap());
    // Without a shutdown: dropping the last workspace writes the values too.
    drop(d);
    drop(workspace);
    let workspace = open();
    let d = workspace.dictionary();
    for n in 0..500 {
        d.remove(&n.to_string()).unwrap();
    }
    // More keys than are kept in memory, some of them not written yet.
    for n in 0..1000 {
        let expected = (n >= 500).then_some(n);
        assert_eq!(d.get::<i64>(&n.to_string()).unwrap(), expected);
    }
    workspace.shutdown().unwrap();
    drop(workspace);
    let workspace = open();
    let d = workspace.dictionary();
    assert_eq!(d.len().unwrap(), 500);
    assert_eq!(d.get::<i64>("7").unwrap(), None);
    assert_eq!(rows(&path).len(), 500);
}

#[test]
fn damaged_row_of_one_key_does_not_stop_writes_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let workspace = Workspace::open(&path).unwrap();
    workspace.dictionary().set("bad", 1).unwrap();
    workspace.shutdown().unwrap();
    let damage = "UPDATE dictitem_v_dflat_internal__ SET p = x'FFFFFF7F'";
    let sql = Connection::open(&path).unwrap();
    assert_eq!(sql.execute(damage, ()).unwrap(), 1);
    drop(sql);
    let workspace = Workspace::open(&path).unwrap();
    let d = workspace.dictionary();
    let (send, received) = mpsc::channel();
    d.on_failure(move |error| send.send(error.kind()).unwrap());
    let outside = d.clone();
    let performed = workspace.perform_changes([Dictionary::TABLE], move |_| {
        // All three are written together, after this.
        for key in ["before", "bad", "good"] {
            outside.set(key, 2)?;
        }
        Ok(())
    });
    performed.wait().unwrap();
    for round in 1..=2 {
        let error = d.synchronize().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(d.failures() >= round);
        let written: Vec<String> = rows(&path).into_keys().collect();
        assert_eq!(written, ["bad", "before", "good"]);
    }
    assert_eq!(next(&received), ErrorKind::Corrupt);
    d.set("later", 3).unwrap();
    assert_eq!(d.synchronize().unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(rows(&path).contains_key("later"));
}

/// Such a value was refused in the background, after `set` had returned no error.
#[test]
fn value_that_no_row_can_have_is_refused_when_it_is_set() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path().join("test.db")).unwrap();
    let d = workspace.dictionary();
    let value = FlatBuffersValue {
        version: String::new(),
        bytes: vec![0; 1_000_000_001],
    };
    let error = d.set("large", value).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(!d.contains("large").unwrap());
    d.set("small", 1).unwrap();
    d.synchronize().unwrap();
    assert_eq!(d.failures(), 0);
}

/// The keys that a transaction uses stay in memory until it ends.
#[test]
fn a_transaction_may_use_more_keys_than_are_kept() {
    for keys_max in [0, 160] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let builder = Workspace::builder(&path).dictionary_keys_max(keys_max);
        let workspace = builder.open().unwrap();
        let (done, is_done) = mpsc::channel();
        let d = workspace.dictionary();
        let performed = workspace.perform_changes([Dictionary::TABLE], move |tx| {
            for n in 0..400_i64 {
                tx.dictionary().set(&n.to_string(), n)?;
            }
            Ok(())
        });
        std::thread::spawn(move || {
            performed.wait().unwrap();
            for n in 0..400_i64 {
                d.update(&n.to_string(), |n: Option<i64>| n.map(|n| n + 1))
                    .unwrap();
            }
            done.send(()).unwrap();
        });
        next(&is_done);
        let d = workspace.dictionary();
        for n in 0..400_i64 {
            assert_eq!(d.get(&n.to_string()).unwrap(), Some(n + 1));
        }
        workspace.shutdown().unwrap();
        assert_eq!(rows(&path).len(), 400);
    }
}

#[test]
fn workspaces_on_one_file_share_a_dictionary() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let [one, other] = [0; 2].map(|_| Workspace::open(&path).unwrap());
    let (d, e) = (one.dictionary(), other.dictionary());
    let (send, received) = mpsc::channel();
    let subscription = e.subscribe::<i64>("n", move |value| send.send(value.unwrap()).unwrap());
    let _subscription = subscription.unwrap();
    d.set("n", 1).unwrap();
    assert_eq!(e.get("n").unwrap(), Some(1_i64));
    e.update("n", |n: Option<i64>| n.map(|n| n + 1)).unwrap();
    assert_eq!(d.get("n").unwrap(), Some(2_i64));
    one.shutdown().unwrap();
    assert_eq!(d.set("n", 3).unwrap_err().kind(), ErrorKind::ShutDown);
    e.set("n", 4).unwrap();
    use dflat::SubscribedValue::{Initial, Updated};
    assert_eq!(
        drained(&received),
        [Initial(None), Updated(1), Updated(2), Updated(4)]
    );
    other.shutdown().unwrap();
    drop((one, other, d, e));
    let again = Workspace::open(&path).unwrap();
    assert_eq!(again.dictionary().get("n").unwrap(), Some(4_i64));
}

/// The values that were set, in order, and how many of them are known to be written.
#[derive(Default)]
struct History {
    last: i64,
    durable: i64,
    committed: Option<i64>,
}

/// Sets two keys, and a third in transactions. Afterwards all acknowledged values are stored.
fn workload(device: &Device) -> Result<(), String> {
    let mut history = History::default();
    let opened = device.open().ok();
    if let Some(workspace) = &opened {
        run(workspace, &mut history)?;
    }
    device.heal();
    if let Some(workspace) = opened {
        // The device works again: the failed values are written now.
        let written = workspace.dictionary().synchronize();
        written.map_err(|error| format!("it is not written after all: {error}"))?;
        history.durable = history.last;
        workspace.shutdown().map_err(|error| error.to_string())?;
    }
    let workspace = Workspace::open(device.path()).map_err(|error| error.to_string())?;
    check(&workspace, &history)
}

fn run(workspace: &Workspace, history: &mut History) -> Result<(), String> {
    let d = workspace.dictionary();
    for round in 1..=4 {
        history.last = round;
        // One value after the other, so that the calls are the same in each run.
        let mut is_written = true;
        for key in ["a", "b"] {
            d.set(key, round).map_err(|error| error.to_string())?;
            if d.get(key).ok() != Some(Some(round)) {
                return Err(format!("{key} is not there after it was set"));
            }
            is_written &= d.synchronize().is_ok();
        }
        if is_written {
            history.durable = round;
        }
        let types = [Other::TABLE, Dictionary::TABLE];
        let before = d.get::<i64>("t");
        let handle = workspace.perform_changes(types, move |tx| {
            tx.dictionary().set("t", round)?;
            let data = OtherData {
                id: 1,
                note: Some(round.to_string()),
            };
            tx.submit(OtherChangeRequest::upsert(data)).map(drop)
        });
        let outcome = handle.wait();
        if outcome.is_ok() {
            history.committed = Some(round);
        }
        let expected = if outcome.is_ok() {
            Ok(Some(round))
        } else {
            before
        };
        match (expected, d.get::<i64>("t")) {
            (Ok(expected), Ok(found)) if expected != found => {
                return Err(format!("t is {found:?} after {outcome:?}"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn check(workspace: &Workspace, history: &History) -> Result<(), String> {
    let text = |error: dflat::Error| error.to_string();
    let d = workspace.dictionary();
    for key in ["a", "b"] {
        let found = d.get::<i64>(key).map_err(text)?.unwrap_or(0);
        if found < history.durable || found > history.last {
            return Err(format!(
                "{key} is {found}, and {} was written",
                history.durable
            ));
        }
    }
    let value = d.get::<i64>("t").map_err(text)?;
    let object = workspace.get::<Other>(1).map_err(text)?;
    let note = object.and_then(|object| object.note()?.parse().ok());
    if value != note || value < history.committed {
        let committed = history.committed;
        return Err(format!(
            "t is {value:?}, its object {note:?}, committed {committed:?}"
        ));
    }
    Ok(())
}

// Promise: durability#D21
#[test]
fn values_survive_each_call_that_fails() {
    let failures = [Action::Fail(Failure::Io), Action::Fail(Failure::NoSpace)];
    let operations = [Operation::Write, Operation::Flush, Operation::Truncate];
    fault::each_sampled(&operations, &failures, 60, workload);
    let operations = [Operation::Read, Operation::Lock, Operation::Open];
    fault::each_sampled(&operations, &failures[..1], 40, workload);
}

#[test]
fn values_survive_a_device_that_fails_for_a_while() {
    let failures = [Action::Fail(Failure::Io)];
    fault::each_lasting(&[Operation::Write, Operation::Flush], &failures, workload);
}

#[test]
fn values_survive_a_loss_of_power() {
    for durability in [Durability::Normal, Durability::Full] {
        let device = Device::new(durability);
        device.record();
        let workspace = device.open().unwrap();
        let d = workspace.dictionary();
        for round in 1..=8_i64 {
            d.set("a", round).unwrap();
            d.set("b", round).unwrap();
            if round % 2 == 0 {
                d.synchronize().unwrap();
                device.acknowledge(round as u64);
            }
        }
        workspace.shutdown().unwrap();
        let name = format!("dictionary-{durability:?}");
        let outcome = fault::cut_power(Some(&name), &device.take_recording(), |image| {
            let workspace = Workspace::open(&image.path).map_err(|error| error.to_string())?;
            for key in ["a", "b"] {
                let found = workspace.dictionary().get::<i64>(key);
                let found = found.map_err(|error| error.to_string())?.unwrap_or(0);
                let least = if durability == Durability::Full {
                    image.acknowledged
                } else {
                    0
                };
                if found < least as i64 {
                    return Err(format!("{key} is {found}, and {least} was written"));
                }
            }
            Ok(())
        });
        assert_eq!(outcome, Ok(()));
    }
}

#[test]
fn a_write_that_fails_is_counted_reported_and_tried_again() {
    let device = Device::new(Durability::Normal);
    let workspace = device.open().unwrap();
    let d = workspace.dictionary();
    let (send, received) = mpsc::channel();
    d.on_failure(move |error| send.send(error.kind()).unwrap());
    fill_device(&device, &d);
    d.set("n", 1).unwrap();
    assert_eq!(next(&received), ErrorKind::StorageFull);
    let error = d.synchronize().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert!(
        error.to_string().starts_with("cannot write the dictionary"),
        "{error}"
    );
    assert_eq!(d.get("n").unwrap(), Some(1_i64));
    device.heal();
    d.synchronize().unwrap();
    workspace.shutdown().unwrap();
    assert_eq!(d.failures(), 1 + drained(&received).len() as u64);
    let again = Workspace::open(device.path()).unwrap();
    assert_eq!(again.dictionary().get("n").unwrap(), Some(1_i64));
}

/// Makes every write to the device fail, after a write of the dictionary.
fn fill_device(device: &Device, d: &Dictionary) {
    d.set("before", 1).unwrap();
    d.synchronize().unwrap();
    device.add(Fault {
        kind: Some(FileKind::Log),
        operation: Operation::Write,
        at: 1,
        lasting: true,
        action: Action::Fail(Failure::NoSpace),
    });
}

#[test]
fn a_write_that_fails_is_tried_again_without_a_call() {
    let device = Device::new(Durability::Normal);
    let workspace = device.open().unwrap();
    let d = workspace.dictionary();
    let (send, received) = mpsc::channel();
    d.on_failure(move |error| send.send(error.kind()).unwrap());
    fill_device(&device, &d);
    let groups = workspace.stats().groups;
    d.set("n", 1).unwrap();
    // One of these failures is that of the dictionary's own thread.
    assert_eq!(next(&received), ErrorKind::StorageFull);
    assert_eq!(next(&received), ErrorKind::StorageFull);
    device.heal();
    until(|| workspace.stats().groups > groups);
    assert_eq!(d.get("n").unwrap(), Some(1_i64));
}

/// A canary: the check must notice an acknowledged value that is missing.
#[test]
fn a_lost_value_is_noticed() {
    let device = Device::new(Durability::Normal);
    let workspace = device.open().unwrap();
    let mut history = History::default();
    assert_eq!(run(&workspace, &mut history), Ok(()));
    workspace.dictionary().set("a", 0).unwrap();
    assert!(
        check(&workspace, &history)
            .unwrap_err()
            .starts_with("a is 0, and 4 was")
    );
}
