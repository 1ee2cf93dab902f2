//! Damaged packs and layers: each is refused, or every operation on it ends with a value or an
//! error, and a verified one has the objects that its digest names.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use dflat::Object;
use dflat::pack::{OpenOptions, Pack, PackChange, PackObjects};
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

use super::file::sane;
use super::{mutate, question};
use crate::fixture::bounded;
use crate::random::Random;
use crate::schema::{Sample, SampleData};

/// Bits of the first byte of an input.
const LAYER: u8 = 1;
const SEALED: u8 = 2;
const UNCHECKED: u8 = 4;
/// The other bytes are the file itself. Otherwise each four are a place, of three bytes, and the
/// byte to write there.
const WHOLE: u8 = 8;

const FOOTER: usize = 72;

/// A sound file, with the places of its checksums.
struct Sound {
    bytes: Vec<u8>,
    /// The places in the directory that name a section: its offset, its length, its checksum.
    sections: Vec<usize>,
    pack: Pack,
    objects: Vec<Vec<u8>>,
}

struct Files {
    whole: Sound,
    layer: Sound,
    _directory: TempDir,
}

/// Runs a seed.
pub fn run_seed(seed: u64) {
    bounded(move || {
        let mut random = Random::new(seed);
        for _ in 0..20 {
            let kind = random.below(16) as u8;
            let sound = sound(kind);
            let mut bytes = sound.bytes.clone();
            for _ in 0..1 + random.below(4) {
                mutate::bytes(&mut bytes, &mut random);
            }
            use_file(kind, bytes);
        }
    });
}

/// Uses an input of a fuzzer as damage of a file, or as a file.
pub fn check_bytes(input: &[u8]) {
    let Some((kind, rest)) = input.split_first() else {
        return;
    };
    let (kind, mut bytes) = (*kind, rest.to_vec());
    if kind & WHOLE == 0 {
        bytes.clone_from(&sound(kind).bytes);
        for change in rest.chunks_exact(4) {
            let place = u32::from_le_bytes([change[0], change[1], change[2], 0]);
            let place = place as usize % bytes.len();
            bytes[place] = change[3];
        }
    }
    bounded(move || use_file(kind, bytes));
}

fn sound(kind: u8) -> &'static Sound {
    let files = files();
    match kind & LAYER {
        0 => &files.whole,
        _ => &files.layer,
    }
}

fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let mut random = Random::new(0);
        let mut sample = |id| SampleData {
            id,
            code: None,
            ..question::sample(&mut random)
        };
        let samples: Vec<_> = (0..40).map(&mut sample).collect();
        let whole = Pack::build::<Sample>(directory.path(), samples).unwrap();
        let mut edit = whole.edit().remove::<Sample>(7);
        for id in 35..45 {
            edit = edit.upsert::<Sample>(&sample(id));
        }
        let layer = edit.finish().unwrap().save(directory.path()).unwrap();
        Files {
            whole: Sound::new(whole),
            layer: Sound::new(layer),
            _directory: directory,
        }
    })
}

impl Sound {
    fn new(pack: Pack) -> Self {
        let bytes = fs::read(pack.path()).unwrap();
        let objects = pack.objects().and_then(|objects| payloads(&objects));
        let (start, end) = directory(&bytes).unwrap();
        let is_section = |at: &usize| {
            let section = extent(&bytes, *at).map(xxh3_64);
            section.is_some_and(|checksum| Some(checksum) == number(&bytes, at + 16))
        };
        Self {
            sections: (start..end.saturating_sub(23)).filter(is_section).collect(),
            bytes,
            objects: objects.unwrap(),
            pack,
        }
    }

    /// Makes the checksums of damaged bytes fit, but not those of blocks.
    fn seal(&self, bytes: &mut [u8]) {
        for at in &self.sections {
            if let Some(checksum) = extent(bytes, *at).map(xxh3_64) {
                put(bytes, at + 16, checksum);
            }
        }
        let Some((start, end)) = directory(bytes) else {
            return;
        };
        let footer = bytes.len() - FOOTER;
        let checksum = xxh3_64(&bytes[start..end]);
        put(bytes, footer + 16, checksum);
        let hashed = [&bytes[..16], &bytes[footer..footer + 56]].concat();
        put(bytes, footer + 56, xxh3_64(&hashed));
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let number = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*number))
}

