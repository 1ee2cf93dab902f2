//! Compiles the programs in `tests/c` and runs them, plainly and under the address sanitizer.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::posts;

pub(crate) const INCLUDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
pub(crate) const SCHEMA_INCLUDE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../dflat-capi-schema/include");
pub(crate) const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c");

/// The folder with the libraries, which Cargo builds beside this program.
pub(crate) fn libraries() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.parent().unwrap().to_owned()
}

/// A command that runs a program in C with the libraries of this build. Cargo names the folder of
/// `cargo build` first, whose library may be an older one.
pub(crate) fn command_of(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", libraries());
    command
}

/// Runs a command, and shows its output if it fails.
pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let (out, error) = (&output.stdout, &output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(error),
    );
    output
}

/// Whether a test cannot run because a tool is missing. If a variable requires the tool, the test
/// fails instead.
pub(crate) fn is_missing(tool: &str, variable: &str, is_there: bool) -> bool {
    if !is_there {
        let required = std::env::var_os(variable).is_some();
        assert!(!required, "{variable} is set, and {tool} is missing");
        eprintln!("skipped: {tool} is missing");
    }
    !is_there
}

/// Whether a program for sanitizers, such as `address,undefined`, can be compiled and run here.
pub(crate) fn has_sanitizer(folder: &Path, sanitizers: &str) -> bool {
    let (source, program) = (folder.join("empty.c"), folder.join("empty"));
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let mut compiler = Command::new("cc");
    compiler
        .arg(format!("-fsanitize={sanitizers}"))
        .arg(&source);
    let compiled = compiler.arg("-o").arg(&program).output();
    compiled.is_ok_and(|output| output.status.success())
        && Command::new(&program)
            .output()
            .is_ok_and(|o| o.status.success())
}

/// Compiles a program of `tests/c`.
pub(crate) fn compile(name: &str, program: &Path, folder: &Path, flags: &[&str]) {
    let libraries = libraries();
    let mut cc = Command::new("cc");
    cc.args([
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-pedantic",
        "-Werror",
        "-g",
        "-O1",
    ])
    .args(["-D_POSIX_C_SOURCE=200809L", "-pthread"])
    .args(flags)
    .arg(format!("-I{INCLUDE}"))
    .arg(format!("-I{SCHEMA_INCLUDE}"))
    .arg(format!("-I{}", folder.display()))
    .arg(format!("{PROGRAMS}/{name}.c"))
    .arg("-o")
    .arg(program)
    .arg(format!("-L{}", libraries.display()))
    .arg(format!("-Wl,-rpath,{}", libraries.display()))
    .arg("-ldflat_capi");
    if name == "schema" {
        cc.arg("-ldflat_capi_schema");
    }
    succeed(&mut cc);
}

/// Compiles a program and runs it in a folder, without any checker of memory. Returns its file.
fn run_plainly(name: &str, folder: &Path) -> PathBuf {
    posts::write_header(folder);
    let (program, file) = (folder.join(name), folder.join("a.db"));
    compile(name, &program, folder, &[]);
    succeed(command_of(&program).arg(&file));
    file
}

/// Compiles a program and runs it in a folder of its own. `DFLAT_CAPI_VALGRIND` runs it under
/// valgrind; otherwise it also runs under the sanitizers of the C compiler.
fn run(name: &str, arguments: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    posts::write_header(folder);
    let (program, file) = (folder.join(name), folder.join("a.db"));
    compile(name, &program, folder, &[]);
    let mut plain = if std::env::var_os("DFLAT_CAPI_VALGRIND").is_some() {
        let mut valgrind = command_of("valgrind");
        valgrind
            .args([
                "--quiet",
                "--fair-sched=yes",
                "--error-exitcode=99",
                "--leak-check=full",
            ])
            .args([
                "--show-leak-kinds=definite",
                "--errors-for-leak-kinds=definite",
            ])
            .arg(&program);
        valgrind
    } else {
        command_of(&program)
    };
    succeed(plain.arg(&file).args(arguments));
    if std::env::var_os("DFLAT_CAPI_VALGRIND").is_some() {
        return;
    }
    let tool = "the address sanitizer of the C compiler";
    let is_there = has_sanitizer(folder, "address,undefined");
    if is_missing(tool, "DFLAT_REQUIRE_SANITIZER", is_there) {
        return;
    }
    let (program, file) = (folder.join("sanitized"), folder.join("b.db"));
    let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    compile(name, &program, folder, &flags);
    succeed(command_of(&program).arg(&file).args(arguments));
}

