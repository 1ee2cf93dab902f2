//! Collecting garbage.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use dflat_engine::ErrorKind;
use dflat_pack::{Digest, Pack, collect_garbage, collect_garbage_older_than};

use crate::words::{names, word, words};

/// A pack of one word.
fn pack_of(directory: &Path, name: &str) -> Pack {
    let objects = [(words(), word(name, 1, None))];
    Pack::build(directory, [words()], objects).unwrap()
}

/// A saved layer with one more word.
fn layer_over(pack: &Pack, directory: &Path, name: &str) -> Pack {
    let edit = pack.edit().upsert(&words(), &word(name, 1, None));
    edit.finish().unwrap().save(directory).unwrap()
}

/// Saves a pack and a layer on top of it, and closes both. Returns the digest and the path of the
/// layer.
fn closed_layer(directory: &Path) -> (Digest, PathBuf) {
    let root = pack_of(directory, "a");
    let layer = layer_over(&root, directory, "b");
    (layer.digest(), layer.path().to_owned())
}

/// Sets the time of the last change of a file back by two hours.
pub(crate) fn age(path: &Path) {
    let file = File::options().write(true).open(path).unwrap();
    let past = SystemTime::now() - Duration::from_secs(7200);
    file.set_modified(past).unwrap();
}

fn files(directory: &Path) -> BTreeSet<String> {
    names(directory).into_iter().collect()
}

fn names_of(digests: &[Digest]) -> BTreeSet<String> {
    digests.iter().map(Digest::file_name).collect()
}

/// Collects garbage until `count` files are deleted, and returns their digests and bytes.
///
/// Another test of this program may start a process at the same time. Until that process
/// runs its own program, it shares the locks of the packs that were open when it started, so
/// one collection may leave a file that this test has closed.
pub(crate) fn collect(
    directory: &Path,
    roots: impl IntoIterator<Item = Digest>,
    count: usize,
) -> (Vec<Digest>, u64) {
    let roots: Vec<Digest> = roots.into_iter().collect();
    let end = Instant::now() + Duration::from_secs(60);
    let (mut deleted, mut bytes) = (Vec::new(), 0);
    while deleted.len() < count {
        assert!(Instant::now() < end, "only {deleted:?} are deleted");
        // A damaged layer that is locked fails the collection, because its base is not known.
        if let Ok(collected) = collect_garbage(directory, roots.iter().copied()) {
            deleted.extend(collected.deleted);
            bytes += collected.bytes;
        }
        thread::sleep(Duration::from_millis(1));
    }
    (deleted, bytes)
}

#[test]
fn only_old_packs_that_nothing_needs_are_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let root = pack_of(directory, "a");
    let lower = layer_over(&root, directory, "b");
    let upper = layer_over(&lower, directory, "c");
    let left = layer_over(&lower, directory, "d");
    let alone = pack_of(directory, "e");
    let young = pack_of(directory, "f");
    let digests = [&root, &lower, &upper, &left, &alone, &young].map(Pack::digest);
    let [
        root_digest,
        lower_digest,
        upper_digest,
        left_digest,
        alone_digest,
        young_digest,
    ] = digests;
    drop((root, lower, upper, left, alone));
    let other = Digest([9; 32]).file_name();
    fs::write(
        directory.join(&other),
        "another program's bytes, longer than a header and a footer of a pack together",
    )
    .unwrap();
    fs::write(directory.join("notes.pack"), "notes").unwrap();
    for name in names(directory) {
        age(&directory.join(name));
    }
    // No file is a day old.
    let kept = collect_garbage_older_than(directory, [], Duration::from_secs(86_400)).unwrap();
    assert_eq!(kept.deleted, []);
    let file = File::options().write(true).open(young.path()).unwrap();
    file.set_modified(SystemTime::now()).unwrap();
    drop((file, young));
    let size = |digest: Digest| fs::metadata(digest.path_in(directory)).unwrap().len();
    let bytes = size(left_digest) + size(alone_digest);
    let (deleted, deleted_bytes) = collect(directory, [upper_digest], 2);
    assert_eq!(names_of(&deleted), names_of(&[left_digest, alone_digest]));
    assert_eq!(deleted_bytes, bytes);
    let needed = [root_digest, lower_digest, upper_digest, young_digest];
    let mut expected = names_of(&needed);
    expected.extend([other, "notes.pack".to_owned()]);
    assert_eq!(files(directory), expected);
    Pack::open(upper_digest.path_in(directory)).unwrap();
    // A layer goes before its base.
    let (deleted, _) = collect(directory, [], 3);
    assert_eq!(deleted, [upper_digest, lower_digest, root_digest]);
}

