//! Compressed packs: their names, their answers, and damage.

use std::fs::{self, OpenOptions as FileOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use dflat_engine::ErrorKind;
use dflat_engine::object::Object;
use dflat_model::Table;
use dflat_pack::{BuildOptions, Compression, OpenOptions, Pack};

use crate::damage::Forged;
use crate::words::{Random, build, empty, key, place, places, word, words};

const BOTH: [Compression; 2] = [Compression::Lz4, Compression::Zstd];

/// Objects with notes that compress well, that do not, and that are longer than a block.
fn objects(random: &mut Random, count: u64) -> Vec<(Table, Vec<u8>)> {
    let mut objects = Vec::new();
    for number in 0..count {
        let note = match number % 97 {
            0 => "long ".repeat(4000),
            1..10 => (0..300)
                .map(|_| (b' ' + random.below(95) as u8) as char)
                .collect(),
            _ => format!("the note of {number} ").repeat(1 + random.below(12) as usize),
        };
        let name = format!("w{number:05}");
        objects.push((words(), word(&name, (number % 5) as i32, Some(&note))));
        if number % 7 == 0 {
            objects.push((places(), place(number as i64, 0.5, "here")));
        }
    }
    random.shuffle(&mut objects);
    objects
}

fn built(directory: &Path, objects: &[(Table, Vec<u8>)], compression: Compression) -> Pack {
    let options = BuildOptions::default()
        .memory_max(64 << 10)
        .compression(compression);
    let directory = directory.join(format!("{compression:?}"));
    fs::create_dir_all(&directory).unwrap();
    build(&directory, &[words(), places(), empty()], objects, options).unwrap()
}

fn all(pack: &Pack, table: &Table) -> Vec<Vec<u8>> {
    let objects = pack.objects(table).unwrap();
    let payload = |object: dflat_engine::Result<Object>| object.unwrap().payload().to_vec();
    let forth: Vec<_> = objects.iter().map(payload).collect();
    let mut back: Vec<_> = objects.iter().rev().map(payload).collect();
    back.reverse();
    assert_eq!(forth, back);
    forth
}

#[test]
fn compressed_packs_have_the_name_and_the_answers_of_plain_ones() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new(8);
    let count = 700;
    let objects = objects(&mut random, count);
    let plain = built(directory.path(), &objects, Compression::None);
    for compression in BOTH {
        let pack = built(directory.path(), &objects, compression);
        assert_eq!(pack.digest(), plain.digest());
        assert_eq!(pack.path().file_name(), plain.path().file_name());
        let (size, plain_size) = (pack.size_bytes(), plain.size_bytes());
        assert!(size * 2 < plain_size, "{size} of {plain_size}");
        pack.verify().unwrap();
        pack.verify_objects().unwrap();
        for check in [true, false] {
            let options = OpenOptions::default().check_blocks(check);
            let pack = Pack::open_with(pack.path(), options).unwrap();
            for table in [words(), places(), empty()] {
                assert_eq!(all(&pack, &table), all(&plain, &table));
            }
            let (found, expected) = (
                pack.objects(&words()).unwrap(),
                plain.objects(&words()).unwrap(),
            );
            for _ in 0..300 {
                let name = format!("w{:05}", random.below(count * 2));
                let key = key(&name);
                let one = found.get(&key).unwrap();
                let other = expected.get(&key).unwrap();
                assert_eq!(
                    one.as_ref().map(Object::payload),
                    other.as_ref().map(Object::payload)
                );
                let place = found.index_of(&key).unwrap();
                assert_eq!(place, expected.index_of(&key).unwrap());
                let range = found.positions(&key[..]..).unwrap();
                assert_eq!(range, expected.positions(&key[..]..).unwrap());
            }
            let names: Vec<String> = (0..count).map(|number| format!("w{number:05}")).collect();
            let keys: Vec<_> = names.iter().map(|name| key(name)).collect();
            let many = found.get_many(&keys).unwrap();
            assert!(many.iter().all(Option::is_some));
        }
    }
}

