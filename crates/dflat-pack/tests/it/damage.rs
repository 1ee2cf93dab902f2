//! Files that were changed or cut off.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions as FileOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use dflat_engine::{ErrorKind, Result};
use dflat_pack::{BuildOptions, OpenOptions, Pack};

use crate::words::{Random, build, empty, key, place, places, word, words};

/// A small pack with two types, an index and several blocks.
fn small(directory: &Path) -> (Pack, BTreeMap<String, Vec<u8>>) {
    let mut model = BTreeMap::new();
    for number in 0..6 {
        let name = format!("w{number}");
        model.insert(
            name.clone(),
            word(&name, number % 3, Some(&"n".repeat(1200))),
        );
    }
    let mut objects: Vec<_> = model
        .values()
        .map(|bytes| (words(), bytes.clone()))
        .collect();
    objects.push((places(), place(1, 2.0, "here")));
    let tables = [words(), places(), empty()];
    let pack = build(directory, &tables, &objects, BuildOptions::default()).unwrap();
    (pack, model)
}

/// Reads everything, and compares what is read with the model.
fn read(pack: &Pack, model: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let objects = pack.objects(&words())?;
    assert_eq!(objects.len(), model.len() as u64);
    for (object, payload) in objects.iter().zip(model.values()) {
        assert_eq!(object?.payload(), payload);
    }
    for (name, payload) in model {
        let found = objects.get(&key(name))?;
        assert_eq!(found.expect("its key is found").payload(), payload);
        assert!(objects.get(&key(&format!("{name}x")))?.is_none());
    }
    objects
        .range(&key("w1")[..]..&key("w5")[..])?
        .try_for_each(|object| object.map(drop))?;
    for object in pack.objects(&places())?.iter() {
        assert_eq!(object?.payload(), place(1, 2.0, "here"));
    }
    Ok(())
}

/// Reads everything without checks: any outcome but a panic is right.
fn read_unchecked(path: &Path) {
    let Ok(pack) = Pack::open_with(path, OpenOptions::default().check_blocks(false)) else {
        return;
    };
    let _ = pack.verify_objects();
    for table in pack.tables() {
        if let Ok(objects) = pack.objects(table) {
            let _ = objects
                .iter()
                .map(|object| object.is_ok())
                .filter(|sound| *sound)
                .count();
        }
    }
    if let Ok(objects) = pack.objects(&words()) {
        for number in 0..8 {
            let _ = objects.get(&key(&format!("w{number}")));
        }
    }
}

fn copied(pack: &Pack, directory: &Path) -> PathBuf {
    let path = directory.join("copy");
    fs::copy(pack.path(), &path).unwrap();
    path
}

#[test]
fn each_changed_byte_is_found_and_gives_no_wrong_object() {
    let directory = tempfile::tempdir().unwrap();
    let (pack, model) = small(directory.path());
    let path = copied(&pack, directory.path());
    let sound = fs::read(&path).unwrap();
    read(&Pack::open(&path).unwrap(), &model).unwrap();
    let file = FileOptions::new().write(true).open(&path).unwrap();
    for (at, byte) in sound.iter().enumerate() {
        file.write_all_at(&[byte ^ 1 << (at % 8)], at as u64)
            .unwrap();
        // Most of a small file is padding, which no read but that of `verify` reaches.
        let near = sound.iter().skip(at.saturating_sub(8)).take(16);
        let is_padding = at > 16 && near.clone().all(|byte| *byte == 0);
        let verified = Pack::open(&path).and_then(|pack| {
            if !is_padding {
                // Reads give an error or the right object.
                let read = read(&pack, &model);
                let is_corrupt = |error: &dflat_engine::Error| error.kind() == ErrorKind::Corrupt;
                assert!(
                    read.as_ref().err().is_none_or(is_corrupt),
                    "byte {at}: {read:?}"
                );
            }
            pack.verify()
        });
        let error = verified.expect_err("the change is found");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {at}: {error}");
        if !is_padding {
            read_unchecked(&path);
        }
        file.write_all_at(&[*byte], at as u64).unwrap();
    }
    Pack::open(&path).unwrap().verify().unwrap();
}

#[test]
fn each_file_that_was_cut_off_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (pack, _) = small(directory.path());
    let path = copied(&pack, directory.path());
    let sound = fs::read(&path).unwrap();
    let file = FileOptions::new().write(true).open(&path).unwrap();
    for len in (0..sound.len() as u64).rev() {
        file.set_len(len).unwrap();
        let error = Pack::open(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{len} bytes: {error}");
    }
    fs::write(&path, [sound.as_slice(), &[0]].concat()).unwrap();
    assert_eq!(Pack::open(&path).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn file_that_changes_under_an_open_pack_gives_errors() {
    let directory = tempfile::tempdir().unwrap();
    let (pack, model) = small(directory.path());
    let path = copied(&pack, directory.path());
    let sound = fs::read(&path).unwrap();
    let open = Pack::open(&path).unwrap();
    // The bytes are written over in place.
    let zeros = FileOptions::new().write(true).open(&path).unwrap();
    std::io::Write::write_all(&mut &zeros, &vec![0; sound.len()]).unwrap();
    assert_eq!(read(&open, &model).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(open.verify().unwrap_err().kind(), ErrorKind::Corrupt);
    zeros.set_len(4100).unwrap();
    let error = open.objects(&words()).unwrap().get(&key("w5")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    // The other file was replaced by name and is as it was.
    read(&pack, &model).unwrap();
}

#[test]
fn random_damage_gives_errors_and_no_panic() {
    let directory = tempfile::tempdir().unwrap();
    let (pack, _) = small(directory.path());
    let path = copied(&pack, directory.path());
    let sound = fs::read(&path).unwrap();
    let mut random = Random::new(3);
    for _ in 0..600 {
        let mut bytes = sound.clone();
        for _ in 0..1 + random.below(6) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(4) {
                0 => bytes[at] = random.next() as u8,
                1 => bytes[at..].iter_mut().take(8).for_each(|byte| *byte = 0xff),
                2 => bytes.truncate(at.max(1)),
                _ => {
                    let from = random.below(bytes.len() as u64) as usize;
                    let len = random.below(64) as usize;
                    let piece: Vec<u8> = bytes[from..].iter().take(len).copied().collect();
                    bytes.splice(at..at, piece);
                }
            }
        }
        fs::write(&path, &bytes).unwrap();
        if bytes != sound {
            assert!(Pack::open(&path).and_then(|pack| pack.verify()).is_err());
        }
        read_unchecked(&path);
    }
}

#[test]
fn other_files_are_no_packs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.pack");
    let missing = Pack::open(&path).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
    for bytes in [vec![], vec![0; 100], b"SQLite format 3\0".repeat(20)] {
        fs::write(&path, bytes).unwrap();
        let error = Pack::open(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("it is no pack"), "{error}");
    }
    let error = Pack::open(directory.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[test]
fn pack_under_the_name_of_another_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (pack, _) = small(directory.path());
    let other = build(directory.path(), &[words()], &[], BuildOptions::default()).unwrap();
    fs::copy(pack.path(), other.path()).unwrap();
    let error = Pack::open(other.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(
        error.to_string().ends_with("its content has another name"),
        "{error}"
    );
}