#[test]
fn open_packs_and_their_bases_stay() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let root = pack_of(directory, "a");
    let layer = layer_over(&root, directory, "b");
    let (root_digest, digest) = (root.digest(), layer.digest());
    drop((root, layer));
    for name in names(directory) {
        age(&directory.join(name));
    }
    let probe = File::open(digest.path_in(directory)).unwrap();
    if probe.try_lock().is_err() {
        eprintln!("skipped: the file system has no locks");
        return;
    }
    drop(probe);
    let pack = Pack::open(digest.path_in(directory)).unwrap();
    assert_eq!(collect_garbage(directory, []).unwrap().deleted, []);
    // A clone, and a layer in memory over the pack, hold the files, too.
    let clone = pack.clone();
    drop(pack);
    let over = clone
        .edit()
        .upsert(&words(), &word("c", 1, None))
        .finish()
        .unwrap();
    drop(clone);
    assert_eq!(collect_garbage(directory, []).unwrap().deleted, []);
    over.save(directory).unwrap();
    drop(over);
    let collected = collect_garbage(directory, []).unwrap();
    assert_eq!(collected.deleted, []);
    // The layer that was saved is young, so its bases stay.
    let saved = names(directory)
        .into_iter()
        .map(|name| directory.join(name));
    saved.for_each(|path| age(&path));
    let (deleted, _) = collect(directory, [], 3);
    assert_eq!(deleted.len(), 3);
    assert_eq!(deleted[1..], [digest, root_digest]);
}

/// The file of the second build took the place of the one that was open, and had no lock once that
/// build had ended.
#[test]
fn open_pack_stays_although_the_same_is_built_again() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let base = pack_of(directory, "a");
    let layer = layer_over(&base, directory, "b");
    let path = layer.path().to_owned();
    let probe = File::open(&path).unwrap();
    if probe.try_lock().is_ok() {
        eprintln!("skipped: the file system has no locks");
        return;
    }
    drop(probe);
    drop(layer_over(&base, directory, "b"));
    drop(pack_of(directory, "a"));
    let before = names(directory);
    let collected = collect_garbage_older_than(directory, [], Duration::ZERO).unwrap();
    assert_eq!(collected.deleted, []);
    assert_eq!(names(directory), before);
    // A damaged file is replaced.
    drop((base, layer));
    fs::write(&path, "damaged").unwrap();
    let base = pack_of(directory, "a");
    let layer = layer_over(&base, directory, "b");
    assert_eq!(layer.path(), path);
    assert!(Pack::open(&path).is_ok());
}

#[test]
fn pack_that_is_opened_during_a_collection_is_locked() {
    let directory = tempfile::tempdir().unwrap();
    let path = pack_of(directory.path(), "a").path().to_owned();
    let collection = File::open(&path).unwrap();
    if collection.lock().is_err() {
        eprintln!("skipped: the file system has no locks");
        return;
    }
    let end = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        drop(collection);
    });
    let pack = Pack::open(&path).unwrap();
    end.join().unwrap();
    assert!(File::open(&path).unwrap().try_lock().is_err());
    drop(pack);
    // A file that a collection has deleted meanwhile is missing.
    let collection = File::open(&path).unwrap();
    collection.lock().unwrap();
    let deleted = path.clone();
    let end = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        fs::remove_file(deleted).unwrap();
        drop(collection);
    });
    let missing = Pack::open(&path).unwrap_err();
    end.join().unwrap();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
}

#[test]
fn nothing_is_deleted_if_a_needed_layer_is_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (digest, path) = closed_layer(directory);
    let mut bytes = fs::read(&path).unwrap();
    bytes[20] ^= 1;
    fs::write(&path, bytes).unwrap();
    for name in names(directory) {
        age(&directory.join(name));
    }
    let before = files(directory);
    let error = collect_garbage(directory, [digest]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert_eq!(files(directory), before);
    // If it is not needed, it is deleted.
    assert_eq!(collect(directory, [], 2).0.len(), 2);
    let missing = collect_garbage(directory.join("missing"), []).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

/// Without its header a layer was taken for the file of another program, and its base for garbage.
#[test]
fn base_stays_if_the_header_of_a_needed_layer_is_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (digest, path) = closed_layer(directory);
    let whole = fs::read(&path).unwrap();
    let before = files(directory);
    for damaged in [
        b"".to_vec(),
        vec![7; 200],
        [b"XXXXXXXX", &whole[8..]].concat(),
    ] {
        fs::write(&path, damaged).unwrap();
        for name in names(directory) {
            age(&directory.join(name));
        }
        match collect_garbage(directory, [digest]) {
            // The rest of the layer is sound, and names the base.
            Ok(collected) => assert_eq!(collected.deleted, []),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}"),
        }
        assert_eq!(files(directory), before);
    }
}

#[cfg(unix)]
#[test]
fn base_of_a_layer_behind_a_link_stays() {
    let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = directory.path();
    let (digest, path) = closed_layer(directory);
    for name in names(directory) {
        age(&directory.join(name));
    }
    let moved = other.path().join("layer");
    fs::rename(&path, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &path).unwrap();
    let before = files(directory);
    assert_eq!(collect_garbage(directory, [digest]).unwrap().deleted, []);
    assert_eq!(files(directory), before);
    Pack::open(&path).unwrap();
    // No link is deleted, and nothing that it leads to.
    let _ = collect_garbage_older_than(directory, [], Duration::ZERO).unwrap();
    assert!(moved.exists() && path.exists());
}

#[test]
fn nothing_is_deleted_if_a_root_is_in_another_directory() {
    let [here, there] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let base = pack_of(here.path(), "a");
    let root = layer_over(&base, there.path(), "b").digest();
    age(base.path());
    drop(base);
    let before = files(here.path());
    let error = collect_garbage(here.path(), [root]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains(&root.to_string()), "{error}");
    assert_eq!(files(here.path()), before);
}
