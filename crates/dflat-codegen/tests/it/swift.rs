//! The Swift code of the same schemas, which `swift/` compiles.

use std::path::{Path, PathBuf};

use dflat_codegen::{Output, SwiftOptions, generate_swift, swift_namespaces};
use dflat_schema::{MemoryLoader, Options, compile};
use expect_test::expect_file;

/// The cases whose Swift code is recorded.
const CASES: [&str; 10] = [
    "bench_doc",
    "dict",
    "equipment",
    "flags",
    "keys",
    "monster",
    "recursive",
    "scalars",
    "structs",
    "unions",
];

/// The folder of the recorded code, which the tests of the Swift package compile.
fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../swift/Tests/Generated")
}

fn generated(case: &str) -> (Vec<Output>, String) {
    let mut loader = MemoryLoader::new();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(crate::golden::data().join(case)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "fbs") {
            let name = path.file_name().unwrap().to_str().unwrap();
            loader = loader.with_file(name, &std::fs::read_to_string(&path).unwrap());
            files.push(name.to_owned());
        }
    }
    files.sort();
    let compilation = compile(&files, &loader, &Options::default());
    let schema = compilation.schema.unwrap();
    let outputs = generate_swift(&schema, &SwiftOptions::default());
    (outputs.unwrap(), swift_namespaces(&schema))
}

#[test]
fn swift_code_is_as_recorded() {
    for case in CASES {
        let (outputs, namespaces) = generated(case);
        assert_eq!(outputs.len() % 4, 0, "{case}");
        for output in outputs {
            expect_file![recorded().join(case).join(&output.name)].assert_eq(&output.text);
        }
        if namespaces.contains("public enum") {
            let name = format!("{case}_namespaces.swift");
            expect_file![recorded().join(case).join(name)].assert_eq(&namespaces);
        }
    }
}