#[test]
fn layers_over_compressed_packs_are_read_saved_and_compacted() {
    let directory = tempfile::tempdir().unwrap();
    let objects = objects(&mut Random::new(9), 300);
    let mut changed = objects.clone();
    changed.retain(|(_, payload)| *payload != objects[0].1);
    changed.push((words(), word("w00005x", 3, Some("new"))));
    let direct = built(directory.path(), &changed, Compression::None);
    let direct_bytes = fs::read(direct.path()).unwrap();
    for compression in BOTH {
        let base = built(directory.path(), &objects, compression);
        let (table, first) = &objects[0];
        let first = dflat_engine::transaction::derive(table, first).unwrap();
        let key: Vec<_> = first.key.iter().map(dflat_model::Value::as_ref).collect();
        let edit = base.edit().remove(table, &key);
        let layered = edit.upsert(&words(), &word("w00005x", 3, Some("new")));
        let folder = base.path().parent().unwrap();
        let saved = layered.finish().unwrap().save(folder).unwrap();
        let opened = Pack::open(saved.path()).unwrap();
        opened.verify().unwrap();
        for table in [words(), places()] {
            assert_eq!(all(&opened, &table), all(&direct, &table));
        }
        let other = directory.path().join("compacted");
        fs::create_dir_all(&other).unwrap();
        let compacted = opened.compact(&other).unwrap();
        assert_eq!(fs::read(compacted.path()).unwrap(), direct_bytes);
        let options = BuildOptions::default().compression(compression);
        let compacted = opened.compact_with(&other, options).unwrap();
        assert_eq!(compacted.digest(), direct.digest());
        assert!(compacted.size_bytes() < direct.size_bytes());
    }
}

#[test]
fn each_changed_byte_of_a_compressed_pack_is_found() {
    let directory = tempfile::tempdir().unwrap();
    for compression in BOTH {
        let objects: Vec<_> = (0..9)
            .map(|number| {
                let note = "again and ".repeat(90);
                (words(), word(&format!("w{number}"), number, Some(&note)))
            })
            .collect();
        let pack = built(directory.path(), &objects, compression);
        let expected = all(&pack, &words());
        let path = directory.path().join("copy");
        fs::copy(pack.path(), &path).unwrap();
        let sound = fs::read(&path).unwrap();
        let file = FileOptions::new().write(true).open(&path).unwrap();
        for (at, byte) in sound.iter().enumerate() {
            // Padding is tested with plain packs.
            if (100..4096).contains(&at) {
                continue;
            }
            file.write_all_at(&[byte ^ 1 << (at % 8)], at as u64)
                .unwrap();
            let verified = Pack::open(&path).and_then(|pack| {
                for (object, expected) in pack.objects(&words())?.iter().zip(&expected) {
                    match object {
                        Ok(object) => assert_eq!(object.payload(), expected),
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt),
                    }
                }
                pack.verify()
            });
            let error = verified.expect_err("the change is found");
            // The compression is compared with the checksum of the directory first.
            assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {at}: {error}");
            // Without checks, the bytes are decompressed all the same.
            let options = OpenOptions::default().check_blocks(false);
            if let Ok(pack) = Pack::open_with(&path, options) {
                let objects = pack.objects(&words()).unwrap();
                assert!(objects.iter().count() == expected.len());
            }
            file.write_all_at(&[*byte], at as u64).unwrap();
        }
    }
}

/// The place of the compression in the directory: behind the types, the descriptor and four
/// numbers of the run.
fn compression_of(forged: &Forged) -> usize {
    let (start, _) = forged.directory();
    start + 16 + forged.number(start + 8) as usize + 32
}

#[test]
fn unknown_compressions_are_refused_as_unsupported() {
    let directory = tempfile::tempdir().unwrap();
    let objects = objects(&mut Random::new(3), 30);
    let pack = built(directory.path(), &objects, Compression::Lz4);
    let path = directory.path().join("copy");
    let mut forged = Forged::of(fs::read(pack.path()).unwrap());
    // The places come first.
    let at = compression_of(&forged);
    assert_eq!(forged.bytes[at], 1);
    forged.bytes[at] = 3;
    forged.seal();
    fs::write(&path, &forged.bytes).unwrap();
    let error = Pack::open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("compression 3"), "{error}");
}

/// The lengths of blocks are compared with their stored bytes before memory is reserved.
#[test]
fn huge_lengths_of_decompressed_blocks_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let pack = built(
        directory.path(),
        &[(words(), word("a", 1, Some(&"n".repeat(3000))))],
        Compression::Zstd,
    );
    let path = directory.path().join("copy");
    let sound = Forged::of(fs::read(pack.path()).unwrap()).bytes;
    let mut refused = 0;
    for number in [u64::MAX, 1 << 40, 1 << 31, 1 << 24] {
        let mut forged = Forged::of(sound.clone());
        // The type with one object is the last: its length before compression is behind the
        // sections of its run.
        let (start, end) = forged.directory();
        let lengths = (start..end - 8).filter(|at| forged.number(*at) == forged_len(&sound));
        for at in lengths.collect::<Vec<_>>() {
            forged.bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
            refused += 1;
        }
        forged.seal();
        fs::write(&path, &forged.bytes).unwrap();
        let error = Pack::open(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
    assert!(refused >= 4);
}

/// The length of the only block before compression: that of the object, up to a multiple of 8.
fn forged_len(sound: &[u8]) -> u64 {
    let payload = word("a", 1, Some(&"n".repeat(3000)));
    assert!(sound.len() < payload.len() + 4096);
    (payload.len() as u64).next_multiple_of(8)
}
