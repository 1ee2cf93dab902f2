//! Each folder of `tests/data` has a schema of the same name, the files it includes, and the
//! generated code.

use std::path::{Path, PathBuf};
use std::process::Command;

use dflat_codegen::{External, Options, generate};
use dflat_schema::{Compilation, MemoryLoader, Sources, Style, compile};
use expect_test::expect_file;

/// The folder of cases.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// The names of all cases, in order.
pub(crate) fn cases() -> Vec<String> {
    let folders = std::fs::read_dir(data()).unwrap();
    let mut cases: Vec<String> = folders
        .map(|folder| folder.unwrap().file_name().into_string().unwrap())
        .collect();
    cases.sort();
    cases
}

/// The options of a case.
pub(crate) fn options(case: &str) -> Options {
    let mut options = Options::default();
    match case {
        "external" => options.external.push(External {
            file: "equipment.fbs".to_owned(),
            path: "crate::equipment".to_owned(),
        }),
        "renamed" => options.crate_path = Some("::storage".to_owned()),
        "payload_only" => options.payload_only = true,
        _ => {}
    }
    options
}

fn compile_case(case: &str) -> Compilation {
    let mut loader = MemoryLoader::new();
    for entry in std::fs::read_dir(data().join(case)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "fbs") {
            let name = path.file_name().unwrap().to_str().unwrap();
            loader = loader.with_file(name, &std::fs::read_to_string(&path).unwrap());
        }
    }
    let options = dflat_schema::Options {
        payload_only: case == "payload_only",
    };
    compile(&[format!("{case}.fbs")], &loader, &options)
}

/// The rendered diagnostics.
pub(crate) fn rendered(diagnostics: &[dflat_schema::Diagnostic], sources: &Sources) -> String {
    let rendered = diagnostics.iter().map(|d| d.render(sources, Style::Plain));
    rendered.collect::<Vec<_>>().join("\n\n")
}

fn generated(case: &str) -> String {
    let compilation = compile_case(case);
    let Some(schema) = &compilation.schema else {
        panic!(
            "{case}: {}",
            rendered(&compilation.diagnostics, &compilation.sources)
        );
    };
    match generate(schema, &options(case)) {
        Ok(output) => output.text,
        Err(errors) => panic!("{case}: {}", rendered(&errors, &compilation.sources)),
    }
}

// Promise: compatibility#P12
#[test]
fn code_is_as_recorded() {
    for case in cases() {
        expect_file![data().join(&case).join("rust.rs")].assert_eq(&generated(&case));
    }
}

/// The doc tests of the crate `dflat` use copies, because a packed crate has its own files only.
#[test]
fn copies_for_doc_tests_are_current() {
    let copies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dflat/tests/data");
    for case in ["bench_doc", "post"] {
        expect_file![copies.join(format!("{case}.rs"))].assert_eq(&generated(case));
    }
}

#[test]
fn the_same_schema_gives_the_same_bytes() {
    for case in cases() {
        let first = generated(&case);
        for _ in 1..10 {
            assert_eq!(generated(&case), first, "{case}");
        }
    }
}

/// Fails if rustfmt would change a file.
pub(crate) fn assert_formatted(files: &[PathBuf]) {
    for edition in ["2021", "2024"] {
        let output = Command::new("rustfmt")
            .args(["--check", "--edition", edition, "--config", "max_width=100"])
            .args(files)
            .output()
            .unwrap();
        let difference = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "edition {edition}:\n{difference}{errors}"
        );
    }
}

#[test]
fn rustfmt_changes_nothing() {
    let files: Vec<PathBuf> = cases()
        .iter()
        .map(|case| data().join(case).join("rust.rs"))
        .collect();
    assert_formatted(&files);
}

#[test]
fn shared_schemas_equal_those_in_the_test_cases() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    for case in ["bench_doc", "diary", "dict", "equipment", "monster", "post"] {
        let name = format!("{case}.fbs");
        let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
        assert_eq!(
            read(shared.join(&name)),
            read(data().join(case).join(&name))
        );
    }
}
