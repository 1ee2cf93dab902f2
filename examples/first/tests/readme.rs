//! README shows this program, its schema, its build script and its output.

#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::fs;
use std::path::Path;
use std::process::Command;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The columns of a table in a file, in their order.
fn columns(file: &rusqlite::Connection, table: &str) -> Vec<String> {
    let mut columns = file
        .prepare("SELECT name FROM pragma_table_info(?1)")
        .unwrap();
    let names = columns.query_map([table], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

/// An SQLite tool shows the tables and columns that README names.
#[test]
fn file_has_the_columns_that_readme_names() {
    let directory = tempfile::tempdir().unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_first"));
    let output = program.current_dir(directory.path()).output().unwrap();
    assert!(output.status.success());
    let file = rusqlite::Connection::open(directory.path().join("tasks.db")).unwrap();
    let readme = read("../../README.md");
    for (table, expected) in [
        ("task", &["rowid", "__pk0", "p"][..]),
        ("task__f8", &["rowid", "f8"][..]),
    ] {
        assert_eq!(columns(&file, table), expected, "{table}");
        assert!(readme.contains(&format!("`{table}`")), "{table}");
    }
    for column in ["rowid", "__pk0", "p"] {
        assert!(readme.contains(&format!("`{column}`")), "{column}");
    }
}

/// The blocks of README in a language.
fn blocks(language: &str) -> Vec<String> {
    let readme = read("../../README.md");
    let start = format!("```{language}\n");
    let blocks = readme.split(&start).skip(1);
    let blocks = blocks.map(|block| block.split_once("```").unwrap().0.to_owned());
    blocks.collect()
}

#[test]
fn readme_shows_the_files_of_this_program() {
    assert_eq!(blocks("rust"), [read("src/main.rs"), read("build.rs")]);
    assert_eq!(blocks("text"), [read("schemas/task.fbs")]);
}

#[test]
fn packages_of_the_readme_have_these_paths() {
    let [dependencies] = &blocks("toml")[..] else {
        panic!("README has one block of toml");
    };
    for name in ["dflat", "dflat-build"] {
        let line = format!("{name} = {{ path = \"../dflat/crates/{name}\" }}");
        assert!(dependencies.contains(&line), "{dependencies}");
        assert!(!read(&format!("../../crates/{name}/Cargo.toml")).is_empty());
    }
}

#[test]
fn program_prints_twice_as_readme_shows() {
    let directory = tempfile::tempdir().unwrap();
    let mut shown = String::new();
    for _ in 0..2 {
        let mut program = Command::new(env!("CARGO_BIN_EXE_first"));
        let output = program.current_dir(directory.path()).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty());
        shown.push_str("$ cargo run --quiet\n");
        shown.push_str(&String::from_utf8(output.stdout).unwrap());
    }
    assert_eq!(blocks("console"), [shown]);
}
