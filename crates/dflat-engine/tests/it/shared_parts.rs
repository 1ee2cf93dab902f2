//! Payloads whose parts are referred to several times, as writers of FlatBuffers make them.

use dflat_engine::ErrorKind;
use dflat_engine::fetch::{self, Control};
use dflat_engine::object::{Object, Origin, TableView, verify};
use dflat_engine::storage::{Backend, MemoryBackend, RowWrite, View};
use dflat_engine::transaction::derive;
use dflat_model::{Query, RowId, Table, ValueRef};
use flatbuffers::{FlatBufferBuilder, WIPOffset};
use std::sync::Arc;

use crate::table;

const SCHEMA: &str = "
    table Leaf { text: string; numbers: [int]; }
    table Root {
        key: string (primary);
        words: [string];
        leaves: [Leaf];
        text: string;
    }
    root_type Root;";

fn root(
    write: impl for<'b> FnOnce(&mut FlatBufferBuilder<'b>) -> Vec<(u16, WIPOffset<()>)>,
) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let fields = write(&mut builder);
    let key = builder.create_string("key");
    let start = builder.start_table();
    builder.push_slot_always(4, key);
    for (voffset, part) in fields {
        builder.push_slot_always(voffset, part);
    }
    let end = builder.end_table(start);
    builder.finish_minimal(end);
    builder.finished_data().to_vec()
}

/// A payload with a vector of strings, in which each text occurs so often and is stored once.
fn words(texts: &[String], each: usize) -> Vec<u8> {
    root(|builder| {
        let shared: Vec<_> = texts
            .iter()
            .map(|text| builder.create_shared_string(text))
            .collect();
        let all: Vec<_> = (0..each).flat_map(|_| shared.clone()).collect();
        let words = builder.create_vector(&all);
        vec![(6, WIPOffset::new(words.value()))]
    })
}

/// A payload with so many leaves that share one string and one vector of numbers.
fn leaves(text: &str, numbers: &[i32], count: usize) -> Vec<u8> {
    root(|builder| {
        let (text, numbers) = (builder.create_string(text), builder.create_vector(numbers));
        let leaf = |builder: &mut FlatBufferBuilder<'_>| {
            let start = builder.start_table();
            builder.push_slot_always(4, text);
            builder.push_slot_always(6, numbers);
            builder.end_table(start)
        };
        let all: Vec<_> = (0..count).map(|_| leaf(builder)).collect();
        let leaves = builder.create_vector(&all);
        vec![(8, WIPOffset::new(leaves.value()))]
    })
}

/// A payload with one leaf that is in a vector so often.
fn one_leaf(text: &str, count: usize) -> Vec<u8> {
    root(|builder| {
        let text = builder.create_string(text);
        let start = builder.start_table();
        builder.push_slot_always(4, text);
        let leaf = builder.end_table(start);
        let leaves = builder.create_vector(&vec![leaf; count]);
        vec![(8, WIPOffset::new(leaves.value()))]
    })
}

fn is_accepted(payload: &[u8]) -> bool {
    verify(&table(SCHEMA).types, payload).is_ok()
}

fn texts(count: usize, len: usize) -> Vec<String> {
    (0..count).map(|n| format!("{n:0len$}")).collect()
}

#[test]
fn payload_with_shared_strings_is_accepted() {
    // As in the report: 100 entries of one string of 1,000 bytes.
    let payload = words(&texts(1, 1_000), 100);
    assert!(payload.len() < 2_000, "{}", payload.len());
    assert!(is_accepted(&payload));
    let words_of = TableView::root(&payload).unwrap().vector(6, 4).unwrap();
    assert_eq!(words_of.unwrap().text(99).unwrap().len(), 1_000);

    assert!(is_accepted(&words(&texts(1, 1_000), 10_000)));
    assert!(is_accepted(&words(&texts(50, 500), 1_000)));
    assert!(is_accepted(&words(&texts(3, 10_000), 100)));
    assert!(is_accepted(&words(&texts(1, 0), 100_000)));
}

#[test]
fn payload_with_shared_vectors_and_tables_is_accepted() {
    let text = "a".repeat(1_000);
    assert!(is_accepted(&leaves(&text, &[7; 1_000], 1_000)));
    assert!(is_accepted(&one_leaf(&text, 1_000)));
    assert!(is_accepted(&one_leaf("", 100_000)));
}

#[test]
fn payload_that_shares_strings_beyond_the_limit_is_refused() {
    // Without sharing: 6 GB, and 200 MB.
    assert!(!is_accepted(&words(&texts(1, 60_000), 100_000)));
    assert!(!is_accepted(&words(&texts(1, 20_000), 10_000)));
    // Within 256 bytes for each byte: 25 MB of 125 KB.
    assert!(is_accepted(&words(&texts(1, 1_000), 25_000)));
}

#[test]
fn payload_that_shares_vectors_of_numbers_beyond_the_limit_is_refused() {
    // Without sharing: 800 MB.
    assert!(!is_accepted(&leaves("", &[7; 10_000], 20_000)));
}

#[test]
fn damaged_shared_string_is_refused() {
    let mut payload = words(&texts(1, 1_000), 100);
    let at = payload.windows(4).rposition(|bytes| bytes == b"0000");
    payload[at.unwrap()] = 0xFF;
    assert!(!is_accepted(&payload));
}

// Promise: storage-format#S25
#[test]
fn error_of_a_payload_beyond_the_limits_names_the_limit() {
    let table = table(SCHEMA);
    let read = |payload: &[u8]| {
        let backend = MemoryBackend::new();
        store(&backend, &table, payload);
        let mut snapshot = Arc::clone(&backend).snapshot(View::Latest).unwrap();
        let (query, control) = (Query::default(), Control::default());
        fetch::fetch(&mut *snapshot, &table, &query, &control, Origin::default())
    };
    for (payload, limit) in [
        (words(&texts(1, 20_000), 10_000), "256 bytes"),
        (leaves("", &[7; 10_000], 20_000), "256 bytes"),
        (one_leaf(&"é".repeat(10), 9), ""),
    ] {
        if limit.is_empty() {
            assert_eq!(read(&payload).unwrap().len(), 1);
            continue;
        }
        let error = read(&payload).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(limit), "{error}");
        let error = derive(&table, &payload).unwrap_err();
        assert!(error.to_string().contains(limit), "{error}");
    }
    let damaged = &words(&texts(1, 10), 1)[..20];
    let error = read(damaged).unwrap_err();
    assert!(!error.to_string().contains("shared"), "{error}");
    assert!(Object::new(&table, RowId(1), Origin::default(), damaged).is_err());
}

fn store(backend: &Arc<MemoryBackend>, table: &Table, payload: &[u8]) {
    let durability = backend.durability();
    let mut writer = Arc::clone(backend).begin(durability).unwrap();
    writer.create(table).unwrap();
    let row = RowWrite {
        key: Some(&[ValueRef::Text("key")]),
        payload,
        entries: &[],
    };
    assert!(writer.insert(table, &row).is_ok());
    writer.commit().unwrap();
}
