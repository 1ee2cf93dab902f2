//! The dictionary: the values in memory and the written values agree in the end, in whatever order
//! the threads run.

use std::rc::Rc;

use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

use crate::beneath::{Engine, PerformOptions, Transaction};
use crate::dictionary::{Dictionary, HeldKeys, Pattern, TABLE, Value};
use crate::explore;

struct Rig {
    engine: Engine,
    dictionary: Dictionary,
}

impl Rig {
    fn new() -> Self {
        let engine = Engine::default();
        let dictionary = Dictionary::new(engine.clone(), usize::MAX);
        Self { engine, dictionary }
    }

    fn set(&self, key: &'static str, value: i64) -> thread::JoinHandle<()> {
        let dictionary = self.dictionary.clone();
        thread::spawn(move || dictionary.set(key, Some(Value::I64(value))).unwrap())
    }

    /// Performs a transaction that sets a key, and fails afterwards if `fails` is true. The
    /// transaction has ended when the returned thread has.
    fn perform(&self, key: &'static str, value: i64, fails: bool) -> thread::JoinHandle<()> {
        let (engine, dictionary) = (self.engine.clone(), self.dictionary.clone());
        let holds = Arc::new(HeldKeys::default());
        let released = Arc::clone(&holds);
        let (done, is_done) = shuttle::sync::mpsc::channel();
        let handler = move |transaction: &Rc<Transaction>| {
            let inside = dictionary.inside(transaction, &holds);
            inside.set(key, Some(&Value::I64(value)))?;
            if fails {
                let message = "as the model wants";
                return Err(dflat_engine::Error::new(
                    dflat_engine::ErrorKind::User,
                    message,
                ));
            }
            holds.seal(transaction)
        };
        let completion = move |outcome: dflat_engine::Result<()>| {
            released.release(outcome.is_ok());
            done.send(()).unwrap();
        };
        thread::spawn(move || {
            engine.perform([TABLE], PerformOptions::default(), handler, completion);
            is_done.recv().unwrap();
        })
    }

    /// The value of a key in memory, after a check that the written value is the same.
    fn settled(&self, key: &str) -> Option<i64> {
        self.dictionary.synchronize().unwrap();
        let value = self.dictionary.get(key).unwrap();
        let fresh = Dictionary::new(self.engine.clone(), usize::MAX);
        assert_eq!(fresh.get(key).unwrap(), value);
        assert_eq!(self.engine.row(key).is_some(), value.is_some());
        value.map(|value| match value {
            Value::I64(number) => number,
            other => panic!("{other:?}"),
        })
    }
}

