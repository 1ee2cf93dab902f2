//! Errors that only the generation of code can find: each schema of `tests/err` and its
//! diagnostics.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use dflat_codegen::{CODES, External, Options, generate};
use dflat_schema::{Diagnostic, MemoryLoader, Sources, compile};
use expect_test::expect_file;

use super::golden::rendered;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/err")
}

/// The names of the files with this extension.
fn names(extension: &str) -> BTreeSet<String> {
    let files = fs::read_dir(folder()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let stems = names.filter_map(|name| Some(name.strip_suffix(extension)?.to_owned()));
    stems.collect()
}

/// The options in the first line of a schema.
fn options(text: &str) -> Options {
    let mut options = Options::default();
    let wish = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("// options: "));
    if let Some(("external", external)) = wish.and_then(|wish| wish.split_once(' ')) {
        let (file, path) = external.split_once('=').unwrap();
        options.external.push(External {
            file: file.to_owned(),
            path: path.to_owned(),
        });
    } else if let Some(("crate", path)) = wish.and_then(|wish| wish.split_once(' ')) {
        options.crate_path = Some(path.to_owned());
    }
    options
}

fn errors(name: &str) -> (Vec<Diagnostic>, Sources) {
    let file = format!("{name}.fbs");
    let text = fs::read_to_string(folder().join(&file)).unwrap();
    let loader = MemoryLoader::new()
        .with_file(&file, &text)
        .with_file("included.fbs", "table Included { x: int; }");
    let compilation = compile(&[file], &loader, &Default::default());
    let found = rendered(&compilation.diagnostics, &compilation.sources);
    let schema = compilation.schema.unwrap_or_else(|| panic!("{found}"));
    let errors = generate(&schema, &options(&text)).unwrap_err();
    (errors, compilation.sources)
}

#[test]
fn faulty_schemas_get_their_diagnostics() {
    for name in names(".fbs") {
        let (errors, sources) = errors(&name);
        let path = folder().join(format!("{name}.stderr"));
        expect_file![path].assert_eq(&(rendered(&errors, &sources) + "\n"));
    }
    assert_eq!(names(".stderr"), names(".fbs"));
}

#[test]
fn every_code_has_a_faulty_schema() {
    let errors = names(".fbs").into_iter().flat_map(|name| errors(&name).0);
    let seen: BTreeSet<&str> = errors.map(|error| error.code.name).collect();
    let known: BTreeSet<&str> = CODES.iter().map(|code| code.name).collect();
    assert_eq!(seen, known);
}
