//! Files of layers: the documented bytes, damage, and files of other programs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use dflat_engine::ErrorKind;
use dflat_engine::object::Writer;
use dflat_model::record::payload_hash;
use dflat_model::{Table, ValueRef};
use dflat_pack::{OpenOptions, Pack};
use dflat_schema::{MemoryLoader, compile, describe};
use xxhash_rust::xxh3::xxh3_64;

use crate::words::{key, word, words};

const SCHEMA: &str = "table Word { word: string (primary); rank: int; } root_type Word;";

/// The type of the example in the documentation.
fn documented_words() -> Table {
    let loader = MemoryLoader::new().with_file("word.fbs", SCHEMA);
    let compiled = compile(&["word.fbs".to_owned()], &loader, &Default::default());
    let schema = compiled.schema.unwrap();
    Table::new(describe(&schema, schema.files[0].root.unwrap()))
}

fn documented_word(name: &str, rank: i32) -> Vec<u8> {
    let mut writer = Writer::new();
    let root = writer.begin();
    assert!(writer.begin_table(root));
    let text = writer.slot(4);
    if rank != 0 {
        writer.scalar(6, rank);
    }
    writer.end_table();
    writer.text(text, name);
    writer.leave();
    writer.finish().unwrap().to_vec()
}

/// The bytes below a caption of the page.
fn documented(caption: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pack-format.md");
    let page = fs::read_to_string(path).unwrap();
    let (_, rest) = page.split_once(&format!("\n{caption}:\n\n")).unwrap();
    let lines = rest.lines().take_while(|line| line.starts_with("    "));
    let numbers = lines.flat_map(|line| {
        let numbers = line.trim_start().split("  ").next().unwrap_or("");
        numbers.split_whitespace()
    });
    let number = |number: &str| u8::from_str_radix(number, 16).unwrap();
    numbers.map(number).collect()
}

/// The base and the layer of the example in the documentation.
fn example(directory: &Path) -> (Pack, Pack) {
    let table = documented_words();
    let objects = ["plum", "pear"].map(|name| (table.clone(), documented_word(name, 0)));
    let base = Pack::build(directory, [table.clone()], objects).unwrap();
    let edit = base.edit().upsert(&table, &documented_word("pear", 5));
    let edit = edit.upsert(&table, &documented_word("apple", 0));
    let layer = edit.remove(&table, &[ValueRef::Text("plum")]).finish();
    (base, layer.unwrap().save(directory).unwrap())
}

#[test]
fn documented_layer_is_written_and_read() {
    let directory = tempfile::tempdir().unwrap();
    let (base, layer) = example(directory.path());
    let bytes = fs::read(layer.path()).unwrap();
    let page = documented("A layer");
    assert!(bytes == page, "{bytes:02x?}");
    fs::remove_file(layer.path()).unwrap();
    fs::write(layer.digest().path_in(directory.path()), page).unwrap();
    let opened = Pack::open(layer.path()).unwrap();
    assert_eq!(opened.bases().collect::<Vec<_>>(), [base.digest()]);
    let objects = opened.objects(&documented_words()).unwrap();
    let payloads: Vec<_> = objects
        .iter()
        .map(|object| object.unwrap().payload().to_vec())
        .collect();
    let expected = [documented_word("apple", 0), documented_word("pear", 5)];
    assert_eq!(payloads, expected);
}

/// Opens a file under a name that states no digest.
fn opened(directory: &Path, bytes: &[u8]) -> dflat_engine::Result<Pack> {
    let path = directory.join("changed.pack");
    fs::write(&path, bytes).unwrap();
    Pack::open(path)
}

#[test]
fn each_changed_bit_and_each_cut_of_a_layer_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let (_, layer) = example(directory.path());
    let bytes = fs::read(layer.path()).unwrap();
    assert!(opened(directory.path(), &bytes).is_ok());
    for bit in 0..8 * bytes.len() {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let error = opened(directory.path(), &changed).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "bit {bit}: {error}");
    }
    for len in 0..bytes.len() {
        let error = opened(directory.path(), &bytes[..len]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{len} bytes: {error}");
    }
    let longer = [&bytes[..], &[0; 8]].concat();
    assert!(opened(directory.path(), &longer).is_err());
    // A file under the name of another one.
    let other = dflat_pack::Digest([7; 32]).path_in(directory.path());
    fs::copy(layer.path(), &other).unwrap();
    let error = Pack::open(other).unwrap_err();
    assert!(
        error.to_string().ends_with("its content has another name"),
        "{error}"
    );
}

/// A file of a layer with this base and this record, whose checksums and whose digest are right.
fn file_of(base: dflat_pack::Digest, record: &[u8]) -> Vec<u8> {
    let mut body = base.0.to_vec();
    body.extend_from_slice(record);
    body.extend_from_slice(&(payload_hash(record) as u32).to_le_bytes());
    let mut digest = blake3::Hasher::new();
    digest.update(b"dflat layer 0001").update(&body);
    let header = *b"\x93DPACK\r\n\x01\0\x01\x01\0\0\0\0";
    let mut footer = header.to_vec();
    for number in [16, body.len() as u64, xxh3_64(&body)] {
        footer.extend_from_slice(&number.to_le_bytes());
    }
    footer.extend_from_slice(digest.finalize().as_bytes());
    let checksum = xxh3_64(&footer);
    footer.extend_from_slice(&checksum.to_le_bytes());
    footer.extend_from_slice(&header[..8]);
    let mut bytes = [&header[..], &body].concat();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend_from_slice(&footer[16..]);
    bytes
}

