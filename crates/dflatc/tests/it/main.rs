//! The command line, run as a program.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod build;
mod descriptor;
mod docs;
mod evolution;
mod order;
mod swift;
mod terminal;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn dflatc(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dflatc"));
    command
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

const SCHEMA: &str = "table Post { title: string (primary); } root_type Post;";
const WRONG: &str = "table Post { title: strnig (primary); } root_type Post;";

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

#[test]
fn dflatc_and_a_build_script_generate_equal_code() {
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let folder = folder(&[]);
    for name in ["bench_doc", "dict", "equipment", "monster", "post"] {
        let file = schemas.join(format!("{name}.fbs"));
        let output = dflatc(
            folder.path(),
            &["compile", "-o", "new/out", file.to_str().unwrap()],
        );
        assert!(output.status.success(), "{}", text(&output.stderr));
        let request = dflat_build::Request {
            files: vec![format!("{name}.fbs")],
            base: schemas.clone(),
            ..Default::default()
        };
        let expected = dflat_build::run(&request).output.unwrap().text;
        let path = folder.path().join(format!("new/out/{name}.rs"));
        assert_eq!(fs::read_to_string(path).unwrap(), expected);
    }
}

#[test]
fn errors_write_nothing_and_end_with_1() {
    let folder = folder(&[("post.fbs", WRONG)]);
    let output = dflatc(
        folder.path(),
        &["compile", "-o", "out", "--depfile", "d", "post.fbs"],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).starts_with("error[E0035]"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn check_writes_nothing() {
    let folder = folder(&[("post.fbs", SCHEMA), ("wrong.fbs", WRONG)]);
    assert!(
        dflatc(folder.path(), &["check", "post.fbs"])
            .status
            .success()
    );
    assert_eq!(
        dflatc(folder.path(), &["check", "wrong.fbs"]).status.code(),
        Some(1)
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn json_is_one_object_on_each_line() {
    let folder = folder(&[("post.fbs", WRONG)]);
    let output = dflatc(
        folder.path(),
        &["check", "--message-format", "json", "post.fbs"],
    );
    let stderr = text(&output.stderr);
    for line in stderr.lines() {
        assert!(
            line.starts_with("{\"code\":\"E") && line.ends_with('}'),
            "{line}"
        );
    }
    assert!(!stderr.is_empty());
}

#[test]
fn the_depfile_names_all_files_that_were_read() {
    let include = format!("include \"shared part.fbs\"; {SCHEMA}");
    let folder = folder(&[
        ("post.fbs", &include),
        ("shared part.fbs", "table Part { x: int; }"),
    ]);
    let arguments = [
        "compile",
        "--depfile",
        "post.d",
        "--name",
        "all",
        "post.fbs",
    ];
    assert!(dflatc(folder.path(), &arguments).status.success());
    let depfile = fs::read_to_string(folder.path().join("post.d")).unwrap();
    let output = Path::new(".").join("all.rs");
    assert_eq!(
        depfile,
        format!("{}: post.fbs shared\\ part.fbs\n", output.display())
    );
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let folder = folder(&[("post.fbs", SCHEMA), ("file", "")]);
    let output = dflatc(folder.path(), &["compile", "-o", "file", "post.fbs"]);
    assert_eq!(output.status.code(), Some(1));
    let path = Path::new("file").join("post.rs");
    let begin = format!("error: cannot write {}: ", path.display());
    assert!(
        text(&output.stderr).starts_with(&begin),
        "{}",
        text(&output.stderr)
    );
}

/// A name of 1,000 letters is legal in a schema, and no file system has such a file name.
#[test]
fn output_whose_name_is_too_long_says_where_its_name_comes_from() {
    let name = "A".repeat(1_000);
    let schema = format!("table {name} {{ id: int (primary); }} root_type {name};");
    let folder = folder(&[("post.fbs", &schema)]);
    let check = |arguments: &[&str], file: &str, help: &str| {
        let output = dflatc(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(1));
        let stderr = text(&output.stderr);
        let begin = format!(
            "error: cannot write {}: ",
            Path::new(".").join(file).display()
        );
        let cause = stderr.strip_prefix(&begin);
        let cause = cause.and_then(|rest| rest.strip_suffix(&format!("\nhelp: {help}\n")));
        assert!(cause.is_some_and(|cause| !cause.is_empty()), "{stderr}");
    };
    check(
        &["compile", "--descriptor", "post.fbs"],
        &format!("{name}.descriptor"),
        "the file of a descriptor has the full name of its type",
    );
    check(
        &["compile", "--name", &name, "post.fbs"],
        &format!("{name}.rs"),
        "choose a shorter name by `--name`, or rename the schema file",
    );
    assert!(
        dflatc(folder.path(), &["compile", "post.fbs"])
            .status
            .success()
    );
}

#[test]
fn options_reach_the_code() {
    let folder = folder(&[
        (
            "post.fbs",
            "include \"part.fbs\"; table Post { part: Part; } root_type Post;",
        ),
        ("part.fbs", "table Part { x: int; }"),
    ]);
    let arguments = [
        "compile",
        "--payload-only",
        "--crate-path",
        "::storage",
        "--external",
        "part.fbs=::other",
        "post.fbs",
    ];
    let output = dflatc(folder.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let code = fs::read_to_string(folder.path().join("post.rs")).unwrap();
    assert!(code.contains("::core::option::Option<::other::Part>"));
    assert!(code.contains("::storage::codegen::") && !code.contains("::dflat::"));
    assert!(!code.contains("ChangeRequest"));
}

#[test]
fn every_code_is_explained() {
    let folder = folder(&[]);
    for code in ["E0090", "e0200", "n0001"] {
        let output = dflatc(folder.path(), &["explain", code]);
        assert!(output.status.success());
        assert!(text(&output.stdout).starts_with(&code.to_uppercase()));
    }
    assert_eq!(
        dflatc(folder.path(), &["explain", "E9999"]).status.code(),
        Some(1)
    );
    let names = dflat_schema::CODES
        .iter()
        .chain(dflat_codegen::CODES)
        .map(|code| code.name);
    let names: Vec<&str> = names.collect();
    let distinct: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), distinct.len());
}

#[test]
fn completions_are_printed() {
    let output = dflatc(&std::env::temp_dir(), &["completions", "bash"]);
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("_dflatc"));
}

#[test]
fn a_note_is_printed_and_the_compilation_succeeds() {
    let service = format!("{SCHEMA} rpc_service Posts {{ Get(Post): Post; }}");
    let folder = folder(&[("post.fbs", &service)]);
    let output = dflatc(folder.path(), &["compile", "post.fbs"]);
    assert!(output.status.success());
    let stderr = text(&output.stderr);
    assert!(
        stderr.starts_with("note[N0001]: service `Posts` is ignored"),
        "{stderr}"
    );
    assert!(folder.path().join("post.rs").exists());
}

#[test]
fn many_files_make_one_text_with_each_type_once() {
    let root = |name: &str| {
        format!(
            "include \"part.fbs\"; table {name} {{ id: int (primary); part: Part; }} \
             root_type {name};"
        )
    };
    let folder = folder(&[
        ("one.fbs", &root("One")),
        ("two.fbs", &root("Two")),
        ("part.fbs", "table Part { x: int; }"),
    ]);
    let absolute = folder.path().join("part.fbs");
    let files = [
        "compile",
        "one.fbs",
        "./two.fbs",
        absolute.to_str().unwrap(),
    ];
    let output = dflatc(folder.path(), &files);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let code = fs::read_to_string(folder.path().join("one.rs")).unwrap();
    for item in [
        "pub struct Part {",
        "pub struct OneData {",
        "pub struct TwoData {",
    ] {
        assert_eq!(code.matches(item).count(), 1, "{item}");
    }
}
