//! Building: names, order, refusals, and memory.

use std::fs;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use dflat_engine::ErrorKind;
use dflat_model::Table;
use dflat_pack::{BuildOptions, Digest, Pack, PackBuilder};

use crate::words::{Random, build, empty, key, names, place, places, word, words};

/// Words and places in the order of the pack.
fn objects(count: usize) -> Vec<(Table, Vec<u8>)> {
    let (words, places) = (words(), places());
    let mut objects = Vec::new();
    for x in 0..count as i64 / 2 {
        objects.push((
            places.clone(),
            place(x / 3, (x % 3) as f64 - 1.0, "somewhere"),
        ));
    }
    for number in 0..count - count / 2 {
        let note = "n".repeat(number % 300);
        let payload = word(&format!("{number:06}"), number as i32 % 9, Some(&note));
        objects.push((words.clone(), payload));
    }
    objects
}

#[test]
fn content_in_any_order_gives_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let tables = [words(), empty(), places()];
    for count in [0, 1, 2, 300, 3000] {
        let sorted = objects(count);
        let pack = build(directory.path(), &tables, &sorted, BuildOptions::default()).unwrap();
        let bytes = fs::read(pack.path()).unwrap();
        pack.verify().unwrap();
        pack.verify_objects().unwrap();
        for seed in 0..6 {
            let mut shuffled = sorted.clone();
            let mut random = Random::new(seed);
            match seed {
                0 => shuffled.reverse(),
                1 => shuffled.rotate_left(count / 3),
                _ => random.shuffle(&mut shuffled),
            }
            let elsewhere = tempfile::tempdir().unwrap();
            let memory = [0, 5_000, 64 << 20][seed as usize % 3];
            let options = BuildOptions::default().memory_max(memory);
            let other = build(elsewhere.path(), &tables, &shuffled, options).unwrap();
            assert_eq!(
                other.digest(),
                pack.digest(),
                "{count} objects, seed {seed}"
            );
            assert!(
                fs::read(other.path()).unwrap() == bytes,
                "{count} objects, seed {seed}"
            );
            assert_eq!(names(elsewhere.path()), [pack.digest().file_name()]);
        }
    }
}

#[test]
fn name_depends_on_objects_and_types() {
    let directory = tempfile::tempdir().unwrap();
    let digest = |tables: &[Table], objects: &[(Table, Vec<u8>)]| {
        build(directory.path(), tables, objects, BuildOptions::default())
            .unwrap()
            .digest()
    };
    let with = |payload: Vec<u8>| [(words(), payload)];
    let mut digests = vec![
        digest(&[words()], &[]),
        digest(&[words(), places()], &[]),
        digest(&[], &[]),
        digest(&[words()], &with(word("a", 1, None))),
        digest(&[words()], &with(word("a", 2, None))),
        digest(&[words()], &with(word("a", 1, Some("")))),
        digest(&[words()], &with(word("b", 1, None))),
        digest(&[words(), empty()], &with(word("b", 1, None))),
    ];
    assert_eq!(names(directory.path()).len(), digests.len());
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 8);
}

#[test]
fn existing_file_of_the_same_name_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let objects = objects(40);
    let tables = [words(), places()];
    let first = build(directory.path(), &tables, &objects, BuildOptions::default()).unwrap();
    let bytes = fs::read(first.path()).unwrap();
    fs::write(first.path(), "damaged").unwrap();
    let second = build(directory.path(), &tables, &objects, BuildOptions::default()).unwrap();
    assert_eq!(fs::read(second.path()).unwrap(), bytes);
    assert_eq!(names(directory.path()).len(), 1);
}

