//! Builds that end early: on a full disk, and when the process is killed at any write.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use dflat_engine::ErrorKind;
use dflat_pack::{BuildOptions, Pack};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::words::{Random, build, names, word, words};

/// The directory in which the child builds, and the largest file that it may write.
const DIRECTORY: &str = "DFLAT_PACK_DIRECTORY";
const BYTES: &str = "DFLAT_PACK_FILE_BYTES";

/// Builds a pack of about 100,000 bytes.
fn build_one(directory: &Path) -> dflat_engine::Result<Pack> {
    let mut objects: Vec<_> = (0..300)
        .map(|at| {
            (
                words(),
                word(&format!("{at:04}"), at, Some(&"n".repeat(300))),
            )
        })
        .collect();
    Random::new(1).shuffle(&mut objects);
    let options = BuildOptions::default().memory_max(30_000);
    build(directory, &[words()], &objects, options)
}

/// The child: the system kills it at the first write beyond the limit.
#[test]
fn child_that_may_be_killed() {
    let (Some(directory), Ok(bytes)) = (env::var_os(DIRECTORY), env::var(BYTES)) else {
        return;
    };
    let limit = Rlimit {
        current: Some(bytes.parse().unwrap()),
        maximum: None,
    };
    setrlimit(Resource::Fsize, limit).unwrap();
    build_one(Path::new(&directory)).unwrap();
}

/// Builds in a child that may write files of so many bytes. Returns whether it was killed.
fn is_killed(directory: &Path, bytes: u64) -> bool {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "ends::child_that_may_be_killed"]);
    child
        .env(DIRECTORY, directory)
        .env(BYTES, bytes.to_string());
    let output = child.output().unwrap();
    const SIGXFSZ: i32 = 25;
    match output.status.signal() {
        Some(signal) => {
            assert_eq!(signal, SIGXFSZ);
            true
        }
        None => {
            assert!(output.status.success(), "{output:?}");
            false
        }
    }
}

#[test]
fn process_that_is_killed_at_any_write_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let size = build_one(directory.path()).unwrap().size_bytes();
    let whole = names(directory.path());
    std::fs::remove_file(directory.path().join(&whole[0])).unwrap();
    let mut killed = 0;
    for bytes in (0..=size)
        .step_by(size as usize / 40)
        .chain([size - 1, size])
    {
        if is_killed(directory.path(), bytes) {
            killed += 1;
            assert!(bytes < size);
            if cfg!(target_os = "linux") {
                assert!(names(directory.path()).is_empty(), "{bytes} bytes");
            }
        } else {
            assert_eq!(names(directory.path()), whole, "{bytes} bytes");
            std::fs::remove_file(directory.path().join(&whole[0])).unwrap();
        }
    }
    assert!(killed > 30);
}

/// A small file system, which is unmounted when this is dropped.
struct Small<'d>(&'d Path);

impl<'d> Small<'d> {
    fn mount(at: &'d Path, bytes: u64) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args([
            "-t",
            "tmpfs",
            "-o",
            &format!("size={bytes},mode=700"),
            "tmpfs",
        ]);
        let done = mount.arg(at).output().ok()?;
        done.status.success().then_some(Self(at))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).output();
    }
}

#[test]
fn build_on_a_full_disk_fails_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut refused = 0;
    for bytes in (20_480..400_000).step_by(20_480) {
        let Some(small) = Small::mount(directory.path(), bytes) else {
            // The test harness does not capture this output.
            let text = "skipped: build_on_a_full_disk_fails, as nothing can be mounted here\n";
            let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
            return;
        };
        match build_one(small.0) {
            Ok(pack) => pack.verify().unwrap(),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
                assert!(names(small.0).is_empty());
                refused += 1;
            }
        }
    }
    assert!((1..18).contains(&refused), "{refused}");
}
