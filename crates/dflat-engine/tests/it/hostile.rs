//! Malformed payloads: verification never panics or hangs, and never accepts one.

use dflat_engine::object::{TableView, Writer, equal, field_value, verify};
use dflat_model::{FieldKind, Scalar, Step, Value};

use crate::{field, table};

const SCHEMA: &str = "
    struct Point { x: int; y: int; }
    table Leaf { text: string; }
    union Choice { Leaf, Point, Words: string }
    table Node {
        key: string (primary);
        next: Node;
        nodes: [Node];
        points: [Point];
        choice: Choice;
        choices: [Choice];
        words: [string];
    }
    root_type Node;";

fn payload() -> Vec<u8> {
    let mut writer = Writer::new();
    let root = writer.begin();
    node(&mut writer, root, 2);
    writer.finish().unwrap().to_vec()
}

fn node(writer: &mut Writer, slot: dflat_engine::object::Slot, depth: usize) {
    assert!(writer.begin_table(slot));
    let key = writer.slot(4);
    let next = (depth > 0).then(|| writer.slot(6));
    let nodes = (depth > 0).then(|| writer.slot(8));
    let points = writer.slot(10);
    let choice = writer.slot(14);
    let codes = writer.slot(16);
    let choices = writer.slot(18);
    let words = writer.slot(20);
    writer.scalar(12, 1_u8);
    writer.end_table();
    writer.text(key, "key");
    if let Some(next) = next {
        node(writer, next, depth - 1);
    }
    if let Some(nodes) = nodes {
        let first = writer.slots(nodes, 2);
        node(writer, first, depth - 1);
        node(writer, first.nth(1), depth - 1);
    }
    writer.structures(points, 2, 8, 4).fill(7);
    assert!(writer.begin_table(choice));
    let text = writer.slot(4);
    writer.end_table();
    writer.text(text, "leaf");
    writer.leave();
    writer.scalars(codes, [2_u8, 3, 0, 9].into_iter());
    let first = writer.slots(choices, 4);
    writer.boxed_structure(first, 8, 4).fill(1);
    writer.text(first.nth(1), "words");
    writer.text(first.nth(3), "a member nobody knows");
    let first = writer.slots(words, 1);
    writer.text(first, "word");
    writer.leave();
}

