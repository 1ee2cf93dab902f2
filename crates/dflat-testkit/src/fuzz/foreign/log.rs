//! Files with the log of another file: of an unrelated file, or of a copy that was changed
//! differently, whose log has the same salts.
//!
//! SQLite accepts a log whose checksums match, even if the log belongs to another file. The library
//! must read exactly what SQLite reads from the two.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use dflat::{Object, Workspace};
use rusqlite::Connection;

use crate::fixture::bounded;
use crate::fuzz::file::{File, files, use_file};
use crate::fuzz::{mutate, question};
use crate::random::Random;
use crate::schema::{Sample, SampleChangeRequest, SampleData};

/// Runs a seed.
pub fn run_seed(seed: u64) {
    bounded(move || {
        let mut random = Random::new(seed);
        let (file, mut log) = pair(&mut random);
        if random.one_in(3) {
            mutate::bytes(&mut log, &mut random);
        }
        compare(&file, &log);
        use_file(&file, &log, &mut random);
    });
}

/// A file, and the log of another file.
fn pair(random: &mut Random) -> File {
    let (own, original) = (versions(), files());
    let all: Vec<&File> = own.iter().chain(original).collect();
    let logs: Vec<&File> = all
        .iter()
        .filter(|file| !file.1.is_empty())
        .copied()
        .collect();
    (random.pick(&all).0.clone(), random.pick(&logs).1.clone())
}

/// A file in three states: the second and the third both follow the first, independently of each
/// other. And an unrelated file.
fn versions() -> &'static [File] {
    static VERSIONS: OnceLock<Vec<File>> = OnceLock::new();
    VERSIONS.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let (a, b) = (directory.path().join("a.db"), directory.path().join("b.db"));
        let workspace = Workspace::open(&a).unwrap();
        write(&workspace, 1, 0..60);
        let first = taken(&a);
        write(&workspace, 2, 40..120);
        let second = taken(&a);
        workspace.shutdown().unwrap();
        fs::write(&b, &first.0).unwrap();
        fs::write(beside(&b), &first.1).unwrap();
        let workspace = Workspace::open(&b).unwrap();
        write(&workspace, 3, 20..90);
        let third = taken(&b);
        workspace.shutdown().unwrap();
        // The other logs start with the salts of the first log.
        assert!(second.1[16..24] == first.1[16..24] && third.1[16..24] == first.1[16..24]);
        let c = directory.path().join("c.db");
        let workspace = Workspace::open(&c).unwrap();
        write(&workspace, 4, 0..100);
        let other = taken(&c);
        assert!(other.1[16..24] != first.1[16..24]);
        let checkpointed = {
            workspace.shutdown().unwrap();
            (fs::read(&c).unwrap(), Vec::new())
        };
        vec![first, second, third, other, checkpointed]
    })
}

fn write(workspace: &Workspace, seed: u64, ids: std::ops::Range<i32>) {
    let mut random = Random::new(seed);
    let all: Vec<SampleData> = ids
        .map(|id| SampleData {
            id,
            code: None,
            nick: Some("nick".repeat(random.below(200))),
            ..question::sample(&mut random)
        })
        .collect();
    let written = workspace.perform_changes([Sample::TABLE], move |tx| {
        all.into_iter()
            .try_for_each(|data| tx.submit(SampleChangeRequest::upsert(data)).map(drop))
    });
    written.wait().unwrap();
}

/// The bytes of the files while they are open but not written.
fn taken(path: &Path) -> File {
    (fs::read(path).unwrap(), fs::read(beside(path)).unwrap())
}

fn beside(path: &Path) -> std::path::PathBuf {
    path.with_extension("db-wal")
}

/// Reads all objects, and compares their bytes with those that plain SQL reads, if both can.
fn compare(file: &[u8], log: &[u8]) {
    let directory = tempfile::tempdir().unwrap();
    let put = |name: &str| {
        let path = directory.path().join(name);
        fs::write(&path, file).unwrap();
        fs::write(beside(&path), log).unwrap();
        path
    };
    let sql = Connection::open(put("oracle.db")).unwrap();
    let read = || -> rusqlite::Result<Vec<Vec<u8>>> {
        let mut rows = sql.prepare("SELECT p FROM sample NOT INDEXED ORDER BY rowid")?;
        let rows = rows.query_map([], |row| row.get(0))?;
        rows.collect()
    };
    let Ok(workspace) = Workspace::open(put("ours.db")) else {
        return;
    };
    if let (Ok(expected), Ok(found)) = (read(), workspace.fetch::<Sample>().all()) {
        let found: Vec<Vec<u8>> = found.iter().map(|object| object.to_bytes()).collect();
        assert!(found == expected, "{} of {}", found.len(), expected.len());
    }
    let _ = workspace.shutdown();
}
