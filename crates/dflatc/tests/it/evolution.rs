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
    known.sort_unstable();
    assert_eq!(described, known);
    for (code, _, body) in found {
        let (_, example) = body.split_once("```fbs\n// old\n").unwrap();
        let (old, new) = example.split_once("// new\n").unwrap();
        let new = new.split("```").next().unwrap();
        let folder = folder(&[("old.fbs", old), ("new.fbs", new)]);
        let arguments = ["diff", "--message-format", "json", "old.fbs", "new.fbs"];
        let output = dflatc(folder.path(), &arguments);
        let stdout = text(&output.stdout);
        assert!(codes(&stdout).contains(code), "{code}: {stdout}");
        assert_eq!(output.status.success(), !code.starts_with('E'), "{code}");
        let explained = dflatc(folder.path(), &["explain", code]);
        assert!(text(&explained.stdout).starts_with(code));
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
    let expected = "error: `v2` is neither a file nor a git revision here\n";
    assert_eq!(text(&output.stderr), expected);
}
