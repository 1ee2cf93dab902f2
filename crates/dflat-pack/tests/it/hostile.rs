//! Tables of keys and objects that a hostile writer makes, with checksums that fit.

use std::fs;
use std::path::{Path, PathBuf};

use dflat_engine::{ErrorKind, Result};
use dflat_model::ValueRef;
use dflat_model::key::encode;
use dflat_pack::{BuildOptions, Objects, OpenOptions, Pack};
use xxhash_rust::xxh3::xxh3_64;

use crate::damage::Forged;
use crate::words::{build, key, place, places, word, words};

const WORDS: u64 = 1000;

/// A pack of 1,000 words in 250 blocks.
fn sound(directory: &Path) -> Pack {
    let note = "n".repeat(900);
    let objects = (0..WORDS).map(|at| (words(), word(&format!("w{at:04}"), 0, Some(&note))));
    let objects: Vec<_> = objects.collect();
    build(directory, &[words()], &objects, BuildOptions::default()).unwrap()
}

/// The table of keys of the only type of a pack.
struct Table {
    forged: Forged,
    /// The number of keys.
    keys: u64,
    /// The place of the first slot, the bytes of a slot, and the number of slots.
    start: usize,
    width: usize,
    count: usize,
    /// The bits of a slot that are of a place, below those of the hash.
    place_bits: u32,
    /// Those of its offset.
    offset_bits: u32,
    /// The place of the entries of the blocks.
    blocks: usize,
}

impl Table {
    /// The bytes of the directory's run: four numbers of 8 bytes, three of 1 byte, four sections.
    const RUN: usize = 4 * 8 + 3 + 4 * 24;

    fn of(pack: &Pack) -> Self {
        let forged = Forged::of(fs::read(pack.path()).unwrap());
        let (directory, _) = forged.directory();
        let run = directory + 16 + forged.number(directory + 8) as usize;
        let keys = forged.number(run);
        let at = run + Self::RUN;
        let (count, start) = (forged.number(at), forged.number(at + 11));
        let [width, offset_bits, len_bits] = *forged.bytes[at + 8..].first_chunk().unwrap();
        Self {
            keys,
            start: start as usize,
            width: width.into(),
            count: count as usize,
            place_bits: u32::from(offset_bits) + u32::from(len_bits),
            offset_bits: offset_bits.into(),
            blocks: forged.number(run + 35 + 24) as usize,
            forged,
        }
    }

    /// The number of the first slot of a key with this hash.
    fn home(&self, hash: u64) -> usize {
        let slots = u128::from(self.keys + self.keys / 4 + 1);
        ((u128::from(hash) * slots) >> 64) as usize
    }

    fn put(&mut self, slot: usize, value: u64) {
        let at = self.start + slot * self.width;
        let bytes = &value.to_le_bytes()[..self.width];
        self.forged.bytes[at..at + self.width].copy_from_slice(bytes);
    }

    /// A slot for the first record of a block that fits a hash. It does not say how long the record
    /// is.
    fn slot(&self, hash: u64, block: u64) -> u64 {
        self.slot_at(hash, self.forged.number(self.blocks + 24 * block as usize))
    }

    fn slot_at(&self, hash: u64, offset: u64) -> u64 {
        let unused = 64 - 8 * self.width as u32;
        let hash = hash << self.place_bits << unused >> unused;
        hash | (offset / 8 + 1)
    }

    /// Writes the file, and damages the objects of all blocks but the first.
    fn write(mut self, directory: &Path) -> PathBuf {
        self.forged.seal();
        let (start, _) = self.forged.directory();
        let run = start + 16 + self.forged.number(start + 8) as usize;
        let data = self.forged.number(run + 16) as usize;
        let len = self.forged.number(run + 24) as usize;
        self.forged.bytes[data + 4096..data + len].fill(0xff);
        let path = directory.join("hostile");
        fs::write(&path, &self.forged.bytes).unwrap();
        path
    }
}

fn hash(word: &str) -> u64 {
    hash_of(&key(word))
}

