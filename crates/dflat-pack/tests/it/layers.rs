//! Layers equal a map that is edited in the same way.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dflat_engine::ErrorKind;
use dflat_engine::object::Object;
use dflat_model::ValueRef;
use dflat_pack::{BuildOptions, OpenOptions, Pack, PackChange};

use crate::model::{Model, check, check_sets, payloads, random_words, text};
use crate::words::{Random, build, empty, key, place, places, word, words};

/// A pack in a directory.
fn base(directory: &Path, model: &Model) -> Pack {
    let objects = model.values().map(|payload| (words(), payload.clone()));
    let objects: Vec<_> = objects.collect();
    let tables = [words(), empty()];
    build(directory, &tables, &objects, BuildOptions::default()).unwrap()
}

/// Edits a pack and a map in the same way.
fn edited(pack: &Pack, model: &mut Model, random: &mut Random) -> Pack {
    let mut edit = pack.edit();
    for _ in 0..random.below(30) {
        let name = match random.below(3) {
            0 => text(random),
            1 => format!("{}{}", text(random), random.below(200)),
            _ => {
                let at = random.below(model.len() as u64 + 1) as usize;
                model.keys().nth(at).cloned().unwrap_or_default()
            }
        };
        if random.below(3) == 0 {
            edit = edit.remove(&words(), &key(&name));
            model.remove(&name);
        } else {
            let note = "y".repeat(random.below(60) as usize);
            let payload = word(&name, random.below(9) as i32, Some(&note));
            edit = edit.upsert(&words(), &payload);
            model.insert(name, payload);
        }
    }
    edit.finish().unwrap()
}

/// The payloads of a key before and after.
type Payloads = (Option<Vec<u8>>, Option<Vec<u8>>);

/// The differences of two maps.
fn differences(a: &Model, b: &Model) -> Vec<Payloads> {
    let mut both: BTreeMap<&String, Payloads> = BTreeMap::new();
    for (name, payload) in a {
        both.entry(name).or_default().0 = Some(payload.clone());
    }
    for (name, payload) in b {
        both.entry(name).or_default().1 = Some(payload.clone());
    }
    both.into_values().filter(|(a, b)| a != b).collect()
}

fn check_difference(a: (&Pack, &Model), b: (&Pack, &Model)) {
    let bytes = |object: Object| object.payload().to_vec();
    let found = Pack::diff(a.0, b.0, &words()).unwrap().map(|change| {
        let change = change.unwrap();
        for (pack, object) in match &change {
            PackChange::Inserted(after) => vec![(b.0, after)],
            PackChange::Removed(before) => vec![(a.0, before)],
            PackChange::Updated { before, after } => vec![(a.0, before), (b.0, after)],
        } {
            let at = object.row_id().0 as u64 - 1;
            let same = pack.objects(&words()).unwrap().nth(at).unwrap().unwrap();
            assert_eq!(same.payload(), object.payload());
        }
        match change.map(bytes) {
            PackChange::Inserted(after) => (None, Some(after)),
            PackChange::Removed(before) => (Some(before), None),
            PackChange::Updated { before, after } => (Some(before), Some(after)),
        }
    });
    assert_eq!(found.collect::<Vec<_>>(), differences(a.1, b.1));
}