fn join<const N: usize>(threads: [thread::JoinHandle<()>; N]) {
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn values_set_by_two_threads_are_written() {
    explore(|| {
        let rig = Rig::new();
        join([rig.set("k", 1), rig.set("k", 2), rig.set("other", 3)]);
        assert!(matches!(rig.settled("k"), Some(1 | 2)));
        assert_eq!(rig.settled("other"), Some(3));
    });
}

#[test]
fn failed_write_is_tried_again() {
    explore(|| {
        let rig = Rig::new();
        rig.engine.fail_next();
        let setter = rig.set("k", 1);
        let waiter = rig.dictionary.clone();
        let waiter = thread::spawn(move || drop(waiter.synchronize()));
        join([setter, rig.set("other", 2), waiter]);
        // The failure may be reported by this call.
        let _ = rig.dictionary.synchronize();
        assert_eq!((rig.settled("k"), rig.settled("other")), (Some(1), Some(2)));
    });
}

/// Six copies of a test at once showed it: the write began while the device failed, and
/// `synchronize` returned its error although the device had recovered.
#[test]
fn failure_of_a_write_that_began_before_synchronize_is_not_its_error() {
    explore(|| {
        let rig = Rig::new();
        rig.engine.fail_next();
        rig.dictionary.set("k", Some(Value::I64(1))).unwrap();
        rig.engine.wait_for_a_handler();
        assert_eq!(rig.settled("k"), Some(1));
    });
}

/// `synchronize` returned no error, if another key was set while the first one was refused.
#[test]
fn synchronize_fails_while_a_key_cannot_be_written() {
    explore(|| {
        let rig = Rig::new();
        rig.engine.refuse("bad");
        rig.dictionary.set("bad", Some(Value::I64(1))).unwrap();
        rig.engine.wait_for_a_handler();
        rig.set("good", 2).join().unwrap();
        for _ in 0..2 {
            let error = rig.dictionary.synchronize().unwrap_err();
            assert_eq!(error.kind(), dflat_engine::ErrorKind::InvalidArgument);
            assert!(rig.engine.row("good").is_some());
        }
    });
}

/// `synchronize` failed with `Busy`, although only commits of other processes kept the values from
/// being written.
#[test]
fn writes_that_other_processes_overtake_are_no_failures() {
    explore(|| {
        let rig = Rig::new();
        rig.engine.overtake_next();
        rig.engine.overtake_next();
        let waiter = rig.dictionary.clone();
        let waiter = thread::spawn(move || waiter.synchronize().unwrap());
        join([rig.set("k", 1), rig.set("other", 2), waiter]);
        assert_eq!((rig.settled("k"), rig.settled("other")), (Some(1), Some(2)));
        assert_eq!(rig.dictionary.failures(), 0);
    });
}

#[test]
fn direct_changes_and_transactions_of_a_key_are_serialized() {
    explore(|| {
        let rig = Rig::new();
        join([
            rig.set("k", 1),
            rig.perform("k", 10, false),
            rig.perform("k", 20, true),
        ]);
        assert!(matches!(rig.settled("k"), Some(1 | 10)));
    });
}

#[test]
fn concurrent_read_of_the_file_loses_no_change() {
    explore(|| {
        let rig = Rig::new();
        rig.set("k", 5).join().unwrap();
        rig.settled("k");
        // This dictionary keeps no written value in memory, so that every read goes to the engine.
        let again = Rig {
            dictionary: Dictionary::new(rig.engine.clone(), 0),
            engine: rig.engine,
        };
        let reader = again.dictionary.clone();
        let reader = thread::spawn(move || {
            let value = reader.get("k").unwrap();
            assert!(matches!(value, Some(Value::I64(5 | 6))));
        });
        join([reader, again.set("k", 6)]);
        assert_eq!(again.settled("k"), Some(6));
    });
}

/// This also holds if a transaction that failed held the key.
#[test]
fn synchronize_writes_all_values_set_before_it() {
    explore(|| {
        let rig = Rig::new();
        let performed = rig.perform("k", 10, true);
        rig.dictionary.set("k", Some(Value::I64(1))).unwrap();
        rig.dictionary.synchronize().unwrap();
        assert!(rig.engine.row("k").is_some());
        join([performed]);
        assert_eq!(rig.settled("k"), Some(1));
    });
}

#[test]
fn subscription_begun_during_changes_never_delivers_an_older_value() {
    explore(|| {
        let rig = Rig::new();
        let setter = rig.dictionary.clone();
        let setter = thread::spawn(move || {
            for number in 1..=3 {
                setter.set("k", Some(Value::I64(number))).unwrap();
            }
        });
        let patterns = [Pattern::Key("k".into()), Pattern::Prefix("".into())];
        let subscribed = patterns.map(|pattern| {
            let received = Arc::new(Mutex::new(Vec::new()));
            let list = Arc::clone(&received);
            let function = move |event: crate::dictionary::Event| {
                list.lock().unwrap().push(match event.value {
                    Some(Value::I64(number)) => number,
                    _ => 0,
                });
            };
            let begun = rig.dictionary.subscribe(pattern, Box::new(function));
            (begun.unwrap(), received)
        });
        join([setter]);
        for (subscription, received) in subscribed {
            subscription.cancel();
            let received = received.lock().unwrap().clone();
            assert!(received.is_sorted_by(|a, b| a < b), "{received:?}");
            assert_eq!(received.last(), Some(&3));
        }
    });
}

#[test]
fn subscribers_get_one_order_of_changes_that_ends_with_the_stored_value() {
    explore(|| {
        let rig = Rig::new();
        let received: [Arc<Mutex<Vec<Option<Value>>>>; 2] = Default::default();
        let subscriptions = received.clone().map(|received| {
            let function = move |event: crate::dictionary::Event| {
                received.lock().unwrap().push(event.value);
            };
            let pattern = Pattern::Key("k".into());
            rig.dictionary
                .subscribe(pattern, Box::new(function))
                .unwrap()
        });
        join([rig.set("k", 1), rig.set("k", 2), rig.perform("k", 3, false)]);
        // After the cancellations no callback runs.
        subscriptions
            .iter()
            .for_each(|subscription| subscription.cancel());
        let [one, other] = received.map(|received| received.lock().unwrap().clone());
        assert_eq!(one, other);
        assert_eq!(one.last(), Some(&rig.settled("k").map(Value::I64)));
    });
}
