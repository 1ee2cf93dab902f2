//! The program ends with assertions, so a run is a test.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::process::{Command, Output};

fn run(words: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_words"));
    program.arg(words).output().unwrap()
}

/// The names of the packs that a run prints.
fn names(output: &Output) -> Vec<String> {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("  4 changes of the user\n"), "{printed}");
    let names = printed.lines().filter(|line| line.ends_with(".pack"));
    names.map(|name| name.trim().to_owned()).collect()
}

#[test]
fn dictionary_is_amended_and_each_run_gives_the_same_files() {
    let first = names(&run("5000"));
    assert_eq!(first.len(), 3);
    assert_eq!(names(&run("5000")), first);
    assert_ne!(names(&run("5001")), first);
}

#[test]
fn number_of_words_is_checked() {
    for words in ["99", "1000001", "many"] {
        let output = run(words);
        assert!(!output.status.success());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            errors.contains("the number of words is from 100"),
            "{errors}"
        );
    }
}