#[test]
fn layers_are_read_as_a_map_that_is_edited_in_the_same_way() {
    for seed in 0..15 {
        let mut random = Random::new(seed);
        let directory = tempfile::tempdir().unwrap();
        let mut model = random_words(&mut random, [0, 1, 12, 60, 700][seed as usize % 5]);
        let mut pack = base(directory.path(), &model);
        let mut versions = vec![(pack.clone(), model.clone())];
        for depth in 0..8 {
            pack = edited(&pack, &mut model, &mut random);
            if random.below(2) == 0 {
                let saved = pack.save(directory.path()).unwrap();
                assert_eq!(saved.digest(), pack.digest());
                let checked = OpenOptions::default().check_blocks(random.below(2) == 0);
                pack = Pack::open_with(saved.path(), checked).unwrap();
                assert_eq!(pack.digest(), saved.digest());
                pack.verify().unwrap();
                pack.verify_objects().unwrap();
            }
            if depth % 3 == 0 {
                check(&model, &pack.objects(&words()).unwrap(), &mut random);
                assert!(pack.objects(&empty()).unwrap().is_empty());
            }
            versions.push((pack.clone(), model.clone()));
        }
        check(&model, &pack.objects(&words()).unwrap(), &mut random);
        for (pack, model) in &versions {
            let all: Vec<_> = model.values().cloned().collect();
            assert_eq!(payloads(pack.objects(&words()).unwrap().iter()), all);
        }
        for _ in 0..6 {
            let mut version = || &versions[random.below(versions.len() as u64) as usize];
            let (a, b) = (version(), version());
            check_difference((&a.0, &a.1), (&b.0, &b.1));
            let [left, right] = [a, b].map(|(pack, _)| pack.objects(&words()).unwrap());
            check_sets((&left, &a.1), (&right, &b.1));
        }
        let other = tempfile::tempdir().unwrap();
        let direct = base(other.path(), &model);
        check_difference((&versions[0].0, &versions[0].1), (&direct, &model));
        check_difference((&direct, &model), (&pack, &model));
        let target = tempfile::tempdir().unwrap();
        let compacted = pack.compact(target.path()).unwrap();
        assert_eq!(compacted.digest(), direct.digest());
        assert_eq!(compacted.bases().len(), 0);
        let bytes = [&compacted, &direct].map(|pack| fs::read(pack.path()).unwrap());
        assert!(bytes[0] == bytes[1], "seed {seed}");
    }
}

/// The digests of a pack and of its bases.
fn chain(pack: &Pack) -> Vec<dflat_pack::Digest> {
    [pack.digest()].into_iter().chain(pack.bases()).collect()
}

#[test]
fn edits_that_change_nothing_give_the_pack_itself() {
    let directory = tempfile::tempdir().unwrap();
    let pear = word("pear", 1, None);
    let model = Model::from([("pear".to_owned(), pear.clone())]);
    let pack = base(directory.path(), &model);
    let same = pack.edit().finish().unwrap();
    assert_eq!(chain(&same), chain(&pack));
    let edit = pack.edit().upsert(&words(), &pear);
    let same = edit.remove(&words(), &key("plum")).finish().unwrap();
    assert_eq!(chain(&same), chain(&pack));
    // The last change of a key counts.
    let edit = pack.edit().remove(&words(), &key("pear"));
    let same = edit.upsert(&words(), &pear).finish().unwrap();
    assert_eq!(chain(&same), chain(&pack));
    assert_eq!(same.save(directory.path()).unwrap().path(), pack.path());
}

#[test]
fn equal_edits_give_equal_names_in_any_order() {
    let directory = tempfile::tempdir().unwrap();
    let pack = base(directory.path(), &Model::new());
    let names = ["a", "b", "c"];
    let edited = |order: [usize; 3]| {
        let mut edit = pack.edit();
        for at in order {
            edit = edit.upsert(&words(), &word(names[at], at as i32, Some("x")));
        }
        edit.finish().unwrap().digest()
    };
    assert_eq!(edited([0, 1, 2]), edited([2, 0, 1]));
    assert_ne!(edited([0, 1, 2]), edited([0, 1, 1]));
}

#[test]
fn keys_with_another_number_of_values_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let objects = [
        (places(), place(1, 2.0, "a")),
        (words(), word("w", 1, None)),
    ];
    let pack = Pack::build(directory.path(), [places(), words()], objects).unwrap();
    let check = |error: dflat_engine::Error, operation: &str, given: usize| {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        let message = format!("cannot {operation} Place: the key has {given} values; the primary");
        assert!(error.to_string().contains(&message), "{error}");
    };
    let places_of_pack = pack.objects(&places()).unwrap();
    let parts = [ValueRef::Int(1), ValueRef::Float(2.0), ValueRef::Int(3)];
    assert!(places_of_pack.get(&parts[..2]).unwrap().is_some());
    for given in [0, 1, 3] {
        let key = &parts[..given];
        let removed = pack.edit().remove(&places(), key).finish();
        check(removed.unwrap_err(), "remove", given);
        check(places_of_pack.get(key).unwrap_err(), "get", given);
        check(places_of_pack.get_many(&[key]).unwrap_err(), "get", given);
        check(places_of_pack.contains(key).unwrap_err(), "get", given);
        let mut reader = places_of_pack.reader();
        check(reader.payload(key).unwrap_err(), "get", given);
        let payloads = reader.payloads(&[key], |_, _| {});
        check(payloads.unwrap_err(), "get", given);
    }
}

