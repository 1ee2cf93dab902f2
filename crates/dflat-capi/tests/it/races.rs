//! The programs in `tests/c` under the thread sanitizer of the C compiler, which instruments these
//! programs and not the library: the feature `thread-sanitizer` shows it the order of callbacks.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use crate::posts;
use crate::programs::{self, command_of, compile, has_sanitizer, is_missing, number};

const FLAGS: [&str; 1] = ["-fsanitize=thread"];

/// No report is suppressed; but what the library does with memory is left to tests in Rust.
const OPTIONS: &str = "ignore_noninstrumented_modules=1 halt_on_error=1 exitcode=66";

fn cannot_run(folder: &Path) -> bool {
    let tool = "the thread sanitizer of the C compiler";
    let is_there = has_sanitizer(folder, "thread");
    is_missing(tool, "DFLAT_REQUIRE_THREAD_SANITIZER", is_there)
}

/// Runs a program in a folder of its own; `None` without the sanitizer.
fn run(name: &str, arguments: &[&str]) -> Option<Output> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if cannot_run(folder) {
        return None;
    }
    posts::write_header(folder);
    let (program, file) = (folder.join(name), folder.join("a.db"));
    compile(name, &program, folder, &FLAGS);
    let mut command = command_of(&program);
    command.env("TSAN_OPTIONS", OPTIONS).arg(&file);
    Some(command.args(arguments).output().unwrap())
}

fn check(name: &str, arguments: &[&str]) {
    if let Some(output) = run(name, arguments) {
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {}\n{text}", output.status);
        assert!(!text.contains("ThreadSanitizer"), "{name}: {text}");
    }
}

/// The programs that get a file and nothing else.
const PROGRAMS: [&str; 9] = [
    "choices", "drops", "errors", "executor", "limits", "live", "schema", "tour", "values",
];

#[test]
fn thread_sanitizer_finds_no_race_in_programs() {
    for name in PROGRAMS {
        check(name, &[]);
    }
}

#[test]
fn thread_sanitizer_finds_no_race_in_queries_with_long_lists() {
    let folder = tempfile::tempdir().unwrap();
    let query = folder.path().join("long.query");
    posts::write_long_query(&query);
    check("queries", &[query.to_str().unwrap()]);
}

/// `allocations` replaces the functions that allocate, as the sanitizer does.
#[test]
fn each_program_but_allocations_runs_under_the_thread_sanitizer() {
    let files = fs::read_dir(programs::PROGRAMS).unwrap();
    let names = files.filter_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.strip_suffix(".c").map(str::to_owned)
    });
    let names: BTreeSet<String> = names.collect();
    let with_arguments = ["allocations", "queries", "race", "random"];
    let known = PROGRAMS.into_iter().chain(with_arguments);
    assert_eq!(names, known.map(str::to_owned).collect());
}

#[test]
fn thread_sanitizer_finds_no_race_in_calls_in_random_order() {
    let steps = number("DFLAT_CAPI_STEPS", 1000).to_string();
    for seed in 1..=number("DFLAT_CAPI_SEEDS", 2) {
        check("random", &[&seed.to_string(), &steps]);
    }
}

/// Without this, a sanitizer that sees nothing would pass the tests above.
#[test]
fn thread_sanitizer_finds_the_race_of_a_program_that_does_not_wait() {
    check("race", &["waits"]);
    if let Some(output) = run("race", &["races"]) {
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(66), "{text}");
        assert!(
            text.contains("data race") && text.contains("race.c"),
            "{text}"
        );
    }
}
