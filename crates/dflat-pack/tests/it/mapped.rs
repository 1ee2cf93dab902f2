//! Packs in memory maps: the answers of other packs, and damage from before.
#![allow(unsafe_code, reason = "the tests change no file that is mapped")]

use std::fs;
use std::path::Path;

use dflat_engine::ErrorKind;
use dflat_engine::object::Object;
use dflat_pack::{BuildOptions, Compression, OpenOptions, Pack};

use crate::words::{Random, build, key, place, places, word, words};

pub(crate) fn mapped(path: &Path, check: bool) -> dflat_engine::Result<Pack> {
    let options = OpenOptions::default().check_blocks(check);
    // SAFETY: No test changes a file while it is open.
    unsafe { Pack::open_mapped(path, options) }
}

fn compressions() -> Vec<Compression> {
    vec![
        Compression::None,
        #[cfg(feature = "lz4")]
        Compression::Lz4,
    ]
}

fn payloads(objects: impl Iterator<Item = dflat_engine::Result<Object>>) -> Vec<Vec<u8>> {
    objects
        .map(|object| object.unwrap().payload().to_vec())
        .collect()
}

/// Compares all answers of two packs.
fn compare(mapped: &Pack, read: &Pack, random: &mut Random) {
    for table in [words(), places()] {
        let (mapped, read) = (
            mapped.objects(&table).unwrap(),
            read.objects(&table).unwrap(),
        );
        assert_eq!(payloads(mapped.iter()), payloads(read.iter()));
        assert_eq!(payloads(mapped.iter().rev()), payloads(read.iter().rev()));
        for part in mapped.split(3) {
            let positions = part.positions();
            assert_eq!(payloads(part), payloads(read.slice(positions)));
        }
    }
    let (mapped, read) = (
        mapped.objects(&words()).unwrap(),
        read.objects(&words()).unwrap(),
    );
    let names: Vec<String> = (0..200)
        .map(|_| format!("w{}", random.below(2000)))
        .collect();
    let keys: Vec<_> = names.iter().map(|name| key(name)).collect();
    let payload = |object: Option<Object>| object.map(|object| object.payload().to_vec());
    let mut reader = mapped.reader();
    for key in &keys {
        let found = payload(mapped.get(key).unwrap());
        assert_eq!(found, payload(read.get(key).unwrap()));
        assert_eq!(found.as_deref(), reader.payload(key).unwrap());
        let range = mapped.positions(&key[..]..).unwrap();
        assert_eq!(range, read.positions(&key[..]..).unwrap());
        let at = random.below(2000);
        assert_eq!(
            payload(mapped.nth(at).unwrap()),
            payload(read.nth(at).unwrap())
        );
    }
    let many: Vec<_> = mapped
        .get_many(&keys)
        .unwrap()
        .into_iter()
        .map(payload)
        .collect();
    let other: Vec<_> = read
        .get_many(&keys)
        .unwrap()
        .into_iter()
        .map(payload)
        .collect();
    assert_eq!(many, other);
}

#[test]
fn mapped_packs_give_the_answers_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new(12);
    let mut objects = Vec::new();
    for number in 0..1000 {
        let note = "note ".repeat(random.below(60) as usize);
        let name = format!("w{}", 2 * number);
        objects.push((words(), word(&name, number % 9, Some(&note))));
        objects.push((places(), place(i64::from(number), 1.0, &note)));
    }
    for compression in compressions() {
        let options = BuildOptions::default().compression(compression);
        let tables = [words(), places()];
        let read = build(directory.path(), &tables, &objects, options).unwrap();
        for check in [true, false] {
            let base = mapped(read.path(), check).unwrap();
            assert_eq!(base.digest(), read.digest());
            base.verify().unwrap();
            base.verify_objects().unwrap();
            compare(&base, &read, &mut random);
            // A layer, in memory and as a file.
            let change = |pack: &Pack| {
                let edit = pack.edit().upsert(&words(), &word("w3", 1, None));
                edit.remove(&words(), &key("w4")).finish().unwrap()
            };
            let (layered, other) = (change(&base), change(&read));
            compare(&layered, &other, &mut random);
            let saved = other.save(directory.path()).unwrap();
            compare(&mapped(saved.path(), check).unwrap(), &other, &mut random);
        }
    }
}

#[test]
fn blocks_that_were_damaged_before_are_found_at_each_read() {
    let directory = tempfile::tempdir().unwrap();
    let note = "n".repeat(1500);
    let objects: Vec<_> = (0..8)
        .map(|number| (words(), word(&format!("w{number}"), number, Some(&note))))
        .collect();
    for compression in compressions() {
        let options = BuildOptions::default().compression(compression);
        let pack = build(directory.path(), &[words()], &objects, options).unwrap();
        let mut bytes = fs::read(pack.path()).unwrap();
        // The first byte of the second object, which the first block has too.
        bytes[4096 + 20] ^= 1;
        let path = directory.path().join("copy");
        fs::write(&path, bytes).unwrap();
        let damaged = mapped(&path, true).unwrap();
        let objects = damaged.objects(&words()).unwrap();
        for _ in 0..2 {
            for name in ["w0", "w1"] {
                let error = objects.get(&key(name)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            }
            assert!(objects.get(&key("w7")).unwrap().is_some());
        }
        assert_eq!(damaged.verify().unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(damaged.problems().len(), 1);
        drop((objects, damaged));
        // Without checks, no read panics.
        let unchecked = mapped(&path, false).unwrap();
        let objects = unchecked.objects(&words()).unwrap();
        assert_eq!(objects.iter().count(), 8);
        drop((objects, unchecked));
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn files_that_are_no_packs_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.pack");
    let missing = mapped(&path, true).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
    for bytes in [vec![], vec![0; 100]] {
        fs::write(&path, bytes).unwrap();
        assert_eq!(mapped(&path, true).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}
