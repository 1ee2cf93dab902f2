//! A package with a build script, built by cargo.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::write;

/// A package of this name in the target folder, whose build script compiles `schemas/post.fbs`.
fn package(name: &str, script: &str) -> PathBuf {
    package_of(name, &format!("fn main() {{ {script} }}"), PROGRAM)
}

fn package_of(name: &str, script: &str, program: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    for stale in ["schemas", "src", "part.fbs"] {
        // An earlier run may have left the folder.
        let _ = fs::remove_dir_all(root.join(stale)).or_else(|_| fs::remove_file(root.join(stale)));
    }
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = format!(
        "[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\ndflat = {{ path = {:?}, default-features = false }}\n\
         [build-dependencies]\ndflat-build = {{ path = {:?} }}\n",
        crates.join("dflat"),
        crates.join("dflat-build"),
    );
    write(&root.join("Cargo.toml"), &manifest);
    fs::copy(crates.join("../Cargo.lock"), root.join("Cargo.lock")).unwrap();
    write(&root.join("build.rs"), script);
    write(&root.join("src/main.rs"), program);
    write(&root.join("schemas/post.fbs"), &schema("string"));
    root
}

const PROGRAM: &str = "
    mod schema { dflat::include_schema!(\"post\"); }
    fn main() { println!(\"{:?}\", schema::PostData::default()); }";

fn schema(ty: &str) -> String {
    format!(
        "include \"part.fbs\"; table Post {{ title: {ty} (primary); part: Part; }} root_type Post;"
    )
}

fn cargo(root: &Path) -> Output {
    let mut command = Command::new(env!("CARGO"));
    let command = command.args(["run", "--offline"]).current_dir(root);
    // The other package must not see the variables that Cargo sets for this test. Both tests share
    // a target folder, so that the compiler is built once.
    let command = command.env_remove("RUSTFLAGS").env_remove("OUT_DIR");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    command.env("CARGO_TARGET_DIR", target).output().unwrap()
}

/// The output of the program, after a build that must succeed.
fn printed(root: &Path) -> String {
    let output = cargo(root);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Whether cargo built the package again.
fn builds_again(root: &Path) -> bool {
    let output = cargo(root);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    errors.contains("Compiling")
}

#[test]
fn a_package_is_built_again_when_its_schemas_change() {
    let script = "dflat_build::Builder::new().include_dir(\"schemas/shared\")\
                  .compile([\"schemas/post.fbs\"]);";
    let root = package("watched", script);
    write(
        &root.join("schemas/shared/part.fbs"),
        "table Part { far: int; }",
    );
    assert!(printed(&root).contains("PostData { title: \"\", part: None }"));
    assert!(!builds_again(&root));

    // An `include` finds the new file first.
    write(
        &root.join("schemas/part.fbs"),
        "table Part { near: int = \"wrong\"; }",
    );
    let output = cargo(&root);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    for line in [
        "error[E0060]: ",
        " --> schemas/part.fbs:1:26",
        "error: the schema was not compiled",
    ] {
        assert!(errors.contains(line), "{line} is not in {errors}");
    }

    write(&root.join("schemas/part.fbs"), "table Part { near: int; }");
    write(
        &root.join("schemas/post.fbs"),
        &schema("string").replace("title", "name"),
    );
    assert!(printed(&root).contains("PostData { name: \"\", part: None }"));
}

#[test]
fn an_include_that_may_appear_beside_the_package_is_watched() {
    let script = "dflat_build::Builder::new().include_dir(\"schemas\").compile([\"post.fbs\"]);";
    let root = package("beside", script);
    write(&root.join("post.fbs"), &schema("string"));
    write(&root.join("schemas/part.fbs"), "table Part { x: int; }");
    let output = cargo(&root);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(
        errors.contains("Put the schemas into a folder of their own"),
        "{errors}"
    );

    write(&root.join("part.fbs"), "table Part { x: strnig; }");
    let output = cargo(&root);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && errors.contains("E0035"),
        "{errors}"
    );
}

// Promise: compatibility#P10
#[test]
fn the_code_on_the_page_on_building_builds() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/build.md");
    let page = fs::read_to_string(page).unwrap();
    // The first two blocks are the program that `examples/guides` tests.
    let blocks = page
        .split("```rust\n")
        .skip(3)
        .map(|rest| rest.split("```").next().unwrap());
    let blocks: Vec<&str> = blocks.collect();
    let [script, module] = blocks[..] else {
        panic!("a block is compiled nowhere: {blocks:?}")
    };
    let program =
        format!("{module}fn main() {{ println!(\"{{:?}}\", schema::PostData::default()) }}");
    let root = package_of("documented", script, &program);
    write(&root.join("schemas/part.fbs"), "table Part { x: int; }");
    assert_eq!(printed(&root), "PostData { title: \"\", part: None }\n");
}