#[test]
fn payloads_of_other_encoders_are_made_canonical() {
    // A default that is written out, a string behind its use, and unused bytes.
    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let note = builder.create_string("a note");
    let text = builder.create_string("pear");
    let start = builder.start_table();
    builder.push_slot_always(8, note);
    builder.push_slot_always(6, 7_i32);
    builder.push_slot_always(4, text);
    let root = builder.end_table(start);
    builder.finish_minimal(root);
    let foreign = builder.finished_data().to_vec();
    let own = word("pear", 7, Some("a note"));
    assert_ne!(foreign, own);

    let directory = tempfile::tempdir().unwrap();
    let one = Pack::build(directory.path(), [words()], [(words(), &foreign)]).unwrap();
    let other = Pack::build(directory.path(), [words()], [(words(), &own)]).unwrap();
    assert_eq!(one.digest(), other.digest());
    let objects = one.objects(&words()).unwrap();
    let found = objects.get(&key("pear")).unwrap().unwrap();
    assert_eq!(found.payload(), own);
}

#[test]
fn two_objects_with_one_key_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    for memory in [0, 64 << 20] {
        for order in [[0, 1, 1], [1, 0, 1], [1, 1, 0]] {
            let payloads = [word("a", 1, None), word("b", 2, None)];
            let objects = order.map(|at| (words(), payloads[at].clone()));
            let options = BuildOptions::default().memory_max(memory);
            let error = build(directory.path(), &[words()], &objects, options).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{order:?}");
            let message = "cannot build a pack: two objects of Word have the key \"b\"";
            assert_eq!(error.to_string(), message);
        }
    }
    // Zeros of both signs are one key.
    let zeros = [0.0, -0.0].map(|y| (places(), place(1, y, "")));
    let error = build(
        directory.path(),
        &[places()],
        &zeros,
        BuildOptions::default(),
    )
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(names(directory.path()).is_empty());
}

#[test]
fn refused_object_is_left_out_and_the_builder_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut builder = PackBuilder::new(
        directory.path(),
        [words(), places()],
        BuildOptions::default(),
    )
    .unwrap();
    builder.add(&words(), &word("b", 1, None)).unwrap();
    for (table, payload, kind, message) in [
        (
            words(),
            vec![1, 2, 3],
            ErrorKind::Corrupt,
            "the bytes are no Word",
        ),
        (
            empty(),
            vec![],
            ErrorKind::InvalidArgument,
            "it was built without this type",
        ),
        (
            places(),
            place(1, f64::NAN, ""),
            ErrorKind::InvalidArgument,
            "has no value",
        ),
        (
            words(),
            word("b", 9, None),
            ErrorKind::AlreadyExists,
            "have the key \"b\"",
        ),
    ] {
        let error = builder.add(&table, &payload).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
    builder.add(&words(), &word("a", 1, None)).unwrap();
    assert_eq!((builder.len(), builder.is_empty()), (2, false));
    let pack = builder.finish().unwrap();
    let objects = pack.objects(&words()).unwrap();
    assert_eq!(objects.len(), 2);
    assert!(objects.contains(&key("a")).unwrap() && objects.contains(&key("b")).unwrap());
    assert!(pack.objects(&places()).unwrap().is_empty());
}

#[test]
fn values_of_newer_code_are_refused() {
    let mut newer = dflat_engine::object::Writer::new();
    let root = newer.begin();
    assert!(newer.begin_table(root));
    let text = newer.slot(4);
    newer.scalar(10, 1_i32);
    newer.end_table();
    newer.text(text, "a");
    newer.leave();
    let directory = tempfile::tempdir().unwrap();
    let objects = [(words(), newer.finish().unwrap())];
    let error = Pack::build(directory.path(), [words()], objects).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NewerSchema, "{error}");
}

