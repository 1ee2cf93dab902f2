//! `diff` and `check --against`.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::docs::{codes, page, sections};
use super::{SCHEMA, WRONG, dflatc, folder, text};

const LONGER: &str = "table Post { title: string (primary); text: string; } root_type Post;";
const OTHER: &str = "table Post { title: string (primary); text: [string]; } root_type Post;";

#[test]
fn every_change_has_its_section_and_its_example() {
    let document = page("evolution.md");
    let found = sections(&document);
    let mut described: Vec<(&str, &str)> = found.iter().map(|found| (found.0, found.1)).collect();
    described.sort_unstable();
    let known = dflat_schema::EVOLUTION_CODES.iter();
    let mut known: Vec<(&str, &str)> = known.map(|code| (code.name, code.summary)).collect();
    known.push(("W0304", "a schema file that the revision does not have"));
    known.sort_unstable();
    assert_eq!(described, known);
    for (code, summary, body) in found {
        let explained = dflatc(folder(&[]).path(), &["explain", code]);
        assert!(text(&explained.stdout).starts_with(&format!("{code}: {summary}\n")));
        if code == "W0304" {
            // This example needs a git repository; tests below cover it.
            continue;
        }
        let (_, example) = body.split_once("```fbs\n// old\n").unwrap();
        let (old, new) = example.split_once("// new\n").unwrap();
        let new = new.split("```").next().unwrap();
        let folder = folder(&[("old.fbs", old), ("new.fbs", new)]);
        let arguments = ["diff", "--message-format", "json", "old.fbs", "new.fbs"];
        let output = dflatc(folder.path(), &arguments);
        let stdout = text(&output.stdout);
        assert!(codes(&stdout).contains(code), "{code}: {stdout}");
        assert_eq!(output.status.success(), !code.starts_with('E'), "{code}");
    }
}

#[test]
fn a_difference_shows_both_places() {
    let folder = folder(&[
        ("old.fbs", LONGER),
        ("new.fbs", OTHER),
        ("wrong.fbs", WRONG),
    ]);
    let output = dflatc(folder.path(), &["diff", "old.fbs", "new.fbs"]);
    assert_eq!(output.status.code(), Some(1));
    let stdout = text(&output.stdout);
    assert!(
        stdout.starts_with("error[E0300]: the type of `text` changed"),
        "{stdout}"
    );
    for place in [" --> new.fbs:1:39", " ::: old.fbs:1:39"] {
        assert!(stdout.contains(place), "{stdout}");
    }
    let same = dflatc(folder.path(), &["diff", "old.fbs", "old.fbs"]);
    assert!(same.status.success() && same.stdout.is_empty() && same.stderr.is_empty());
    let output = dflatc(folder.path(), &["diff", "wrong.fbs", "new.fbs"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("error[E0035]"));
}

#[test]
fn a_schema_is_checked_against_a_file() {
    let folder = folder(&[("old.fbs", SCHEMA), ("new.fbs", LONGER)]);
    let check = |old, new| dflatc(folder.path(), &["check", "--against", old, new]);
    let output = check("old.fbs", "new.fbs");
    assert!(output.status.success());
    assert!(text(&output.stdout).starts_with("note[N0300]: the field `text` is new"));
    let output = check("new.fbs", "old.fbs");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).starts_with("error[E0302]: the field `text` was removed"));
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    let command = command
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(arguments);
    let output = command.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

// Promise: compatibility#P16
#[test]
fn a_schema_is_checked_against_a_git_revision() {
    let include = format!("include \"part.fbs\"; {LONGER}");
    let folder = folder(&[]);
    let schemas = folder.path().join("schemas");
    fs::create_dir_all(schemas.join("shared")).unwrap();
    let write = |path: &str, text: &str| fs::write(schemas.join(path), text).unwrap();
    write("post.fbs", &include);
    write("shared/part.fbs", "table Part { x: int; }");
    git(folder.path(), &["init", "--quiet"]);
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "--quiet", "--message", "first"]);
    git(folder.path(), &["tag", "v1"]);

    write("shared/part.fbs", "table Part { x: int; y: int; }");
    write("new.fbs", "table New { x: int (primary); } root_type New;");
    let check = |old: &str| {
        let arguments = [
            "check",
            "--against",
            old,
            "-I",
            "shared",
            "post.fbs",
            "new.fbs",
        ];
        dflatc(&schemas, &arguments)
    };
    let output = check("v1");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    assert!(
        stdout.contains("the field `y` is new") && stdout.contains("`New` is new"),
        "{stdout}"
    );

    write("shared/part.fbs", "table Part { x: string; }");
    let output = check("HEAD");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains(" ::: HEAD:shared/part.fbs:1:14"));

    let output = check("v2");
    assert_eq!(output.status.code(), Some(1));
    let expected = "error: `v2` is not a file and not a revision of the git repository\n";
    assert_eq!(text(&output.stderr), expected);
}