/// A deterministic sequence of numbers (SplitMix64).
fn numbers(mut seed: u64) -> impl FnMut() -> u64 {
    move || {
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[test]
fn a_truncated_payload_is_refused_or_reads_within_bounds() {
    let table = table(SCHEMA);
    let whole = payload();
    verify(&table.types, &whole).unwrap();
    let refused = (0..whole.len())
        .filter(|len| verify(&table.types, &whole[..*len]).is_err())
        .count();
    // The last bytes may be a string's terminator and padding, which are never read.
    assert!(
        refused >= whole.len() - 4,
        "only {refused} of {} cuts were refused",
        whole.len()
    );
}

#[test]
fn random_damage_never_panics_and_accepted_payloads_can_be_read() {
    let table = table(SCHEMA);
    let whole = payload();
    let path = field(
        "next.choice.Leaf.text",
        &[
            Step::Field(6),
            Step::Field(14),
            Step::Member(1),
            Step::Field(4),
        ],
        FieldKind::Text,
        Value::Null,
    );
    let mut passed = 0;
    for seed in 0..20_000 {
        let mut next = numbers(seed);
        let mut bytes = whole.clone();
        for _ in 0..=next() % 3 {
            let position = next() as usize % bytes.len();
            bytes[position] = next() as u8;
        }
        let read = field_value(&bytes, &path);
        if verify(&table.types, &bytes).is_ok() {
            passed += 1;
            assert!(
                read.is_ok(),
                "seed {seed}: verified, but a field can't be read"
            );
        }
    }
    assert!(
        passed > 1_000,
        "damage to text and numbers should pass: {passed}"
    );
}

#[test]
fn a_small_payload_that_shares_parts_many_times_is_refused() {
    let table = table(SCHEMA);
    // The vector of each level points 16 times to the next level: 16^20 visits without a bound.
    let mut bytes = vec![0_u8; 4];
    let vtable = bytes.len();
    for word in [10_u16, 8, 0, 0, 4] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(&[0; 2]);
    let mut tables = Vec::new();
    for _ in 0..20 {
        let start = bytes.len();
        tables.push(start);
        bytes.extend_from_slice(&((start - vtable) as i32).to_le_bytes());
        bytes.extend_from_slice(&4_u32.to_le_bytes());
        bytes.extend_from_slice(&16_u32.to_le_bytes());
        for slot in 0..16_u32 {
            let next = start + 12 + 64;
            bytes.extend_from_slice(
                &((next - (start + 12 + slot as usize * 4)) as u32).to_le_bytes(),
            );
        }
    }
    let last = bytes.len();
    bytes.extend_from_slice(&((last - vtable) as i32).to_le_bytes());
    bytes.extend_from_slice(&4_u32.to_le_bytes());
    bytes.extend_from_slice(&0_u32.to_le_bytes());
    let root = tables[0] as u32;
    bytes[..4].copy_from_slice(&root.to_le_bytes());
    assert!(
        TableView::root(&bytes)
            .unwrap()
            .vector(8, 4)
            .unwrap()
            .is_some()
    );
    assert!(verify(&table.types, &bytes).is_err());
}

#[test]
fn a_payload_that_contains_itself_is_refused() {
    let table = table(SCHEMA);
    // A table whose `next` leads to itself is nested too deeply for verification.
    let mut writer = Writer::new();
    let mut slot = writer.begin();
    for _ in 0..64 {
        assert!(writer.begin_table(slot));
        slot = writer.slot(6);
        writer.end_table();
    }
    let bytes = writer.finish().unwrap().to_vec();
    // The last slot is empty. Its offset is 0, which leads to itself.
    assert!(verify(&table.types, &bytes).is_err());
}

#[test]
fn a_type_code_without_a_value_is_never_read() {
    let table = table(SCHEMA);
    let mut writer = Writer::new();
    let root = writer.begin();
    assert!(writer.begin_table(root));
    let key = writer.slot(4);
    writer.scalar(12, 1_u8);
    writer.end_table();
    writer.text(key, "key");
    let mut bytes = writer.finish().unwrap().to_vec();
    // In the vtable, the position of the code is far behind the payload.
    let number = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let root = number(0) as usize;
    let vtable = (root as i32 - number(root)) as usize;
    bytes[vtable + 12..vtable + 14].fill(0xFF);
    verify(&table.types, &bytes).unwrap();
    let tag = field(
        "choice",
        &[Step::Field(14), Step::Tag],
        FieldKind::Scalar(Scalar::U8),
        Value::Int(0),
    );
    assert_eq!(field_value(&bytes, &tag).unwrap().to_value(), Value::Int(0));
    assert!(equal(&table.types, &bytes, &[&bytes[..], &[0]].concat()));
}

#[test]
fn type_codes_without_values_are_refused() {
    let table = table(SCHEMA);
    for (codes, sound) in [(&[1_u8, 2][..], false), (&[], true)] {
        let mut writer = Writer::new();
        let root = writer.begin();
        assert!(writer.begin_table(root));
        let key = writer.slot(4);
        let slot = writer.slot(16);
        writer.end_table();
        writer.text(key, "key");
        writer.scalars(slot, codes.iter().copied());
        let bytes = writer.finish().unwrap();
        assert_eq!(verify(&table.types, bytes).is_ok(), sound);
    }
}

#[test]
fn an_empty_or_tiny_payload_is_refused() {
    let table = table(SCHEMA);
    for bytes in [
        &[][..],
        &[0],
        &[0; 4],
        &[4, 0, 0, 0],
        &[255; 8],
        &[4, 0, 0, 0, 255, 255, 255, 255],
    ] {
        assert!(verify(&table.types, bytes).is_err(), "{bytes:?}");
        let key = &table.primary_key[0];
        assert!(field_value(bytes, key).is_err(), "{bytes:?}");
    }
    let number = field(
        "n",
        &[Step::Offset(2)],
        FieldKind::Scalar(Scalar::I32),
        Value::Int(0),
    );
    assert!(
        field_value(&payload(), &number).is_err(),
        "a path that does not fit"
    );
}
