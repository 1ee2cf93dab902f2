//! Other processes that hold packs, and that collect garbage while layers are saved.

use std::env;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

use dflat_pack::{BuildOptions, Pack, collect_garbage, collect_garbage_older_than};

use crate::garbage::{age, collect};
use crate::words::{build, names, word, words};

/// The pack that a child holds, and the directory that a child collects.
const HELD: &str = "DFLAT_PACK_HELD";
const COLLECTED: &str = "DFLAT_PACK_COLLECTED";

/// The child: it opens a pack, says so by a file, and ends with its input.
#[test]
fn child_that_holds_a_pack() {
    let Some(path) = env::var_os(HELD).map(PathBuf::from) else {
        return;
    };
    let pack = Pack::open(&path).unwrap();
    fs::write(path.with_extension("open"), "").unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    drop(pack);
}

/// The child: it collects garbage again and again, until the directory has a file `end`.
#[test]
fn child_that_collects() {
    let Some(directory) = env::var_os(COLLECTED).map(PathBuf::from) else {
        return;
    };
    let mut deleted = 0;
    while !directory.join("end").exists() {
        let collected = collect_garbage_older_than(&directory, [], Duration::from_secs(60));
        deleted += collected.unwrap().deleted.len();
        fs::write(directory.join("deleted"), deleted.to_string()).unwrap();
    }
}

/// A child that is killed with the test, if it fails.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // A child that has ended cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn child(test: &str, variable: &str, path: &Path) -> Ended {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", &format!("processes::{test}")]);
    child.env(variable, path).stdin(Stdio::piped());
    Ended(child.stdout(Stdio::null()).spawn().unwrap())
}

fn wait_for(path: &Path) {
    let end = SystemTime::now() + Duration::from_secs(60);
    while !path.exists() {
        assert!(SystemTime::now() < end, "{} is missing", path.display());
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn packs_that_another_process_holds_stay_until_it_ends() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let objects = [(words(), word("a", 1, None))];
    let root = build(directory, &[words()], &objects, BuildOptions::default()).unwrap();
    let edit = root.edit().upsert(&words(), &word("b", 2, None));
    let layer = edit.finish().unwrap().save(directory).unwrap();
    let (path, digests) = (layer.path().to_owned(), [layer.digest(), root.digest()]);
    drop((root, layer));
    let packs = names(directory);
    let holder = child("child_that_holds_a_pack", HELD, &path);
    wait_for(&path.with_extension("open"));
    packs.iter().for_each(|name| age(&directory.join(name)));
    for _ in 0..20 {
        assert_eq!(collect_garbage(directory, []).unwrap().deleted, []);
    }
    // The system frees the locks of a process that is killed.
    drop(holder);
    assert_eq!(collect(directory, [], 2).0, digests);
}

/// Each layer that this process has saved and closed is opened again, though another process
/// collects all that is old.
#[test]
fn bases_of_saved_layers_stay_while_another_process_collects() {
    let (shared, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (shared, own) = (shared.path(), own.path());
    let mut collector = child("child_that_collects", COLLECTED, shared);
    wait_for(&shared.join("deleted"));
    let mut checked = 0;
    for round in 0..150 {
        let objects = [(words(), word(&format!("a{round}"), 1, None))];
        let root = build(own, &[words()], &objects, BuildOptions::default()).unwrap();
        // The base in the shared directory is old, and this process does not have it open.
        let base = root.digest().path_in(shared);
        let copy = own.join("copy");
        fs::copy(root.path(), &copy).unwrap();
        age(&copy);
        let edit = root.edit().upsert(&words(), &word("b", round, None));
        let layer = edit.finish().unwrap();
        fs::rename(&copy, &base).unwrap();
        let saved = layer.save(shared).unwrap();
        // The base may have been deleted before the layer was saved.
        let is_base_there = base.exists();
        let path = saved.path().to_owned();
        drop((layer, saved, root));
        if is_base_there {
            checked += 1;
            thread::sleep(Duration::from_millis(2));
            Pack::open(&path).unwrap();
        }
    }
    assert!(
        checked > 0,
        "each base was deleted before its layer was saved"
    );
    File::create(shared.join("end")).unwrap().flush().unwrap();
    assert!(collector.0.wait().unwrap().success());
}

/// Runs work in a directory with a pipe under a name, which nobody writes to. Fails if it waits.
#[cfg(target_os = "linux")]
fn beside_a_pipe(name: &str, work: impl FnOnce(&Path) + Send + 'static) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join(name);
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let (sender, done) = mpsc::channel();
    let worker = thread::spawn(move || {
        work(directory.path());
        sender.send(()).unwrap();
    });
    let is_done = done.recv_timeout(Duration::from_secs(60));
    assert!(
        is_done.is_ok() || worker.is_finished(),
        "it waits for the pipe {name}"
    );
    worker.join().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_waits_for_a_pipe_in_the_place_of_a_file() {
    use dflat_engine::ErrorKind;
    let objects = [(words(), word("a", 1, None))];
    let build = move |directory: &Path| {
        let options = BuildOptions::default();
        build(directory, &[words()], &objects, options).unwrap()
    };
    let elsewhere = tempfile::tempdir().unwrap();
    let base = build(elsewhere.path());
    let name = base.digest().file_name();
    let layered = base.edit().upsert(&words(), &word("b", 2, None));
    let layered = layered.finish().unwrap();
    // The base of a layer that is saved and opened.
    let pipe = name.clone();
    beside_a_pipe(&name, move |directory| {
        let saved = layered.save(directory).unwrap();
        let path = saved.path().to_owned();
        drop(saved);
        for file in [directory.join(&pipe), path] {
            let error = Pack::open(file).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        }
    });
    // A file that a build replaces, and one that it removes.
    for name in [&name, ".dflat-left.partial"] {
        let build = build.clone();
        beside_a_pipe(name, move |directory| {
            assert_eq!(build(directory).objects(&words()).unwrap().len(), 1);
        });
    }
}
