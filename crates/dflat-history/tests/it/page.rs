//! The examples of `docs/history-format.md`.

use std::fmt::Write;

use dflat_history::chunk::Address;
use dflat_history::node::{Node, NodeWriter};
use dflat_history::tree::Root;
use dflat_model::{ValueRef, key};

use crate::model::trees;

const PAGE: &str = include_str!("../../../../docs/history-format.md");

fn check(block: &str) {
    assert!(PAGE.contains(block), "the page lacks:\n{block}");
}

fn hexadecimal(bytes: &[u8]) -> String {
    let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}

#[test]
fn the_page_has_the_bytes_of_keys() {
    use ValueRef::{Float, Int, Null, Text};
    let cases: [(&str, &[ValueRef<'_>]); 15] = [
        ("NULL", &[Null]),
        ("0", &[Int(0)]),
        ("1", &[Int(1)]),
        ("256", &[Int(256)]),
        ("-1", &[Int(-1)]),
        ("-256", &[Int(-256)]),
        ("9223372036854775807", &[Int(i64::MAX)]),
        ("18446744073709551615", &[ValueRef::from_u64(u64::MAX)]),
        ("2.0", &[Float(2.0)]),
        ("2.5", &[Float(2.5)]),
        ("-2.5", &[Float(-2.5)]),
        ("1e300", &[Float(1e300)]),
        ("\"ab\"", &[Text("ab")]),
        ("\"a\\0b\"", &[Text("a\0b")]),
        ("(\"ab\", 7)", &[Text("ab"), Int(7)]),
    ];
    let mut block = String::new();
    for (name, values) in cases {
        let bytes = hexadecimal(&key::encode(values.iter().copied()));
        writeln!(block, "{name:<22}{bytes}").unwrap();
    }
    check(&block);
}

fn dump(node: &Node) -> String {
    let mut block = String::new();
    for (place, line) in node.chunk().bytes().chunks(16).enumerate() {
        writeln!(block, "{:>4}  {}", 16 * place, hexadecimal(line)).unwrap();
    }
    block
}

#[test]
fn the_page_has_the_bytes_of_a_leaf_and_of_its_parent() {
    let payload = Address::of(b"a payload");
    let mut writer = NodeWriter::new(0);
    for number in [1, 300] {
        writer.push(&key::encode([ValueRef::Int(number)]), &payload, 1);
    }
    let leaf = writer.finish();
    check(&dump(&leaf));
    check(&format!(
        "payload  {payload}\nleaf     {}\n",
        leaf.address()
    ));

    let mut writer = NodeWriter::new(1);
    writer.push(leaf.view().key(1), &leaf.address(), 2);
    check(&dump(&writer.finish()));
}

#[test]
fn the_page_has_the_roots_of_known_trees() {
    let mut block = String::new();
    for entries in [0, 1, 1000, 100_000] {
        let trees = trees();
        let entry = |number: i64| {
            (
                key::encode([ValueRef::Int(number)]),
                Address::of(b"a payload"),
            )
        };
        let root = trees.build((1..=entries).map(entry)).unwrap();
        writeln!(block, "{entries:>6}  {}", root.address()).unwrap();
        assert_eq!(entries == 0, root == Root::EMPTY);
    }
    check(&block);
}
