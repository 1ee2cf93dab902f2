//! Figure C4: the counted calls are the calls that the system sees.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use dflat_engine::storage::{Backend, CloseOptions, Source, View};
use dflat_sqlite::{Durability, FileKind, IoReport, Operation};

use crate::counted::{insert, open_counted, plain, update};
use crate::sample::{ids, snapshot};

/// The environment variable with the path of the file of the traced program.
const PATH: &str = "DFLAT_TRACED_PATH";

/// The numbers of calls and bytes, by file and operation.
type Calls = BTreeMap<String, (u64, u64)>;

/// The compared files: the suffix of the name after the database's, and the kind.
const FILES: [(&str, FileKind); 2] = [("", FileKind::Main), ("-wal", FileKind::Log)];

/// The compared operations, each with its system calls.
const OPERATIONS: [(Operation, &[&str]); 4] = [
    (Operation::Read, &["pread64"]),
    (Operation::Write, &["pwrite64"]),
    (Operation::Flush, &["fdatasync", "fsync"]),
    (Operation::Truncate, &["ftruncate"]),
];

fn name(file: &str, operation: Operation) -> String {
    format!("main{file} {operation}")
}

/// Inserts one object and many in a transaction, updates, reads and gives space back, with each
/// durability. Returns the reports of the counted calls.
fn work(path: &Path) -> [IoReport; 2] {
    [(Durability::Normal, 0), (Durability::Full, 1000)].map(|(durability, first)| {
        let backend = open_counted(path, durability);
        insert(&backend, first, 4, 1);
        insert(&backend, first + 100, 1, 100);
        update(&backend, 4);
        let mut reader = snapshot(&backend, View::Latest);
        ids(&mut *reader, &plain(), Source::Rows);
        drop(reader);
        backend.purge().unwrap();
        backend.compact().unwrap();
        let truncate = CloseOptions {
            truncate: true,
            ..CloseOptions::default()
        };
        backend.close(truncate).unwrap();
        backend.io_report().unwrap()
    })
}

fn counted(reports: &[IoReport]) -> Calls {
    let mut all = Calls::new();
    for report in reports {
        for (file, kind) in FILES {
            for (operation, _) in OPERATIONS {
                let file_report = report.files.iter().find(|report| report.kind == kind);
                let calls = file_report.and_then(|file| file.calls(operation)).unwrap();
                let sum = all.entry(name(file, operation)).or_default();
                *sum = (sum.0 + calls.count, sum.1 + calls.bytes);
            }
        }
    }
    all
}

/// As [`counted`], from the lines of a trace, such as `7 pwrite64(5</tmp/a.db>, "..", 24, 0) = 24`.
fn seen(trace: &str, path: &Path) -> Calls {
    let mut all = Calls::new();
    for (file, _) in FILES {
        for (operation, system_calls) in OPERATIONS {
            let (mut count, mut bytes) = (0, 0);
            let of_file = format!("<{}{file}>", path.display());
            for line in trace.lines().filter(|line| line.contains(&of_file)) {
                let starts = |call: &&&str| line.contains(&format!(" {call}("));
                if system_calls.iter().find(starts).is_none() {
                    continue;
                }
                count += 1;
                // The last argument but one is the number of bytes requested.
                if matches!(operation, Operation::Read | Operation::Write) {
                    let mut words = line.rsplit(") = ").nth(1).unwrap().rsplit(", ");
                    bytes += words.nth(1).unwrap().parse::<u64>().unwrap();
                }
            }
            all.insert(name(file, operation), (count, bytes));
        }
    }
    all
}

/// The traced program. It does nothing in ordinary test runs.
#[test]
fn traced_program() {
    if let Some(path) = std::env::var_os(PATH) {
        let calls = counted(&work(Path::new(&path)));
        writeln!(std::io::stdout(), "counted: {calls:?}").unwrap();
    }
}

#[test]
fn counted_calls_equal_the_traced_system_calls() {
    let probe = ["-o", "/dev/null", "true"];
    let probe = Command::new("strace").args(probe).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        let required = std::env::var_os("DFLAT_REQUIRE_STRACE").is_some_and(|value| value == "1");
        assert!(!required, "strace is missing");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().canonicalize().unwrap();
    let (path, trace) = (directory.join("a.db"), directory.join("trace"));
    let output = Command::new("strace")
        // With one file for each thread, each line is a whole call, whatever other threads do
        // meanwhile.
        .args(["-ff", "-y", "-s", "0"])
        .args([
            "-e",
            "trace=pread64,pwrite64,fsync,fdatasync,ftruncate",
            "-o",
        ])
        .arg(&trace)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "traced::traced_program", "--nocapture"])
        .env(PATH, &path)
        // The address sanitizer can't search for leaks in a traced program.
        .env("ASAN_OPTIONS", "detect_leaks=0:detect_odr_violation=0")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut calls = String::new();
    for entry in std::fs::read_dir(&directory).unwrap() {
        let file = entry.unwrap().path();
        if file
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("trace.")
        {
            for line in std::fs::read_to_string(file).unwrap().lines() {
                calls.push_str(&format!(" {line}\n"));
            }
        }
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let counted_line = text.lines().find_map(|line| line.split("counted: ").nth(1));
    let seen = seen(&calls, &path);
    assert!(
        seen.values().filter(|calls| calls.0 > 0).count() >= 7,
        "{seen:?}"
    );
    assert_eq!(counted_line.unwrap(), format!("{seen:?}"));
}
