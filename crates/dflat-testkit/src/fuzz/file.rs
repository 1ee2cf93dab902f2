//! Damaged files: every operation on them ends, with a value or an error.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use dflat::{ChangeRequest, ErrorKind, Object, Predicate, Workspace};

use super::original::{BenchDoc, DictItem, Monster, folder};
use super::{mutate, question};
use crate::fixture::{Fixture, bounded};
use crate::random::Random;
use crate::schema::{Sample, SampleData};

/// The bytes of a file, and those of its log.
pub(super) type File = (Vec<u8>, Vec<u8>);

/// Runs a seed.
pub fn run_seed(seed: u64) {
    bounded(move || {
        let mut random = Random::new(seed);
        let (mut file, mut log) = random.pick(files()).clone();
        for _ in 0..1 + random.below(5) {
            if !log.is_empty() && random.one_in(2) {
                mutate::bytes(&mut log, &mut random);
            } else {
                mutate::file(&mut file, 4096, &mut random);
            }
        }
        use_file(&file, &log, &mut random);
    });
}

/// Uses arbitrary bytes as a file.
pub fn check_bytes(file: &[u8]) {
    let file = file.to_vec();
    bounded(move || use_file(&file, &[], &mut Random::new(file.len() as u64)));
}

/// Files of Dflat for Swift, and a file of this library.
pub(super) fn files() -> &'static [File] {
    static FILES: OnceLock<Vec<File>> = OnceLock::new();
    FILES.get_or_init(|| {
        let read = |name: &str| fs::read(folder().join(name)).unwrap();
        vec![
            (read("checkpointed.db"), Vec::new()),
            (read("unclean/unclean.db"), read("unclean/unclean.db-wal")),
            ours(),
        ]
    })
}

fn ours() -> File {
    let mut random = Random::new(0);
    let fixture = Fixture::sqlite();
    let data = (0..120).map(|id| SampleData {
        id,
        code: None,
        nick: Some("nick".repeat(random.below(400))),
        ..question::sample(&mut random)
    });
    let data: Vec<SampleData> = data.collect();
    fixture.create::<Sample>(data);
    let path = fixture.path().unwrap();
    let (workspace, _directory) = fixture.into_parts();
    workspace.shutdown().unwrap();
    (fs::read(path).unwrap(), Vec::new())
}

pub(super) fn use_file(file: &[u8], log: &[u8], random: &mut Random) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("damaged.db");
    fs::write(&path, file).unwrap();
    if !log.is_empty() {
        fs::write(directory.path().join("damaged.db-wal"), log).unwrap();
    }
    for _ in 0..2 {
        use_workspace(&path, random);
    }
}

fn use_workspace(path: &Path, random: &mut Random) {
    let Some(workspace) = sane(Workspace::open(path)) else {
        return;
    };
    let mut sample = question::sample(random);
    sample.id = 5;
    use_type::<Sample>(&workspace, 5, Sample::RANK.le(2), sample);
    let key = ("m7", Default::default());
    use_type::<Monster>(&workspace, key, Monster::MANA.gt(300), Default::default());
    use_type::<BenchDoc>(
        &workspace,
        "title3",
        BenchDoc::TAG.eq("high"),
        Default::default(),
    );
    use_type::<DictItem>(
        &workspace,
        ("settings", ""),
        DictItem::KEY.ge("a"),
        Default::default(),
    );
    sane(workspace.shutdown());
}

/// Makes all operations on a type.
pub(super) fn use_type<T: Object>(
    workspace: &Workspace,
    key: T::Key<'static>,
    predicate: Predicate<T>,
    data: T::Data,
) where
    T::Key<'static>: Clone,
    T::Data: Send + Clone,
{
    sane(workspace.get::<T>(key.clone()));
    sane(workspace.fetch::<T>().filter(predicate).all());
    let received = |result| {
        sane(result);
    };
    let followed = sane(workspace.subscribe(workspace.fetch::<T>(), received));
    let all = sane(workspace.fetch::<T>().all());
    let objects: Vec<T> = all
        .iter()
        .flat_map(|all| all.iter().take(3))
        .cloned()
        .collect();
    if let Some(snapshot) = sane(workspace.snapshot()) {
        sane(snapshot.fetch::<T>().limit(7).all());
    }
    let change = workspace.perform_changes([T::TABLE], move |tx| {
        for object in &objects {
            if let Some(request) = ChangeRequest::deletion(tx, object)? {
                tx.submit::<T>(request)?;
            }
        }
        tx.submit::<T>(ChangeRequest::upsert(data.clone()))?;
        tx.submit::<T>(ChangeRequest::creation(data))
    });
    sane(change.wait());
    let again = workspace.perform_changes([T::TABLE], |_| Ok(()));
    sane(again.wait());
    sane(workspace.fetch::<T>().all());
    drop(followed);
}

/// The value; `None` for an error. Panics if the error reports a panic.
pub(super) fn sane<R>(result: dflat::Result<R>) -> Option<R> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            assert!(
                !matches!(
                    error.kind(),
                    ErrorKind::Panicked | ErrorKind::WouldDeadlock | ErrorKind::UndeclaredType
                ),
                "{error}"
            );
            assert!(!error.to_string().is_empty());
            None
        }
    }
}
