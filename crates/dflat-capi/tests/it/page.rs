//! The program at the beginning of `docs/c-interface.md`, with the commands of the page.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::posts::table;
use crate::programs::{SCHEMA_INCLUDE, command_of, is_missing, libraries, succeed};

const PAGE: &str = include_str!("../../../../docs/c-interface.md");
const SCHEMA: &str = include_str!("../../../../examples/first/schemas/task.fbs");
const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// The blocks of the page in a language.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    let begin = format!("\n```{language}\n");
    let rest = PAGE.split(&begin).skip(1).collect::<Vec<_>>();
    rest.into_iter()
        .map(|rest| rest.split_once("```").unwrap().0)
}

/// The first block of the page in a language.
fn block(language: &str) -> &'static str {
    blocks(language).next().unwrap()
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

/// Compiles a program without making anything, and fails if there is a warning.
fn check_syntax(text: &str, flags: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tasks.c");
    fs::write(&program, text).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
    cc.args([format!("-I{CRATE}/include"), format!("-I{SCHEMA_INCLUDE}")]);
    succeed(cc.args(flags).arg(&program));
}

#[test]
fn first_program_of_the_page_compiles_without_warnings() {
    check_syntax(block("c"), &[]);
}

#[test]
fn functions_of_the_page_compile_after_the_first_program() {
    let all: Vec<&str> = blocks("c").collect();
    assert_eq!(all.len(), 2);
    check_syntax(&all.concat(), &["-Wno-unused-function"]);
}

/// The page says that the function makes the file with the descriptor unnecessary, if the schema
/// says how keys are assigned.
#[test]
fn first_program_of_the_page_runs_with_the_text_of_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut all = blocks("c");
    let (program, function) = (all.next().unwrap(), all.next().unwrap());
    let (begin, main) = program.split_once("int main(void) {").unwrap();
    let quoted = format!("{:?}", SCHEMA.replace("(primary)", "(primary, auto)"));
    let (_, rest) = main.split_once("TRY(dflat_workspace_open").unwrap();
    let text = format!(
        "{begin}{function}
         int main(void) {{
             dflat_workspace *workspace;
             dflat_query *open_tasks;
             dflat_subscription *subscription;
             dflat_buffer *payload;
             dflat_bytes bytes;
             task = table_of(text({quoted}));
             TRY(dflat_workspace_open{rest}"
    );
    fs::write(folder.join("tasks.c"), text).unwrap();
    let libraries = libraries();
    let libraries = libraries.to_str().unwrap();
    let mut cc = Command::new("cc");
    cc.args([format!("-I{CRATE}/include"), format!("-I{SCHEMA_INCLUDE}")]);
    cc.args([format!("-L{libraries}"), format!("-Wl,-rpath,{libraries}")]);
    cc.args([
        "tasks.c",
        "-ldflat_capi",
        "-ldflat_capi_schema",
        "-o",
        "tasks",
    ]);
    succeed(cc.current_dir(folder));
    let output = succeed(command_of("./tasks").current_dir(folder));
    let printed = "to do:\nto do: {\"id\":1,\"title\":\"write C\"}\n";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), printed);
}