fn put(bytes: &mut [u8], at: usize, number: u64) {
    if let Some(place) = bytes.get_mut(at..at + 8) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

/// The bounds of the directory, as the footer states them.
fn directory(bytes: &[u8]) -> Option<(usize, usize)> {
    let footer = bytes.len().checked_sub(FOOTER).filter(|at| *at >= 16)?;
    let start = usize::try_from(number(bytes, footer)?).ok()?;
    let len = usize::try_from(number(bytes, footer + 8)?).ok()?;
    let end = start.checked_add(len).filter(|end| *end <= footer)?;
    Some((start, end))
}

/// The part of a file that the numbers at a place of the directory name.
fn extent(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let start = usize::try_from(number(bytes, at)?).ok()?;
    let len = usize::try_from(number(bytes, at + 8)?).ok()?;
    bytes.get(start..start.checked_add(len)?)
}

fn payloads(objects: &PackObjects<Sample>) -> dflat::Result<Vec<Vec<u8>>> {
    let payload = |object: dflat::Result<Sample>| object.map(|object| object.to_bytes());
    objects.iter().map(payload).collect()
}

fn use_file(kind: u8, mut bytes: Vec<u8>) {
    let sound = sound(kind);
    if kind & SEALED != 0 {
        sound.seal(&mut bytes);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("damaged.pack");
    fs::write(&path, &bytes).unwrap();
    let base = &files().whole.pack;
    let options = OpenOptions::default().check_blocks(kind & UNCHECKED == 0);
    let opened = Pack::open_on(&path, options, |digest| {
        Ok((digest == base.digest()).then(|| base.clone()))
    });
    let Some(pack) = sane(opened) else {
        return;
    };
    // Any reader before the checks: it ends with a value or an error.
    use_pack(&pack, base, directory.path());
    if pack.digest() == sound.pack.digest() && sane(pack.verify()).is_some() {
        let objects = pack.objects().and_then(|objects| payloads(&objects));
        assert_eq!(objects.unwrap(), sound.objects, "a verified pack differs");
    }
}

/// Makes all operations on a pack.
fn use_pack(pack: &Pack, base: &Pack, directory: &Path) {
    sane(pack.verify_objects());
    pack.problems().iter().for_each(|problem| {
        assert!(!problem.to_string().is_empty());
    });
    sane(pack.get::<Sample>(7));
    sane(pack.get_many::<Sample>(0..50));
    let ranked = pack.fetch::<Sample>().filter(Sample::RANK.le(2));
    sane(ranked.order_by(Sample::NAME.ascending()).limit(9).all());
    sane(pack.fetch::<Sample>().filter(Sample::FLAG.eq(true)).count());
    if let Some(objects) = sane(pack.objects::<Sample>()) {
        sane(payloads(&objects));
        sane(objects.iter().rev().collect::<dflat::Result<Vec<_>>>());
        sane(objects.nth(3));
        sane(objects.index_of(39));
        if let Some(range) = sane(objects.range(5..20)) {
            sane(range.collect::<dflat::Result<Vec<_>>>());
        }
        if let Some(others) = sane(base.objects::<Sample>()) {
            sane(objects.union(&others).collect::<dflat::Result<Vec<_>>>());
            sane(
                others
                    .difference(&objects)
                    .collect::<dflat::Result<Vec<_>>>(),
            );
        }
    }
    for (before, after) in [(base, pack), (pack, base)] {
        if let Some(changes) = sane(Pack::diff::<Sample>(before, after)) {
            sane(changes.collect::<dflat::Result<Vec<PackChange<Sample>>>>());
        }
    }
    if let Some(edited) = sane(pack.edit().remove::<Sample>(3).finish()) {
        sane(edited.save(directory));
        sane(edited.compact(directory));
    }
}