fn hash_of(key: &[ValueRef<'_>]) -> u64 {
    xxh3_64(&encode(key.iter().copied()))
}

/// Looks a word up in both ways.
fn lookups(objects: &Objects, word: &str) -> [Result<bool>; 2] {
    let many = objects.get_many(&[key(word)]);
    [
        objects.get(&key(word)).map(|found| found.is_some()),
        many.map(|found| found[0].is_some()),
    ]
}

/// A word that the pack lacks, and whose place in the order of the keys is in the first block. The
/// table has enough slots behind its first one.
fn absent(table: &Table) -> String {
    let words = (0..10_000).map(|at| format!("w0000-{at}"));
    let mut early = words.filter(|word| table.home(hash(word)) + 900 < table.count);
    early.next().unwrap()
}

#[test]
fn look_up_in_a_hostile_table_of_keys_reads_few_objects() {
    let directory = tempfile::tempdir().unwrap();
    let pack = sound(directory.path());
    let mut table = Table::of(&pack);
    let absent = absent(&table);
    let home = table.home(hash(&absent));
    // Slots that fit the hash lead to the first block at first, and then to damaged ones.
    for at in 0..900 {
        let block = if at < 100 { 0 } else { at as u64 % 200 + 1 };
        let slot = table.slot(hash(&absent), block);
        table.put(home + at, slot);
    }
    let pack = Pack::open(table.write(directory.path())).unwrap();
    let objects = pack.objects(&words()).unwrap();
    for found in lookups(&objects, &absent) {
        assert!(!found.unwrap(), "{absent} is absent");
    }
    // The blocks are damaged, and a read that reaches one says so.
    let error = objects.nth(WORDS - 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[test]
fn key_is_found_behind_many_slots_that_fit_its_hash() {
    let directory = tempfile::tempdir().unwrap();
    let pack = sound(directory.path());
    for word in ["w0001", "w0003"] {
        let mut table = Table::of(&pack);
        for at in 0..table.count {
            let slot = table.slot(hash(word), 0);
            table.put(at, slot);
        }
        let pack = Pack::open(table.write(directory.path())).unwrap();
        let objects = pack.objects(&words()).unwrap();
        for found in lookups(&objects, word) {
            assert!(found.unwrap(), "{word} is found in the order of the keys");
        }
        let error = pack.verify_objects().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
}

#[test]
fn each_changed_slot_is_found_by_the_check_of_objects() {
    let directory = tempfile::tempdir().unwrap();
    let pack = sound(directory.path());
    pack.verify_objects().unwrap();
    let path = directory.path().join("changed");
    for slot in (0..1250).step_by(31) {
        let mut table = Table::of(&pack);
        if slot >= table.count {
            continue;
        }
        let fits = table.slot(hash("w0500"), 7);
        table.put(slot, fits);
        table.forged.seal();
        fs::write(&path, &table.forged.bytes).unwrap();
        let pack = Pack::open(&path).unwrap();
        let error = pack.verify_objects().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        let text = "the table of keys has other places than the objects";
        assert!(error.to_string().ends_with(text), "{error}");
    }
}

#[test]
fn key_with_a_missing_part_is_found_by_the_check_of_objects() {
    let directory = tempfile::tempdir().unwrap();
    let (mut found, sound) = (0, 2.0_f64.to_le_bytes());
    for x in 1..40 {
        let objects = [(0, 5.0), (x, 2.0)].map(|(x, y)| (places(), place(x, y, "")));
        let pack = Pack::build(directory.path(), [places()], objects).unwrap();
        let mut table = Table::of(&pack);
        // The number in the second key becomes NaN, which is a missing value, and all that is
        // derived from the key fits it.
        let bytes = &mut table.forged.bytes;
        let at = bytes.windows(8).position(|bytes| bytes == sound).unwrap();
        bytes[at..at + 8].copy_from_slice(&f64::NAN.to_le_bytes());
        let keys = [
            [ValueRef::Int(0), ValueRef::Float(5.0)],
            [ValueRef::Int(x), ValueRef::Null],
        ];
        let mut entries = [(hash_of(&keys[0]), 0), (hash_of(&keys[1]), 1)];
        let lens = [(0, 5.0), (x, 2.0)].map(|(x, y)| place(x, y, "").len() as u64);
        let places = [(0, lens[0]), (lens[0].next_multiple_of(8), lens[1])];
        entries.sort_unstable();
        let first = table.home(entries[0].0);
        let second = table.home(entries[1].0).max(first + 1);
        if second + 1 != table.count {
            continue;
        }
        (0..table.count).for_each(|slot| table.put(slot, 0));
        for (slot, (hash, record)) in [first, second].into_iter().zip(entries) {
            let (offset, len) = places[record];
            let value = table.slot_at(hash, offset) | len << table.offset_bits;
            table.put(slot, value);
        }
        table.forged.seal();
        let path = directory.path().join("forged");
        fs::write(&path, &table.forged.bytes).unwrap();
        let options = OpenOptions::default().check_blocks(false);
        let pack = Pack::open_with(&path, options).unwrap();
        let error = pack.verify_objects().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        let text = "a part of its key is missing";
        assert!(error.to_string().ends_with(text), "{error}");
        found += 1;
    }
    assert!(found > 0);
}

#[test]
fn slots_with_offsets_beyond_all_files_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = 0;
    for count in 1..20_i32 {
        let objects = (0..count).map(|at| (words(), word(&format!("w{at}"), 0, None)));
        let pack = Pack::build(directory.path(), [words()], objects).unwrap();
        let mut table = Table::of(&pack);
        let bytes = table.count * table.width;
        if !bytes.is_multiple_of(8) {
            continue;
        }
        // The same bytes as slots of 8 bytes, each with the largest offset and a bit of the hash.
        let (start, _) = table.forged.directory();
        let at = start + 16 + table.forged.number(start + 8) as usize + Table::RUN;
        table.forged.bytes[at..at + 8].copy_from_slice(&(bytes as u64 / 8).to_le_bytes());
        table.forged.bytes[at + 8..at + 11].copy_from_slice(&[8, 63, 0]);
        let slot = hash("w0") << 63 | u64::MAX >> 1;
        (table.width, table.count) = (8, bytes / 8);
        (0..table.count).for_each(|at| table.put(at, slot));
        table.forged.seal();
        let path = directory.path().join("forged");
        fs::write(&path, &table.forged.bytes).unwrap();
        let found = Pack::open(&path).and_then(|pack| pack.objects(&words())?.get(&key("w0")));
        assert_eq!(found.unwrap_err().kind(), ErrorKind::Corrupt);
        opened += 1;
    }
    assert!(opened > 0);
}
