//! Objects that subscribers keep do not keep other objects in memory.

use std::rc::Rc;
use std::sync::mpsc::{self, Receiver};

use dflat_engine::Result;
use dflat_engine::engine::{Engine, EngineOptions, PerformOptions, Subject};
use dflat_engine::object::{Object, Writer};
use dflat_engine::observe::{DeliveryOptions, Event, ShapedQuery};
use dflat_engine::storage::{CloseOptions, MemoryBackend};
use dflat_engine::transaction::{Change, Outcome, Transaction};
use dflat_model::{Query, Table};

use crate::table;

const ROWS: i32 = 100;

fn payload(id: i32) -> Vec<u8> {
    let mut writer = Writer::new();
    let root = writer.begin();
    assert!(writer.begin_table(root));
    writer.scalar(4, id);
    writer.end_table();
    writer.leave();
    writer.finish().unwrap().to_vec()
}

/// Inserts objects from an id on; returns how many of them share memory once they are written.
fn insert(
    engine: &Engine,
    table: &Table,
    first: i32,
    completion: impl FnOnce() + Send + 'static,
) -> Receiver<usize> {
    let (written, shared) = mpsc::channel();
    let named = table.clone();
    let work = Box::new(move |transaction: &Rc<Transaction>| {
        let mut objects = Vec::new();
        for id in first..first + ROWS {
            let payload = &payload(id);
            match transaction.submit(&named, Change::Create { payload })? {
                Outcome::Inserted(object) => objects.push((object, payload.clone())),
                other => panic!("{other:?}"),
            }
        }
        for (object, payload) in &objects {
            assert_eq!(object.payload(), payload);
        }
        let shared = objects.iter().filter(|(object, _)| object.is_attached());
        written.send(shared.count()).unwrap();
        Ok(())
    });
    let ended = Box::new(move |outcome: Result<()>| {
        outcome.unwrap();
        completion();
    });
    engine.perform(vec![table.clone()], PerformOptions::default(), work, ended);
    shared
}

/// A subscriber may keep one object of a commit for long. It must not keep the others in memory,
/// even if the commit was written before the subscription was registered.
#[test]
fn objects_delivered_to_subscribers_share_no_memory() {
    let engine = Engine::new(MemoryBackend::new(), EngineOptions::default());
    let table = table("table T { id: int (primary); } root_type T;");
    // A completion delays deliveries, so that the subscription is registered after the next commit
    // was written.
    let (go_on, held) = mpsc::channel::<()>();
    let shared = insert(&engine, &table, 0, move || held.recv().unwrap());
    assert!(shared.recv().unwrap() > 50, "nobody observes the table");

    let (sender, delivered) = mpsc::channel::<Vec<Object>>();
    let subject = Subject::Result {
        query: ShapedQuery::from(Query::default()),
        known: None,
    };
    let function = Box::new(move |event| {
        let Event::Result(Ok(update)) = event else {
            panic!("{event:?}");
        };
        sender.send(update.fetched.objects.to_vec()).unwrap();
    });
    let subscribed = engine.observe(&table, subject, DeliveryOptions::default(), function);
    let subscription = subscribed.unwrap();
    let shared = insert(&engine, &table, ROWS, || ());
    assert!(shared.recv().unwrap() > 50, "no subscriber is registered");
    go_on.send(()).unwrap();
    assert_eq!(delivered.recv().unwrap().len(), 100);
    let objects = delivered.recv().unwrap();
    assert_eq!(objects.len(), 200);
    // The objects of the first half were fetched together.
    let written = objects.iter().skip(100);
    assert_eq!(written.filter(|object| object.is_attached()).count(), 0);

    let shared = insert(&engine, &table, 2 * ROWS, || ());
    assert_eq!(shared.recv().unwrap(), 0, "a subscriber observes the table");
    assert_eq!(delivered.recv().unwrap().len(), 300);
    drop(subscription);
    engine.settle().unwrap();
    let shared = insert(&engine, &table, 3 * ROWS, || ());
    assert!(shared.recv().unwrap() > 50, "nobody observes it any more");
    engine.shutdown(CloseOptions::default()).unwrap();
}
