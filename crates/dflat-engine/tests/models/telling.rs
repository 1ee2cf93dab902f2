//! The dictionary while another process changes keys.

use std::rc::Rc;

use shuttle::sync::mpsc::channel;
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

use crate::beneath::{Engine, PerformOptions, Transaction};
use crate::dictionary::{Dictionary, Event, HeldKeys, KeySubscription, Pattern, TABLE, Value};
use crate::explore;

/// The dictionaries of this process and of another one, on the same rows.
struct Rig {
    engine: Engine,
    own: Dictionary,
    other: Dictionary,
}

impl Rig {
    /// Each key has a value, which is in memory.
    fn new(keys: &[&str]) -> Self {
        let engine = Engine::default();
        let own = Dictionary::new(engine.clone(), usize::MAX);
        let other = Dictionary::new(engine.clone(), usize::MAX);
        let rig = Self { engine, own, other };
        keys.iter().for_each(|key| write(&rig.own, key, 1));
        rig
    }

    /// Subscribes to a key. The list has the values that were delivered.
    fn follow(&self, key: &str) -> (KeySubscription, Arc<Mutex<Vec<Option<Value>>>>) {
        let received = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&received);
        let function = move |event: Event| list.lock().unwrap().push(event.value);
        let pattern = Pattern::Key(key.into());
        let subscription = self.own.subscribe(pattern, Box::new(function)).unwrap();
        (subscription, received)
    }
}

fn numbers<const N: usize>(values: [i64; N]) -> [Option<Value>; N] {
    values.map(|value| Some(Value::I64(value)))
}

fn write(dictionary: &Dictionary, key: &str, value: i64) {
    dictionary.set(key, Some(Value::I64(value))).unwrap();
    dictionary.synchronize().unwrap();
}

/// A commit is noticed before its keys are told. A direct change in between overwrites it.
#[test]
fn commit_whose_keys_are_told_later_is_reported_as_overwritten() {
    explore(|| {
        let rig = Rig::new(&["key", "other"]);
        let (sender, overwrites) = channel();
        let on_overwrite = move |overwrite| sender.send(overwrite).unwrap();
        rig.own.on_overwrite(Box::new(on_overwrite));
        write(&rig.other, "other", 2);
        let first = rig.engine.notice();
        write(&rig.other, "key", 2);
        let second = rig.engine.notice();
        rig.engine.tell(&["other"], first);
        write(&rig.own, "key", 3);
        // Otherwise the model ends in a deadlock.
        assert_eq!(&*overwrites.recv().unwrap().key, "key");
        rig.engine.tell(&["key"], second);
        let value = rig.own.get("key").unwrap();
        assert_eq!((value, rig.own.overwrites()), (Some(Value::I64(3)), 1));
    });
}

/// The dictionary is told of a key while a batch that has written the key ends. Whichever process
/// was later, its value is in memory afterwards.
#[test]
fn value_in_memory_is_that_of_the_file_if_a_commit_is_told_while_a_batch_ends() {
    explore(|| {
        let rig = Rig::new(&["key"]);
        write(&rig.other, "key", 3);
        let row = rig.engine.row("key").unwrap();
        rig.own.set("key", Some(Value::I64(2))).unwrap();
        let engine = rig.engine.clone();
        let telling = thread::spawn(move || {
            engine.commit_of_another(&row);
            let notice = engine.notice();
            engine.tell(&["key"], notice);
        });
        rig.own.synchronize().unwrap();
        telling.join().unwrap();
        // The completion of the first batch, which settles the key, has returned before this ends.
        write(&rig.own, "other", 1);
        let stored = Dictionary::new(rig.engine.clone(), 1).get("key").unwrap();
        assert_eq!(rig.own.get("key").unwrap(), stored);
    });
}

