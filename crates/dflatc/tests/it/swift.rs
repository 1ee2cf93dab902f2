//! `dflatc compile --swift`.

use std::fs;

use super::{dflatc, folder, text};

const POST: &str = "namespace Blog.V1; enum Color: byte { Red } \
    table Post { title: string (primary); color: Color; } root_type Post;";

#[test]
fn swift_code_has_four_files_for_each_schema() {
    let folder = folder(&[
        ("post.fbs", POST),
        ("tag.fbs", "table Tag { n: int (primary); } root_type Tag;"),
    ]);
    let arguments = ["compile", "--swift", "-o", "out", "post.fbs", "tag.fbs"];
    let output = dflatc(folder.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let files = fs::read_dir(folder.path().join("out")).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "post_data_model_generated.swift",
            "post_generated.swift",
            "post_mutating_generated.swift",
            "post_query_generated.swift",
            "tag_data_model_generated.swift",
            "tag_generated.swift",
            "tag_mutating_generated.swift",
            "tag_query_generated.swift",
        ]
    );
    fs::write(folder.path().join("out/tag_query_generated.swift"), "").unwrap();
    let mut check = arguments.to_vec();
    check.insert(1, "--check");
    let output = dflatc(folder.path(), &check);
    assert!(text(&output.stderr).contains("tag_query_generated.swift is not current"));
}

#[test]
fn namespaces_are_written_and_protocols_added_on_request() {
    let folder = folder(&[("post.fbs", POST)]);
    let arguments = [
        "compile",
        "--swift",
        "--namespaces",
        "names.swift",
        "--conform",
        "Hashable,Sendable",
        "post.fbs",
    ];
    let output = dflatc(folder.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let names = fs::read_to_string(folder.path().join("names.swift")).unwrap();
    let expected = "\npublic enum Blog {\n  public enum V1 {\n  }\n}\n";
    assert!(names.ends_with(expected), "{names}");
    let model = fs::read_to_string(folder.path().join("post_data_model_generated.swift")).unwrap();
    let enumeration = "enum Color: Int8, DflatFriendlyValue, CaseIterable, Hashable, Sendable {";
    assert!(model.contains(enumeration), "{model}");
    assert!(
        model.contains("Equatable, @unchecked Sendable, Hashable {"),
        "{model}"
    );
}

#[test]
fn names_that_become_one_in_swift_are_an_error() {
    let schema = "table Post { id: int (primary); hp_old: int; hpOld: int; } root_type Post;";
    let folder = folder(&[("post.fbs", schema)]);
    let output = dflatc(folder.path(), &["compile", "--swift", "post.fbs"]);
    assert!(!output.status.success());
    let message = "`hp_old` and `hpOld` both become `hpOld` in Swift";
    assert!(
        text(&output.stderr).contains(message),
        "{}",
        text(&output.stderr)
    );
    assert!(!folder.path().join("post_generated.swift").exists());
}

/// The script takes the arguments of the original's; it is tested where there is Python.
#[test]
fn script_takes_the_arguments_of_the_original() {
    let python = std::process::Command::new("python3")
        .arg("--version")
        .output();
    if !python.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no python3");
        return;
    }
    let include = "table Tag { n: int; }";
    let post = "include \"tag.fbs\"; table Post { id: int (primary); tag: Tag; } root_type Post;";
    let folder = folder(&[("post.fbs", post)]);
    fs::create_dir(folder.path().join("shared")).unwrap();
    fs::write(folder.path().join("shared/tag.fbs"), include).unwrap();
    let run = |arguments: &[&str]| {
        std::process::Command::new("python3")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../dflatc.py"))
            .args(arguments)
            .env("DFLATC", env!("CARGO_BIN_EXE_dflatc"))
            .current_dir(folder.path())
            .output()
            .unwrap()
    };
    let output = run(&[
        "compile",
        "-o",
        "out",
        "--keep-json",
        "-I",
        "nothing",
        "-I",
        "shared",
        "post.fbs",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        folder
            .path()
            .join("out/post_data_model_generated.swift")
            .exists()
    );
    let output = run(&["graphql", "-o", "out"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("graphql is not available"));
}