/// Reads everything. A pack that was opened is as consistent as any.
fn read(pack: &Pack) {
    let objects = pack.objects(&documented_words()).unwrap();
    let mut count = 0;
    let mut last: Option<String> = None;
    for (position, object) in (0..).zip(objects.iter()) {
        let object = object.unwrap();
        let field = &documented_words().primary_key[0].clone();
        let value = dflat_engine::object::field_value(object.payload(), field).unwrap();
        let name = match value {
            ValueRef::Text(name) => name.to_owned(),
            other => panic!("{other:?}"),
        };
        assert!(last.as_ref().is_none_or(|last| *last < name));
        assert_eq!(objects.index_of(&key(&name)).unwrap(), Some(position));
        assert!(objects.nth(position).unwrap().is_some());
        last = Some(name);
        count += 1;
    }
    assert_eq!(count, objects.len());
    let _ = pack.verify_objects();
    let directory = tempfile::tempdir().unwrap();
    let _ = pack.compact(directory.path());
}

#[test]
fn layers_of_other_programs_are_refused_or_read_consistently() {
    let directory = tempfile::tempdir().unwrap();
    let (base, layer) = example(directory.path());
    let bytes = fs::read(layer.path()).unwrap();
    // The record follows the header and the base, and 4 bytes of checksum and 6 zeros follow it.
    let end = bytes.len() - 72 - 6 - 4;
    let record = &bytes[48..end];
    assert!(file_of(base.digest(), record) == bytes);
    let mut read_count = 0;
    let mut check = |record: &[u8]| match opened(directory.path(), &file_of(base.digest(), record))
    {
        Ok(pack) => {
            read(&pack);
            read_count += 1;
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}"),
    };
    for at in 0..record.len() {
        for with in [0, 1, 2, 3, 0x7f, 0x80, 0xff] {
            for changed in [with, record[at].wrapping_add(with), record[at] ^ with] {
                let mut record = record.to_vec();
                record[at] = changed;
                check(&record);
            }
        }
        check(&record[..at]);
        // A length of nearly 2^64.
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        check(&[&record[..at], &huge, &record[at + 1..]].concat());
    }
    // Unchanged records are among them, and some changes of values give other objects.
    assert!(read_count > record.len(), "{read_count}");
    let missing = opened(
        directory.path(),
        &file_of(dflat_pack::Digest([1; 32]), record),
    );
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn layer_that_does_not_fit_its_base_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let base = |name: &str| {
        let objects = [(words(), word(name, 1, None))];
        Pack::build(directory.path(), [words()], objects).unwrap()
    };
    let (pears, plums) = (base("pear"), base("plum"));
    let same = |pack: &Pack| pack.edit().upsert(&words(), &word("pear", 2, None));
    let updated = same(&pears)
        .finish()
        .unwrap()
        .save(directory.path())
        .unwrap();
    let inserted = same(&plums)
        .finish()
        .unwrap()
        .save(directory.path())
        .unwrap();
    let removed = pears
        .edit()
        .remove(&words(), &key("pear"))
        .finish()
        .unwrap();
    let removed = removed.save(directory.path()).unwrap();
    for (pack, base) in [(&updated, &plums), (&inserted, &pears), (&removed, &plums)] {
        let bytes = fs::read(pack.path()).unwrap();
        let end = 16 + u64::from_le_bytes(bytes[bytes.len() - 64..][..8].try_into().unwrap());
        let record = &bytes[48..end as usize - 4];
        let error = opened(directory.path(), &file_of(base.digest(), record)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(
            error
                .to_string()
                .ends_with("its changes do not fit its base"),
            "{error}"
        );
    }
}

#[test]
fn layer_beyond_the_bound_is_refused_before_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let (_, layer) = example(directory.path());
    let path: PathBuf = directory.path().join("large.pack");
    fs::copy(layer.path(), &path).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    // The file has a hole, so it takes no space.
    file.set_len(1 << 41).unwrap();
    let error = Pack::open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(
        error.to_string().contains("its layers have more than"),
        "{error}"
    );
}

#[test]
fn verify_finds_a_layer_that_was_changed_since_it_was_opened() {
    let directory = tempfile::tempdir().unwrap();
    let (_, layer) = example(directory.path());
    let pack = Pack::open_with(layer.path(), OpenOptions::default()).unwrap();
    pack.verify().unwrap();
    let mut bytes = fs::read(layer.path()).unwrap();
    bytes[100] ^= 1;
    fs::write(layer.path(), bytes).unwrap();
    let error = pack.verify().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    // The layer is in memory, so reads do not depend on the file.
    read(&pack);
}

#[test]
fn size_of_a_pack_is_that_of_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let table = documented_words();
    // The bodies of these layers end at each place before a multiple of 8.
    for name in [
        "a", "aa", "aaa", "aaaa", "aaaaa", "aaaaaa", "aaaaaaa", "aaaaaaaa",
    ] {
        let base = [(table.clone(), documented_word("plum", 0))];
        let base = Pack::build(directory.path(), [table.clone()], base).unwrap();
        let edit = base.edit().upsert(&table, &documented_word(name, 0));
        let layered = edit.finish().unwrap();
        let saved = layered.save(directory.path()).unwrap();
        let files = [base.path(), saved.path()].map(|path| fs::metadata(path).unwrap().len());
        for pack in [layered, Pack::open(saved.path()).unwrap(), saved] {
            assert_eq!(pack.size_bytes(), files.iter().sum::<u64>(), "{name}");
        }
    }
}
