//! All generated code compiles in every edition, with the strictest lints that users may set.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use dflat_codegen::{Options, generate};
use dflat_schema::{MemoryLoader, compile};

use super::chains;
use super::golden::{cases, data};

const EDITIONS: [&str; 3] = ["2018", "2021", "2024"];

/// Writes a file unless it has the text already, so that Cargo does not compile it again.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn modules(visibility: &str) -> String {
    let mut modules = String::new();
    for case in cases() {
        let path = data().join(&case).join("rust.rs");
        let docs = format!("/// The case `{case}`.");
        let _ = writeln!(
            modules,
            "{docs}\n{visibility}mod {case} {{ include!({path:?}); }}"
        );
    }
    modules
}

/// The schemas of the tests that every backend must pass, and those that all crates share.
fn shared(root: &Path, visibility: &str) -> String {
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let mut modules = String::new();
    for folder in [".", "conformance", "evolution"] {
        let mut loader = MemoryLoader::new();
        let mut names = Vec::new();
        for entry in fs::read_dir(schemas.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "fbs") {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                loader = loader.with_file(&name, &fs::read_to_string(&path).unwrap());
                names.push(name);
            }
        }
        names.sort();
        for name in names {
            let compilation = compile(std::slice::from_ref(&name), &loader, &Default::default());
            let schema = compilation.schema.unwrap();
            let output = generate(&schema, &Options::default()).unwrap();
            let path = root.join("shared").join(&output.name);
            write(&path, &output.text);
            let module = format!("shared_{}", name.trim_end_matches(".fbs"));
            let _ = writeln!(
                modules,
                "/// The schema `{name}`.\n{visibility}mod {module} {{ include!({path:?}); }}"
            );
        }
    }
    modules
}

/// Creates a workspace with a library and a program of each edition, and the package of [`chains`],
/// in the target folder.
static WORKSPACE: LazyLock<PathBuf> = LazyLock::new(workspace);

fn workspace() -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("generated");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut members = Vec::new();
    for edition in EDITIONS {
        let dflat = repository.join("crates/dflat");
        let manifest = format!(
            "[package]\nname = \"edition_{edition}\"\nversion = \"0.0.0\"\nedition = \"{edition}\"\n\
             [dependencies]\n\
             dflat = {{ path = {dflat:?}, default-features = false, features = [\"uuid\"] }}\n"
        );
        let folder = root.join(edition);
        write(&folder.join("Cargo.toml"), &manifest);
        let lints = "#![deny(warnings, missing_docs, clippy::all, clippy::pedantic, clippy::nursery, rust_2018_idioms, unreachable_pub)]\n#![forbid(unsafe_code)]\n";
        let lints = format!("{lints}extern crate dflat as storage;\n");
        let public = modules("pub ") + &shared(&root, "pub ");
        let library = format!("//! Generated code.\n{lints}{public}");
        write(&folder.join("src/lib.rs"), &library);
        let program = format!(
            "//! Generated code that is not used.\n{lints}{}#[allow(clippy::missing_const_for_fn)]\nfn main() {{}}\n",
            modules("") + &shared(&root, "")
        );
        write(&folder.join("src/main.rs"), &program);
        members.push(format!("{edition:?}"));
    }
    for (path, text) in chains::package() {
        write(&root.join("chains").join(path), &text);
    }
    members.push(format!("{:?}", "chains"));
    let members = members.join(", ");
    let manifest = format!("[workspace]\nresolver = \"2\"\nmembers = [{members}]\n");
    write(&root.join("Cargo.toml"), &manifest);
    let lock = fs::read_to_string(repository.join("Cargo.lock")).unwrap();
    write(&root.join("Cargo.lock"), &lock);
    root
}

pub(crate) fn cargo(arguments: &[&str]) {
    let root = &*WORKSPACE;
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--offline", "--quiet"])
        .env("CARGO_TARGET_DIR", root.join("target"))
        .env("RUSTDOCFLAGS", "-D warnings")
        .env_remove("RUSTFLAGS")
        .current_dir(root)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

#[test]
fn generated_code_has_no_warnings_in_any_edition() {
    cargo(&[
        "clippy",
        "--workspace",
        "--exclude",
        "chains",
        "--all-targets",
    ]);
    cargo(&["doc", "--package", "edition_2024", "--lib", "--no-deps"]);
}
