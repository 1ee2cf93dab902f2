//! Object handles and batches.

use dflat_engine::object::{Object, ObjectBatch, Origin, Writer, equal};
use dflat_model::{CommitSeq, RowId, Table};

use crate::table;

const SCHEMA: &str = "
    struct Padded { flag: bool; number: long; }
    table Doc { key: string (primary); n: int = 7; text: string; ratio: double; list: [int]; p: Padded; }
    root_type Doc;";

fn doc(build: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new();
    let root = writer.begin();
    assert!(writer.begin_table(root));
    build(&mut writer);
    writer.leave();
    writer.finish().unwrap().to_vec()
}

fn named(key: &str) -> Vec<u8> {
    doc(|writer| {
        let slot = writer.slot(4);
        writer.end_table();
        writer.text(slot, key);
    })
}

#[test]
fn a_batch_keeps_payloads_and_row_ids_of_any_size_and_order() {
    let table = table(SCHEMA);
    let origin = Origin {
        engine: 1,
        seq: CommitSeq(3),
        transaction: 4,
    };
    let mut batch = ObjectBatch::new(&table, origin);
    let mut expected = Vec::new();
    let ids = [1, 2, i64::MAX, 5, -9, i64::MIN, 4_000_000_000, 6];
    for (index, id) in ids.into_iter().cycle().take(400).enumerate() {
        let payload = named(&"x".repeat(index * index));
        batch.push(RowId(id), &payload).unwrap();
        expected.push((RowId(id), payload));
    }
    assert!(batch.push(RowId(1), b"not a payload").is_err());
    assert_eq!(batch.len(), 400);
    let objects = batch.finish();
    for (object, (id, payload)) in objects.iter().zip(&expected) {
        assert_eq!(
            (object.row_id(), object.payload()),
            (*id, payload.as_slice())
        );
        let alone = object.detach();
        assert_eq!((alone.row_id(), alone.payload()), (*id, payload.as_slice()));
        assert_eq!(alone.origin(), origin);
    }
    assert_eq!(size_of::<Object>(), 16);
}

fn same(table: &Table, a: &[u8], b: &[u8]) -> bool {
    let forwards = equal(&table.types, a, b);
    assert_eq!(forwards, equal(&table.types, b, a), "equality is symmetric");
    forwards
}

#[test]
fn equality_is_by_value_with_defaults_and_float_bits() {
    let table = table(SCHEMA);
    let absent = doc(Writer::end_table);
    let with = |build: fn(&mut Writer)| doc(build);
    let default = with(|writer| {
        writer.scalar(6, 7_i32);
        writer.end_table();
    });
    assert!(same(&table, &absent, &default), "a default written out");
    let other = with(|writer| {
        writer.scalar(6, 8_i32);
        writer.end_table();
    });
    assert!(!same(&table, &absent, &other));
    let empty_list = with(|writer| {
        let list = writer.slot(12);
        writer.end_table();
        writer.scalars(list, std::iter::empty::<i32>());
    });
    assert!(
        same(&table, &absent, &empty_list),
        "accessors show no difference"
    );
    let empty_text = with(|writer| {
        let text = writer.slot(8);
        writer.end_table();
        writer.text(text, "");
    });
    assert!(
        !same(&table, &absent, &empty_text),
        "an empty string is not an absent one"
    );
    let negative_zero = with(|writer| {
        writer.scalar(10, -0.0_f64);
        writer.end_table();
    });
    assert!(!same(&table, &absent, &negative_zero));
    let nan = with(|writer| {
        writer.scalar(10, f64::NAN);
        writer.end_table();
    });
    let reordered_nan = with(|writer| {
        writer.scalar(6, 7_i32);
        writer.scalar(10, f64::NAN);
        writer.end_table();
    });
    assert!(same(&table, &nan, &reordered_nan), "NaN equals itself");
}

#[test]
fn padding_of_structs_is_not_compared() {
    let table = table(SCHEMA);
    let padded = |filler: u8| {
        doc(|writer| {
            let bytes = writer.structure(14, 16, 8);
            bytes.fill(filler);
            bytes[0] = 1;
            bytes[8..].fill(5);
            writer.end_table();
        })
    };
    assert_ne!(padded(0), padded(9));
    assert!(same(&table, &padded(0), &padded(9)));
}
