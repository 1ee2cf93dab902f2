use dflat_engine::object::{TableView, verify_as};
use dflat_model::{TypeDescriptor, TypeId};
use dflat_schema::{MemoryLoader, Options, compile, describe_types};

use super::{LEVEL_MAX, Node, NodeWriter};
use crate::chunk::{Address, Chunk};

fn node(level: u8, keys: &[&[u8]]) -> Node {
    let mut writer = NodeWriter::new(level);
    for (key, number) in keys.iter().zip(1..) {
        writer.push(key, &Address::of(key), number);
    }
    writer.finish()
}

fn samples() -> Vec<Node> {
    let long = vec![b'7'; 300];
    vec![
        node(0, &[]),
        node(0, &[b""]),
        node(0, &[b"a", b"ab", b"abc", b"b"]),
        node(0, &[b"", b"12345678", b"123456789", &long]),
        node(1, &[b"a", b"b"]),
        node(2, &[b"12345678a", b"12345678b", &long]),
    ]
}

/// Writes the values of a node again.
fn again(node: &Node) -> Node {
    let view = node.view();
    let mut writer = NodeWriter::new(view.level());
    for index in 0..view.len() {
        let entry = view.entry(index).unwrap();
        writer.push(entry.key, &entry.address, entry.count);
    }
    writer.finish()
}

#[test]
fn a_written_node_is_read_again() {
    for node in samples() {
        assert_eq!(Node::read(node.chunk().clone()).unwrap(), node);
        assert_eq!(again(&node), node);
        let checked = Chunk::checked(node.address(), node.chunk().bytes()).unwrap();
        assert_eq!(&checked, node.chunk());
    }
}

#[test]
fn an_entry_that_does_not_exist_is_empty() {
    for node in samples() {
        let view = node.view();
        for index in [view.len(), view.len() + 1, usize::MAX - 1, usize::MAX] {
            assert!(view.key(index).is_empty(), "{index}");
            assert_eq!(view.address(index), Address::from_bytes([0; 32]));
            assert_eq!(view.entry(index), None);
        }
    }
}

/// The address shows each flipped bit. Bytes with an address of their own are refused, or are
/// exactly the node of the values that are read from them.
#[test]
fn each_changed_byte_is_refused_or_is_another_node() {
    let (mut accepted, mut refused) = (0, 0);
    for node in samples() {
        let bytes = node.chunk().bytes();
        for place in 0..bytes.len() {
            for change in [1, 0x80, 0xff, bytes[place]] {
                let mut changed = bytes.to_vec();
                changed[place] ^= change;
                if changed == bytes {
                    continue;
                }
                assert!(Chunk::checked(node.address(), &*changed).is_err());
                match Node::read(Chunk::new(changed)) {
                    Ok(read) => {
                        assert_eq!(again(&read), read, "{place}");
                        accepted += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
        }
        for len in 0..bytes.len() {
            assert!(Node::read(Chunk::new(&bytes[..len])).is_err(), "{len}");
        }
        let longer = [bytes, &[0]].concat();
        assert!(Node::read(Chunk::new(longer)).is_err());
    }
    assert!(accepted > 500 && refused > 500, "{accepted} {refused}");
}

#[test]
fn lengths_beyond_the_message_are_refused() {
    for sample in samples() {
        let bytes = sample.chunk().bytes();
        for place in (0..bytes.len() - 4).step_by(2) {
            for number in [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, u32::MAX - 3] {
                let mut changed = bytes.to_vec();
                changed[place..place + 4].copy_from_slice(&number.to_le_bytes());
                if let Ok(read) = Node::read(Chunk::new(changed)) {
                    assert_eq!(again(&read), read, "{place} {number}");
                }
            }
        }
    }
}

#[test]
fn nodes_against_the_rules_of_entries_are_refused() {
    let long = vec![1; super::KEY_BYTES_MAX + 1];
    let cases: [(&str, u8, &[&[u8]]); 5] = [
        ("its keys do not ascend", 0, &[b"b", b"a"]),
        ("its keys do not ascend", 0, &[b"a", b"a"]),
        ("a key is too long", 0, &[&long]),
        ("it has no children", 1, &[]),
        ("its level is too high", LEVEL_MAX + 1, &[b"a"]),
    ];
    for (reason, level, keys) in cases {
        let message = Node::read(node(level, keys).chunk().clone()).unwrap_err();
        assert!(message.to_string().ends_with(reason), "{message}");
    }
    let mut writer = NodeWriter::new(1);
    writer.push(b"a", &Address::of(b""), 0);
    assert!(Node::read(writer.finish().chunk().clone()).is_err());
}

#[test]
fn a_lower_bound_is_that_of_a_sorted_list() {
    let texts = [
        "",
        "a",
        "aaaaaaaa",
        "aaaaaaaab",
        "aaaaaaab",
        "b\0",
        "b\0\0",
        "c",
        "cc",
    ];
    let keys: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
    let others = ["aaaaaaa", "aaaaaaaa\0", "b", "b\0\0\0", "d", "\0"];
    for from in 0..keys.len() {
        let node = node(0, &keys[from..]);
        let view = node.view();
        for key in texts.iter().chain(&others).map(|text| text.as_bytes()) {
            let expected = keys[from..].partition_point(|other| *other < key);
            assert_eq!(view.lower_bound(key), expected, "{key:?}");
            let found = keys[from..].contains(&key).then(|| Address::of(key));
            assert_eq!(view.find(key), found, "{key:?}");
        }
    }
}

/// Another reader, by the schema, sees the same values.
#[test]
fn a_node_is_a_message_of_its_schema() {
    let types = compiled();
    let of_node = |of: &TypeDescriptor| of.name() == "Node";
    let node_type = types.iter().position(of_node).unwrap();
    let node_type = TypeId(u16::try_from(node_type).unwrap());
    for node in samples() {
        let (bytes, view) = (node.chunk().bytes(), node.view());
        verify_as(&types, node_type, bytes).unwrap();
        let table = TableView::root(bytes).unwrap();
        assert_eq!(table.scalar::<u8>(4), Ok(Some(view.level())));
        let offsets = table.vector(6, 2).unwrap().unwrap();
        let keys = table.vector(8, 1).unwrap().unwrap();
        let addresses = table.vector(10, 32).unwrap().unwrap();
        assert_eq!(offsets.len(), view.len() + 1);
        assert_eq!(addresses.len(), view.len());
        let offset = |index| usize::from(offsets.scalar::<u16>(index).unwrap());
        for index in 0..view.len() {
            let key: Vec<u8> = (offset(index)..offset(index + 1))
                .map(|place| keys.scalar(place).unwrap())
                .collect();
            assert_eq!(key, view.key(index));
        }
        let counts = table.vector(12, 8).unwrap();
        let ends: Vec<u64> = counts
            .map(|counts| {
                (0..counts.len())
                    .map(|at| counts.scalar(at).unwrap())
                    .collect()
            })
            .unwrap_or_default();
        assert_eq!(ends, view.count_ends().collect::<Vec<_>>());
    }
}

fn compiled() -> Vec<TypeDescriptor> {
    // Without a primary key, no type can be stored, so there is no root type for Dflat.
    let text = include_str!("node.fbs").replace("root_type Node;", "");
    let loader = MemoryLoader::new().with_file("node.fbs", &text);
    let compilation = compile(&["node.fbs".to_owned()], &loader, &Options::default());
    let diagnostics = &compilation.diagnostics;
    let schema = compilation
        .schema
        .unwrap_or_else(|| panic!("{diagnostics:?}"));
    describe_types(&schema)
}