/// The three keys have one lock. A subscriber of one key is notified although another key is told
/// of, and a third one is set.
#[test]
fn subscriber_gets_the_change_of_its_key_while_others_change() {
    explore(|| {
        let keys = ["key", "other51", "other61"];
        let rig = Rig::new(&keys);
        let (subscription, received) = rig.follow("key");
        write(&rig.other, "key", 2);
        write(&rig.other, "other51", 2);
        let notice = rig.engine.notice();
        let (engine, own) = (rig.engine.clone(), rig.own.clone());
        let threads = [
            thread::spawn(move || engine.tell(&["key", "other51"], notice)),
            thread::spawn(move || own.set("other61", Some(Value::I64(3))).unwrap()),
        ];
        for thread in threads {
            thread.join().unwrap();
        }
        subscription.cancel();
        let received = received.lock().unwrap().clone();
        assert_eq!(received, numbers([1, 2]));
        let values = keys.map(|key| rig.own.get(key).unwrap());
        assert_eq!(values, numbers([2, 2, 3]));
    });
}

/// The key has no value in memory. A transaction reads the value of another process into memory,
/// and the dictionary is told of the key before the transaction has ended.
#[test]
fn subscriber_gets_the_value_that_a_transaction_was_first_to_read() {
    explore(|| {
        for fails in [false, true] {
            let rig = Rig::new(&["key"]);
            let (subscription, received) = rig.follow("key");
            write(&rig.other, "key", 3);
            let latest = rig.engine.row("key").unwrap();
            write(&rig.other, "key", 2);
            rig.engine.tell(&["key"], rig.engine.notice());
            rig.engine.commit_of_another(&latest);
            let (engine, own) = (rig.engine.clone(), rig.own.clone());
            let holds = Arc::new(HeldKeys::default());
            let released = Arc::clone(&holds);
            let (done, is_done) = channel();
            let handler = move |transaction: &Rc<Transaction>| {
                let value = own.inside(transaction, &holds).get("key")?;
                assert_eq!(value, Some(Value::I64(3)));
                engine.tell(&["key"], engine.notice());
                holds.seal(transaction)
            };
            let completion = move |outcome: dflat_engine::Result<()>| {
                released.release(outcome.is_ok() && !fails);
                done.send(()).unwrap();
            };
            let engine = &rig.engine;
            engine.perform([TABLE], PerformOptions::default(), handler, completion);
            is_done.recv().unwrap();
            subscription.cancel();
            assert_eq!(*received.lock().unwrap(), numbers([1, 2, 3]));
        }
    });
}

/// The values in memory are those from before the changes of the other process, of which the
/// dictionary is not told. The dictionary compared new values with memory alone, and wrote nothing.
#[test]
fn value_set_again_is_written_after_that_of_another_process() {
    explore(|| {
        let rig = Rig::new(&["key"]);
        assert_eq!(rig.own.get("none").unwrap(), None);
        write(&rig.other, "key", 2);
        write(&rig.other, "none", 2);
        rig.own.set("none", None).unwrap();
        write(&rig.own, "key", 1);
        let stored = Dictionary::new(rig.engine.clone(), 1);
        let values = ["key", "none"].map(|key| stored.get(key).unwrap());
        assert_eq!(values, [Some(Value::I64(1)), None]);
    });
}

#[test]
fn value_set_again_writes_no_row_that_has_it() {
    explore(|| {
        let rig = Rig::new(&["key"]);
        let writes = rig.engine.writes();
        for _ in 0..3 {
            write(&rig.own, "key", 1);
            rig.own.set("none", None).unwrap();
        }
        rig.own.synchronize().unwrap();
        assert_eq!(rig.engine.writes(), writes);
    });
}

/// The subscriber of the absent key was told that it has no value, after the value.
#[test]
fn removing_all_values_leaves_one_that_another_process_sets_meanwhile() {
    explore(|| {
        let rig = Rig::new(&["a"]);
        let (subscription, received) = rig.follow("key");
        let (engine, other) = (rig.engine.clone(), rig.other.clone());
        let meanwhile = move |event: Event| {
            if event.value.is_none() {
                write(&other, "key", 7);
                engine.tell(&["key"], engine.notice());
            }
        };
        let pattern = Pattern::Key("a".into());
        let of_a = rig.own.subscribe(pattern, Box::new(meanwhile)).unwrap();
        rig.own.remove_all().unwrap();
        [subscription, of_a]
            .iter()
            .for_each(KeySubscription::cancel);
        let received = received.lock().unwrap().clone();
        assert_eq!(received, [None, Some(Value::I64(7))]);
        let values = ["a", "key"].map(|key| rig.own.get(key).unwrap());
        assert_eq!(values, [None, Some(Value::I64(7))]);
    });
}
