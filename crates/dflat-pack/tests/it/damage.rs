//! Files that were changed or cut off.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions as FileOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use dflat_engine::{ErrorKind, Result};
use dflat_pack::{BuildOptions, OpenOptions, Pack};
use xxhash_rust::xxh3::xxh3_64;

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

/// The bytes of a pack whose numbers a hostile writer chooses: all checksums but those of blocks
/// fit.
pub(crate) struct Forged {
    pub(crate) bytes: Vec<u8>,
    /// The places in the directory that name a section: its offset, its length, its checksum.
    sections: Vec<usize>,
}

impl Forged {
    const FOOTER: usize = 72;

    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        let mut forged = Self {
            bytes,
            sections: Vec::new(),
        };
        let (start, end) = forged.directory();
        let is_section = |at: &usize| {
            let bytes = forged.extent(*at);
            bytes.is_some_and(|bytes| xxh3_64(bytes) == forged.number(at + 16))
        };
        forged.sections = (start..end - 23).filter(is_section).collect();
        forged
    }

    pub(crate) fn number(&self, at: usize) -> u64 {
        u64::from_le_bytes(*self.bytes[at..].first_chunk().unwrap())
    }

    fn put(&mut self, at: usize, number: u64) {
        self.bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }

    fn footer(&self) -> usize {
        self.bytes.len() - Self::FOOTER
    }

    pub(crate) fn directory(&self) -> (usize, usize) {
        let start = self.number(self.footer()) as usize;
        (start, start + self.number(self.footer() + 8) as usize)
    }

    /// The part of the file that the numbers at a place of the directory name.
    fn extent(&self, at: usize) -> Option<&[u8]> {
        let offset = usize::try_from(self.number(at)).ok()?;
        let end = offset.checked_add(usize::try_from(self.number(at + 8)).ok()?)?;
        self.bytes.get(offset..end)
    }

    /// Makes the checksums fit.
    pub(crate) fn seal(&mut self) {
        for at in self.sections.clone() {
            if let Some(checksum) = self.extent(at).map(xxh3_64) {
                self.put(at + 16, checksum);
            }
        }
        let (start, end) = self.directory();
        let directory = xxh3_64(&self.bytes[start..end]);
        let footer = self.footer();
        self.put(footer + 16, directory);
        let hashed = [&self.bytes[..16], &self.bytes[footer..footer + 56]].concat();
        self.put(footer + 56, xxh3_64(&hashed));
    }
}

/// The changed numbers reach the code behind the checksums.
#[test]
fn hostile_numbers_under_fitting_checksums_give_errors_and_no_panic() {
    let directory = tempfile::tempdir().unwrap();
    let (pack, model) = small(directory.path());
    let path = copied(&pack, directory.path());
    let sound = fs::read(&path).unwrap();
    let sections = Forged::of(sound.clone()).sections;
    assert!(sections.len() > 10, "{} sections", sections.len());
    let mut random = Random::new(4);
    let mut opened = 0;
    for _ in 0..3000 {
        let mut forged = Forged::of(sound.clone());
        for _ in 0..1 + random.below(2) {
            let (mut start, mut end) = forged.directory();
            if random.below(2) == 0 {
                let section = sections[random.below(sections.len() as u64) as usize];
                start = forged.number(section) as usize;
                end = start + forged.number(section + 8) as usize;
            }
            let size = [1, 2, 4, 8][random.below(4) as usize].min(end.saturating_sub(start));
            if size == 0 || end > forged.footer() {
                continue;
            }
            let at = start + random.below((end - start - size + 1) as u64) as usize;
            let mut before = [0; 8];
            before[..size].copy_from_slice(&forged.bytes[at..at + size]);
            let before = u64::from_le_bytes(before);
            let number = match random.below(7) {
                0 => before.wrapping_add(1),
                1 => before.wrapping_sub(1),
                2 => u64::MAX - random.below(9),
                3 => 1 << random.below(64),
                4 => sound.len() as u64,
                5 => 0,
                _ => random.next(),
            };
            forged.bytes[at..at + size].copy_from_slice(&number.to_le_bytes()[..size]);
        }
        forged.seal();
        fs::write(&path, &forged.bytes).unwrap();
        if let Ok(pack) = Pack::open(&path) {
            opened += 1;
            if pack.verify().and_then(|()| pack.verify_objects()).is_ok() {
                read(&pack, &model).expect("a verified pack has the objects that its name states");
            }
        }
        read_unchecked(&path);
    }
    assert!(opened > 300, "{opened} were opened");
}

#[test]
fn each_damaged_block_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (pack, _) = small(directory.path());
    assert!(pack.problems().is_empty());
    let path = copied(&pack, directory.path());
    let mut bytes = fs::read(&path).unwrap();
    let places: Vec<usize> = (0..bytes.len() - 30)
        .filter(|at| bytes[*at..at + 30] == [b'n'; 30])
        .collect();
    // The first block has three words of 1,200 bytes, and the second one, too.
    for at in [places[0], *places.last().unwrap()] {
        bytes[at] = b'm';
    }
    fs::write(&path, bytes).unwrap();
    let found = Pack::open(&path).unwrap().problems();
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    let named = |block| {
        let path = path.display();
        format!(
            "cannot verify the objects of Word: cannot read {path}: the checksum of block {block} \
             differs"
        )
    };
    assert_eq!(found, [named(0), named(1)]);
}

#[test]
fn files_that_begin_as_packs_are_told_from_others() {
    let directory = tempfile::tempdir().unwrap();
    let (pack, _) = small(directory.path());
    assert!(dflat_pack::is_pack(pack.path()).unwrap());
    let path = directory.path().join("other");
    for bytes in [&b""[..], b"\x93DPACK\r", b"SQLite format 3\0"] {
        fs::write(&path, bytes).unwrap();
        assert!(!dflat_pack::is_pack(&path).unwrap());
    }
    fs::remove_file(&path).unwrap();
    let missing = dflat_pack::is_pack(&path).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
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