/// Creates a repository with one commit that has a schema, and changes the schema after it.
fn repository(before: &str, after: &str) -> tempfile::TempDir {
    let folder = folder(&[]);
    for part in ["schemas", "build"] {
        fs::create_dir(folder.path().join(part)).unwrap();
    }
    let schema = folder.path().join("schemas/post.fbs");
    fs::write(&schema, before).unwrap();
    git(folder.path(), &["init", "--quiet"]);
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "--quiet", "--message", "first"]);
    fs::write(schema, after).unwrap();
    folder
}

#[test]
fn a_file_of_a_revision_is_found_from_everywhere() {
    let other_key = "table Post { title: int (primary); text: string; } root_type Post;";
    let folder = repository(LONGER, other_key);
    let absolute = folder.path().join("schemas/post.fbs");
    let outer = folder.path().parent().unwrap();
    let detour = Path::new("..").join(folder.path().strip_prefix(outer).unwrap());
    let detour = Path::new("..").join(detour).join("schemas/post.fbs");
    for (place, file) in [
        ("build", absolute.to_str().unwrap()),
        ("build", "../schemas/post.fbs"),
        ("build", detour.to_str().unwrap()),
        ("schemas", absolute.to_str().unwrap()),
        (".", absolute.to_str().unwrap()),
    ] {
        let arguments = ["check", "--against", "HEAD", file];
        let output = dflatc(&folder.path().join(place), &arguments);
        let stdout = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{place}, {file}: {stdout}");
        assert!(stdout.starts_with("error[E0300]: the type of `title` changed"));
    }
}

#[cfg(unix)]
#[test]
fn a_file_of_a_revision_is_found_through_a_link() {
    let folder = repository(LONGER, OTHER);
    let links = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(folder.path(), links.path().join("link")).unwrap();
    let file = links.path().join("link/schemas/post.fbs");
    let arguments = ["check", "--against", "HEAD", file.to_str().unwrap()];
    let output = dflatc(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(text(&output.stdout).starts_with("error[E0300]"));
}

#[test]
fn a_file_that_a_revision_lacks_is_named() {
    let folder = repository(LONGER, LONGER);
    let renamed = folder.path().join("schemas/renamed.fbs");
    fs::rename(folder.path().join("schemas/post.fbs"), &renamed).unwrap();
    let arguments = ["check", "--against", "HEAD", "schemas/renamed.fbs"];
    let output = dflatc(folder.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let message = "`schemas/renamed.fbs` is not in `HEAD` and was not compared";
    let stdout = text(&output.stdout);
    assert!(
        stdout.starts_with(&format!("warning[W0304]: {message}\n")),
        "{stdout}"
    );

    let arguments = [
        "check",
        "--message-format",
        "json",
        "--against",
        "HEAD",
        "schemas/renamed.fbs",
    ];
    let output = dflatc(folder.path(), &arguments);
    let stdout = text(&output.stdout);
    assert_eq!(
        codes(&stdout).into_iter().collect::<Vec<_>>(),
        ["N0300", "W0304"]
    );
    assert!(stdout.lines().next().unwrap().contains(message), "{stdout}");
}

#[test]
fn a_failure_of_git_is_an_error() {
    let inside = repository(LONGER, LONGER);
    let outside = folder(&[("post.fbs", LONGER)]);
    let file = outside.path().join("post.fbs");
    let file = file.to_str().unwrap();
    for (place, revision, message) in [
        (
            &outside,
            "HEAD",
            "`HEAD` is not a file, and git cannot find this revision: fatal: not a git repository",
        ),
        (
            &inside,
            "v1",
            "`v1` is not a file and not a revision of the git repository",
        ),
        (
            &inside,
            "HEAD",
            &*format!("cannot look up `{file}` in `HEAD`: it is outside"),
        ),
    ] {
        let output = dflatc(place.path(), &["check", "--against", revision, file]);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.starts_with(&format!("error: {message}")), "{stderr}");
    }

    // A missing object in the repository is an error, and not an absent file.
    for part in fs::read_dir(inside.path().join(".git/objects")).unwrap() {
        let part = part.unwrap();
        let entries: Vec<_> = fs::read_dir(part.path()).unwrap().collect();
        for entry in entries {
            let entry = entry.unwrap().path();
            let id = part.file_name().into_string().unwrap()
                + entry.file_name().unwrap().to_str().unwrap();
            let kind = Command::new("git")
                .args(["cat-file", "-t", &id])
                .current_dir(inside.path())
                .output()
                .unwrap();
            if kind.stdout.starts_with(b"tree") {
                fs::remove_file(entry).unwrap();
            }
        }
    }
    let arguments = ["check", "--against", "HEAD", "schemas/post.fbs"];
    let output = dflatc(inside.path(), &arguments);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(stderr.starts_with("error: cannot look up `schemas/post.fbs` in `HEAD`: "));
}