/// With this variable, the loader of the GNU C library prints the libraries of a program.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn programs_load_the_library_of_this_build() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    posts::write_header(folder);
    let program = folder.join("drops");
    compile("drops", &program, folder, &[]);
    let output = succeed(command_of(&program).env("LD_TRACE_LOADED_OBJECTS", "1"));
    let loaded = String::from_utf8(output.stdout).unwrap();
    let own = libraries().join("libdflat_capi.so");
    assert!(loaded.contains(own.to_str().unwrap()), "{loaded}");
}

// Promise: c-interface#I3
#[test]
fn the_tour_holds_in_c() {
    run("tour", &[]);
}

// Promise: c-interface#I2
// Promise: c-interface#I4
// Promise: c-interface#I6
#[test]
fn each_error_has_its_code() {
    run("errors", &[]);
}

#[test]
fn errors_name_the_operation_the_object_and_the_cause() {
    run("messages", &[]);
}

// Promise: c-interface#I4
#[test]
fn each_callback_is_dropped_once_whatever_the_call_returns() {
    run("drops", &[]);
}

#[test]
fn each_choice_of_the_header_has_its_effect() {
    run("choices", &[]);
}

// Promise: c-interface#I8
#[test]
fn views_are_made_in_one_allocation_however_many_they_are() {
    let folder = tempfile::tempdir().unwrap();
    run_plainly("allocations", folder.path());
}

// Promise: c-interface#I5
#[test]
fn live_queries_deliver_differences_until_they_are_cancelled() {
    run("live", &[]);
}

#[test]
fn dictionary_json_and_upkeep_hold_in_c() {
    run("values", &[]);
}

// Promise: c-interface#I7
#[test]
fn transactions_run_on_threads_of_the_program() {
    run("executor", &[]);
}

#[test]
fn each_cause_outside_of_the_program_has_its_code() {
    run("limits", &[]);
}

#[test]
fn queries_take_names_and_long_lists() {
    let folder = tempfile::tempdir().unwrap();
    let query = folder.path().join("long.query");
    posts::write_long_query(&query);
    run("queries", &[query.to_str().unwrap()]);
}

/// Calls in such destructors failed with `DFLAT_PANICKED`.
// Promise: c-interface#I11
#[test]
fn destructors_at_the_end_of_a_thread_and_of_the_program_read_and_write() {
    run("ending", &[]);
}

// Promise: c-interface#I10
#[test]
fn schemas_compile_from_texts_or_say_why_not() {
    run("schema", &[]);
}

/// A number that a variable sets.
pub(crate) fn number(variable: &str, default: u32) -> u32 {
    let text = std::env::var(variable).ok();
    text.map_or(default, |text| text.parse().unwrap())
}

/// `DFLAT_CAPI_SEEDS` and `DFLAT_CAPI_STEPS` set the number of runs and that of calls of each.
#[test]
fn calls_in_random_order_leave_nothing_behind() {
    let is_slow = std::env::var_os("DFLAT_CAPI_VALGRIND").is_some();
    let steps = number("DFLAT_CAPI_STEPS", if is_slow { 300 } else { 3000 });
    for seed in 1..=number("DFLAT_CAPI_SEEDS", 2) {
        run("random", &[&seed.to_string(), &steps.to_string()]);
    }
}

/// Runs the example in Python on a file, and returns what it prints.
fn run_python(file: &Path, condition: &str) -> String {
    let mut python = Command::new("python3");
    python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/posts.py"));
    python.env("DFLAT_LIBRARY", libraries().join("libdflat_capi.so"));
    let output = succeed(python.arg(file).arg(condition));
    String::from_utf8(output.stdout).unwrap()
}

/// A language that has nothing but the library and the header.
#[test]
fn python_finds_changes_and_follows_posts_by_ctypes_alone() {
    let version = Command::new("python3").arg("--version").output();
    if is_missing("python3", "DFLAT_REQUIRE_PYTHON", version.is_ok()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("posts.db");
    posts::write_file(&file);
    let text = run_python(&file, "priority > 100");
    assert_eq!(text, "urgent: ['post 3', 'post 2']\nurgent: ['post 2']\n");
    // No post is left in the end, and the program waits for none.
    let text = run_python(&file, "priority > 100");
    assert_eq!(text, "urgent: ['post 2']\nurgent: []\n");
    assert_eq!(run_python(&file, "priority > 100"), "urgent: []\n");
}

/// The file that the tour in C leaves.
#[test]
fn python_follows_the_posts_of_the_tour() {
    let version = Command::new("python3").arg("--version").output();
    if is_missing("python3", "DFLAT_REQUIRE_PYTHON", version.is_ok()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = run_plainly("tour", folder.path());
    let text = run_python(&file, "priority >= 30");
    assert_eq!(
        text,
        "urgent: ['kept', 'post 4', 'post 3']\nurgent: ['post 4', 'post 3']\n"
    );
}
