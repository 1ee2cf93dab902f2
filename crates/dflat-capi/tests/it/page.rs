//! The program at the beginning of `docs/c-interface.md`, with the commands of the page.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::posts::table;
use crate::programs::{is_missing, libraries, succeed};

const PAGE: &str = include_str!("../../../../docs/c-interface.md");
const SCHEMA: &str = include_str!("../../../../examples/first/schemas/task.fbs");
const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// The first block of the page in a language.
fn block(language: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

/// Installs what the tests have built, as `cargo xtask c-library dflat` does.
fn install(folder: &Path) {
    let (lib, include) = (folder.join("dflat/lib"), folder.join("dflat/include"));
    fs::create_dir_all(lib.join("pkgconfig")).unwrap();
    fs::create_dir_all(&include).unwrap();
    let header = Path::new(CRATE).join("include/dflat.h");
    symlink(header, include.join("dflat.h")).unwrap();
    let library = libraries().join("libdflat_capi.so");
    symlink(library, lib.join("libdflat_capi.so")).unwrap();
    let template = include_str!("../../include/dflat.pc.in")
        .replace("@PREFIX@", folder.join("dflat").to_str().unwrap())
        .replace("@VERSION@", "0")
        .replace("@REQUIRES@", "");
    fs::write(lib.join("pkgconfig/dflat.pc"), template).unwrap();
}

#[test]
fn first_program_of_the_page_prints_what_the_page_shows() {
    let version = Command::new("pkg-config").arg("--version").output();
    if is_missing("pkg-config", "DFLAT_REQUIRE_PKG_CONFIG", version.is_ok()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    install(folder);
    assert_eq!(block("text"), SCHEMA);
    fs::write(folder.join("tasks.c"), block("c")).unwrap();
    fs::write(folder.join("Task.descriptor"), table(SCHEMA).to_bytes()).unwrap();
    let console = block("console");
    let (with_cargo, others): (Vec<&str>, Vec<&str>) = console
        .lines()
        .filter_map(|line| line.strip_prefix("$ "))
        .partition(|command| command.starts_with("cargo "));
    assert_eq!(with_cargo.len(), 2);
    let script = format!("set -e\n{}", others.join("\n"));
    let output = succeed(Command::new("sh").args(["-c", &script]).current_dir(folder));
    let shown = console.lines().filter(|line| !line.starts_with("$ "));
    let shown: String = shown.map(|line| format!("{line}\n")).collect();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), shown);
}

#[test]
fn first_program_of_the_page_compiles_without_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tasks.c");
    fs::write(&program, block("c")).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
    succeed(cc.arg(format!("-I{CRATE}/include")).arg(&program));
}