#[test]
fn refused_changes_fail_the_edit() {
    let directory = tempfile::tempdir().unwrap();
    let pack = base(directory.path(), &Model::new());
    let kind = |edit: dflat_pack::PackEdit| edit.finish().unwrap_err().kind();
    let missing = pack.edit().upsert(&places(), &place(1, 1.0, "p"));
    assert_eq!(kind(missing), ErrorKind::InvalidArgument);
    let missing = pack.edit().remove(&places(), &key("p"));
    assert_eq!(kind(missing), ErrorKind::InvalidArgument);
    let malformed = pack.edit().upsert(&words(), &[1, 2, 3]);
    assert_eq!(kind(malformed), ErrorKind::Corrupt);
    // A good change behind a refused one does not hide it.
    let edit = pack.edit().upsert(&words(), &[]);
    let good = edit.upsert(&words(), &word("a", 1, None));
    assert_eq!(kind(good), ErrorKind::Corrupt);
}

#[test]
fn pack_has_at_most_64_layers() {
    let directory = tempfile::tempdir().unwrap();
    let mut pack = base(directory.path(), &Model::new());
    for number in 0..64 {
        let payload = word("a", number, Some("x"));
        pack = pack.edit().upsert(&words(), &payload).finish().unwrap();
    }
    pack = Pack::open(pack.save(directory.path()).unwrap().path()).unwrap();
    assert_eq!(pack.bases().len(), 64);
    let full = pack.edit().upsert(&words(), &word("b", 1, None));
    let error = full.finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("compact it first"), "{error}");
    let compacted = pack.compact(directory.path()).unwrap();
    assert_eq!(compacted.objects(&words()).unwrap().len(), 1);
}

#[test]
fn bases_are_found_in_the_directory_or_given_by_a_loader() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = base(first.path(), &Model::new());
    let edit = |pack: &Pack, name| pack.edit().upsert(&words(), &word(name, 1, None));
    let lower = edit(&root, "a").finish().unwrap();
    let upper = edit(&lower, "b").finish().unwrap();
    assert_eq!(upper.path(), root.path());
    // All layers are written, the lower one too, but the file below them is not.
    let saved = upper.save(second.path()).unwrap();
    assert_eq!(saved.path(), upper.digest().path_in(second.path()));
    assert!(lower.digest().path_in(second.path()).exists());
    assert_eq!(
        chain(&saved),
        [upper.digest(), lower.digest(), root.digest()]
    );
    let error = Pack::open(saved.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(
        error.to_string().contains(&root.digest().to_string()),
        "{error}"
    );
    let options = OpenOptions::default();
    let mut asked = Vec::new();
    let opened = Pack::open_on(saved.path(), options, |digest| {
        asked.push(digest);
        Ok((digest == root.digest()).then(|| root.clone()))
    });
    let opened = opened.unwrap();
    assert_eq!(asked, [lower.digest(), root.digest()]);
    assert_eq!(opened.objects(&words()).unwrap().len(), 2);
    // A layered pack may be given, too.
    let opened = Pack::open_on(saved.path(), options, |_| Ok(Some(lower.clone())));
    assert_eq!(chain(&opened.unwrap()), chain(&saved));
    let error = Pack::open_on(saved.path(), options, |_| Ok(Some(root.clone())));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Corrupt);
    // The file with the name of a base has other content.
    fs::copy(saved.path(), root.digest().path_in(second.path())).unwrap();
    let error = Pack::open(saved.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    fs::copy(root.path(), root.digest().path_in(second.path())).unwrap();
    assert_eq!(
        Pack::open(saved.path())
            .unwrap()
            .objects(&words())
            .unwrap()
            .len(),
        2
    );
}
