//! A pack that is larger than the memory of the process that builds and reads it.
//! `DFLAT_PACK_OBJECTS` sets the number of its objects, of 1 KiB each; the process then has
//! 256 MiB.

use std::env;
use std::path::Path;
use std::process::Command;

use dflat_model::ValueRef;
use dflat_pack::{BuildOptions, Pack};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::words::{Random, build_each, place, places};

const DIRECTORY: &str = "DFLAT_PACK_LARGE";
const OBJECTS: &str = "DFLAT_PACK_OBJECTS";

/// Without the variable, a pack of 48 MB and a process of 32 MiB.
const OBJECTS_DEFAULT: u64 = 48_000;

fn count() -> u64 {
    let value = env::var(OBJECTS).ok();
    value.map_or(OBJECTS_DEFAULT, |value| {
        value.parse().expect("it is a number")
    })
}

/// The bytes of memory for data.
fn memory(count: u64) -> u64 {
    if count > OBJECTS_DEFAULT {
        256 << 20
    } else {
        32 << 20
    }
}

/// The object with a number.
fn payload(number: u64) -> Vec<u8> {
    let text = format!("{number:010} ");
    place(number as i64, 0.5, &text.repeat(89))
}

/// The numbers in an order that is not theirs: each once, as the factor is a prime.
fn shuffled(count: u64) -> impl Iterator<Item = u64> {
    const FACTOR: u64 = 2_147_483_647;
    (0..count).map(move |at| at * FACTOR % count)
}

/// The child: it may have so much memory for its data, and no more.
#[test]
fn child_with_little_memory() {
    let Some(directory) = env::var_os(DIRECTORY) else {
        return;
    };
    let count = count();
    let limit = Rlimit {
        current: Some(memory(count)),
        maximum: None,
    };
    setrlimit(Resource::Data, limit).unwrap();
    let directory = Path::new(&directory);
    let options = BuildOptions::default().memory_max(memory(count) as usize / 8);
    let table = places();
    let objects = shuffled(count).map(|number| (table.clone(), payload(number)));
    let built = build_each(directory, std::slice::from_ref(&table), objects, options).unwrap();
    let path = built.path().to_owned();
    drop(built);
    let pack = Pack::open(&path).unwrap();
    let objects = pack.objects(&table).unwrap();
    assert_eq!(objects.len(), count);
    let mut reader = objects.reader();
    let mut random = Random::new(5);
    for _ in 0..1000 + count / 100 {
        let number = random.below(2 * count);
        let key = [ValueRef::Int(number as i64), ValueRef::Float(0.5)];
        let found = reader.payload(&key).unwrap();
        let expected = (number < count).then(|| payload(number));
        assert_eq!(found, expected.as_deref(), "{number}");
    }
    let mut iter = objects.iter();
    for number in 0..count {
        let (position, found) = iter.next_payload().unwrap().unwrap();
        assert_eq!(position, number);
        if number % 64 == 0 {
            assert_eq!(found, payload(number), "{number}");
        }
    }
    assert!(iter.next_payload().unwrap().is_none());
}

#[test]
fn pack_larger_than_memory_is_built_and_read() {
    let count = count();
    assert!(
        payload(0).len() as u64 * count > memory(count),
        "it is larger"
    );
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "large::child_with_little_memory"]);
    let output = child.env(DIRECTORY, directory.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    assert!(text.contains("1 passed"), "{text}");
}