#[test]
fn progress_is_reported_and_can_cancel() {
    let directory = tempfile::tempdir().unwrap();
    let mut shuffled = objects(5000);
    Random::new(5).shuffle(&mut shuffled);
    let tables = [words(), places()];
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    let options = BuildOptions::default().on_progress(move |progress| {
        note.lock()
            .unwrap()
            .push((progress.added, progress.written));
        ControlFlow::Continue(())
    });
    build(directory.path(), &tables, &shuffled, options).unwrap();
    let seen = seen.lock().unwrap().clone();
    assert!(seen.iter().any(|(added, _)| *added < 5000), "{seen:?}");
    assert!(
        seen.iter()
            .any(|(added, written)| *added == 5000 && *written > 3000),
        "{seen:?}"
    );
    let before = names(directory.path());

    for (added, written) in [(2000, 0), (5000, 3000)] {
        let options = BuildOptions::default()
            .memory_max(100_000)
            .on_progress(move |progress| {
                match progress.added >= added && progress.written >= written {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
        let error = build(directory.path(), &tables, &shuffled, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        assert_eq!(names(directory.path()), before);
    }
}

#[test]
fn panic_of_the_callback_is_an_error_and_ends_the_build() {
    let directory = tempfile::tempdir().unwrap();
    let options = BuildOptions::default().on_progress(|_| panic!("no more"));
    let error = build(
        directory.path(),
        &[words(), places()],
        &objects(1100),
        options,
    );
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Panicked);
    assert!(names(directory.path()).is_empty());
}

#[test]
fn descriptors_that_differ_and_missing_directories_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut other = (*words()).clone();
    other.indexes = Vec::new().into();
    let tables = [words(), Table::new(other)];
    let error = build(directory.path(), &tables, &[], BuildOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    // Equal descriptors are one type.
    build(
        directory.path(),
        &[words(), words()],
        &[],
        BuildOptions::default(),
    )
    .unwrap();

    let missing = directory.path().join("missing");
    let error = build(&missing, &[words()], &[], BuildOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(
        error.to_string().starts_with("cannot build a pack in "),
        "{error}"
    );
}

#[test]
fn large_objects_lie_in_blocks_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let lengths = [10, 5000, 70_000, 3, 4096, 1_000_000, 0, 300_000];
    let objects = (0..).zip(lengths).map(|(rank, len)| {
        (
            words(),
            word(&format!("{rank}"), rank, Some(&"x".repeat(len))),
        )
    });
    let objects: Vec<_> = objects.collect();
    let pack = build(
        directory.path(),
        &[words()],
        &objects,
        BuildOptions::default(),
    )
    .unwrap();
    pack.verify().unwrap();
    pack.verify_objects().unwrap();
    let found: Vec<_> = pack
        .objects(&words())
        .unwrap()
        .iter()
        .map(Result::unwrap)
        .collect();
    for (found, (_, payload)) in found.iter().zip(&objects) {
        assert!(found.payload() == payload);
    }
    assert_eq!(found.len(), objects.len());
}

#[test]
fn sorted_source_is_written_as_it_comes_and_packs_are_small() {
    let directory = tempfile::tempdir().unwrap();
    for (bytes, percent) in [(120, 110), (1024, 103)] {
        let padding = bytes - word("00000000", 1, Some("")).len();
        let note = "n".repeat(padding);
        let payloads = (0..20_000).map(|at| word(&format!("{at:08}"), at, Some(&note)));
        let objects: Vec<_> = payloads.map(|payload| (plain_words(), payload)).collect();
        assert_eq!(objects[5].1.len(), bytes);
        let options = BuildOptions::default().on_progress(|progress| {
            assert_eq!(progress.written, progress.added);
            ControlFlow::Continue(())
        });
        let pack = build(directory.path(), &[plain_words()], &objects, options).unwrap();
        let payload = (objects.len() * bytes) as u64;
        assert!(
            pack.size_bytes() * 100 <= payload * percent,
            "{}",
            pack.size_bytes()
        );
    }
}

/// The type of words without its index.
fn plain_words() -> Table {
    let mut table = (*words()).clone();
    table.indexes = Vec::new().into();
    Table::new(table)
}

// The bytes of this pack are in files: if this digest changes, the version of the layout must, too.
#[test]
fn digest_of_a_known_pack_stays() {
    let directory = tempfile::tempdir().unwrap();
    let tables = [words(), empty(), places()];
    let pack = build(
        directory.path(),
        &tables,
        &objects(50),
        BuildOptions::default(),
    )
    .unwrap();
    let known = "a822f222f96e241efeae6cd67829c1d0cdb2773f4440cf517bcded646bd798c4";
    assert_eq!(pack.digest(), known.parse::<Digest>().unwrap());
}
