//! Transactions over more tables than the engine remembers at a time.

use std::rc::Rc;
use std::sync::mpsc;

use dflat_engine::engine::{Engine, EngineOptions, PerformOptions};
use dflat_engine::object::Writer;
use dflat_engine::storage::{CloseOptions, MemoryBackend};
use dflat_engine::transaction::{Change, Outcome, Transaction};
use dflat_engine::{ErrorKind, Result};
use dflat_model::Table;

use crate::table;

/// Ids and numbers.
fn numbered(name: usize) -> Table {
    table(&format!(
        "table T{name} {{ id: int (primary); n: int; }} root_type T{name};"
    ))
}

fn payload(n: i32) -> Vec<u8> {
    let mut writer = Writer::new();
    let root = writer.begin();
    assert!(writer.begin_table(root));
    writer.scalar(4, 1_i32);
    writer.scalar(6, n);
    writer.end_table();
    writer.leave();
    writer.finish().unwrap().to_vec()
}

fn create(transaction: &Transaction, table: &Table) -> Result<Outcome> {
    let payload = &payload(1);
    transaction.submit(table, Change::Create { payload })
}

fn update(transaction: &Transaction, table: &Table, from: Outcome, n: i32) -> Result<Outcome> {
    let (Outcome::Inserted(object) | Outcome::Updated(object)) = from else {
        panic!("{from:?}");
    };
    let base = transaction.latest(table, &object)?.unwrap();
    let payload = &payload(n);
    transaction.submit(
        table,
        Change::Update {
            base,
            payload,
            lacking: None,
        },
    )
}

/// A transaction still knows the state of its first table after its last one.
#[test]
fn one_transaction_changes_hundreds_of_tables_and_the_first_again() {
    let engine = Engine::new(MemoryBackend::new(), EngineOptions::default());
    let tables: Vec<Table> = (0..600).map(numbered).collect();
    for round in 0..2 {
        let (end, ended) = mpsc::channel();
        let completion = Box::new(move |outcome: Result<()>| end.send(outcome).unwrap());
        let named = tables.clone();
        let work = Box::new(move |transaction: &Rc<Transaction>| {
            let mut objects = Vec::new();
            for table in named.iter().skip(round * 300).take(300) {
                objects.push((table, create(transaction, table)?));
            }
            for (table, object) in objects {
                let updated = update(transaction, table, object, 2)?;
                assert!(matches!(updated, Outcome::Updated(_)), "{updated:?}");
            }
            let again = create(transaction, &named[round * 300]);
            assert_eq!(again.unwrap_err().kind(), ErrorKind::AlreadyExists);
            Ok(())
        });
        engine.perform(tables.clone(), PerformOptions::default(), work, completion);
        ended.recv().unwrap().unwrap();
    }
    engine.shutdown(CloseOptions::default()).unwrap();
}
