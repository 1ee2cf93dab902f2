//! Transcripts of a shell. `UPDATE_EXPECT=1` rewrites their output.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use expect_test::expect_file;

use crate::fixture::{
    PROGRAM, copy_of_original, make_hostile, make_tasks, make_versioned, repository,
};

/// Makes the files that the commands of a transcript use.
fn prepare(folder: &Path) {
    copy_of_original("checkpointed.db", &folder.join("original.db"));
    for name in ["unclean.db", "unclean.db-wal"] {
        copy_of_original(&format!("unclean/{name}"), &folder.join(name));
    }
    let beside = folder.join("beside");
    fs::create_dir(&beside).unwrap();
    copy_of_original("checkpointed.db", &beside.join("original.db"));
    for name in ["bench_doc.fbs", "monster.fbs", "equipment.fbs"] {
        fs::copy(repository().join("schemas").join(name), beside.join(name)).unwrap();
    }
    make_tasks(&folder.join("tasks.db"));
    fs::write(beside.join("tasks.fbs"), include_str!("../data/tasks.fbs")).unwrap();
    make_versioned(&folder.join("versioned.db"));
    make_hostile(&folder.join("hostile.db"));
    fs::write(
        folder.join("text.txt"),
        "this is no database, and long enough",
    )
    .unwrap();
    let mut damaged = fs::read(folder.join("original.db")).unwrap();
    for byte in damaged.iter_mut().skip(4096) {
        *byte = 0xa5;
    }
    fs::write(folder.join("damaged.db"), damaged).unwrap();
    let mut bad = fs::read(folder.join("tasks.db")).unwrap();
    let title = b"buy milk";
    let place = bad.windows(title.len()).position(|window| window == title);
    bad[place.unwrap()] = 0xff;
    fs::write(folder.join("bad.db"), bad).unwrap();
    fs::write(
        folder.join("older.fbs"),
        "table Task { id: int (primary); title: string; old: int; } root_type Task;",
    )
    .unwrap();
    fs::write(
        folder.join("newer.fbs"),
        "table Task { id: int (primary); title: string; old: int (deprecated); rank: int = 3; } \
         root_type Task;",
    )
    .unwrap();
    fs::write(
        folder.join("keyed.fbs"),
        "table Task { name: string (primary); } root_type Task;",
    )
    .unwrap();
    fs::write(
        folder.join("signal.fbs"),
        "enum Color: byte { Red, Green } table Signal { color: Color (primary); } \
         root_type Signal;",
    )
    .unwrap();
    fs::write(
        folder.join("wrong.fbs"),
        "table A { id: itn (primary); } root_type A;",
    )
    .unwrap();
}

/// Runs the commands of a transcript, and returns the transcript with their output.
pub(crate) fn replayed(transcript: &str, folder: &Path) -> String {
    let programs = Path::new(PROGRAM).parent().unwrap().to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([programs].into_iter().chain(env::split_paths(&path))).unwrap();
    let mut out = String::new();
    for line in transcript.lines() {
        if line.starts_with('#') {
            out.push_str(line);
            out.push('\n');
        }
        let Some(command) = line.strip_prefix("$ ") else {
            continue;
        };
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec 2>&1\n{command}")]);
        shell
            .env("PATH", &path)
            .env_remove("NO_COLOR")
            .current_dir(folder);
        let output = shell.output().unwrap();
        out.push_str(&format!("$ {command}\n"));
        out.push_str(&masked(&String::from_utf8_lossy(&output.stdout), folder));
        match output.status.code() {
            Some(0) => {}
            Some(101) => panic!("{out}"),
            code => out.push_str(&format!("[exit code {}]\n", code.unwrap())),
        }
        out.push('\n');
    }
    out
}

/// The output without times and without the name of the temporary folder.
fn masked(output: &str, folder: &Path) -> String {
    let output = output.replace(folder.to_str().unwrap(), "[FOLDER]");
    let mut rest = output.as_str();
    let mut out = String::new();
    while let Some(end) = rest.find(" UTC") {
        let start = end.saturating_sub("2026-01-01 00:00:00".len());
        out.push_str(&rest[..start]);
        out.push_str("[TIME]");
        rest = &rest[end + " UTC".len()..];
    }
    out.push_str(rest);
    let mut out = without_commits(&out);
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// The text with `[COMMIT]` in place of the ids of commits, which depend on the time.
fn without_commits(text: &str) -> String {
    let mut parts = text.split('@');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.chars().take_while(char::is_ascii_hexdigit).count();
        match digits {
            12 => out.push_str(&format!("[COMMIT]{}", &part[digits..])),
            _ => out.push_str(&format!("@{part}")),
        }
    }
    out
}

fn check(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let path = format!("{}/tests/transcripts/{name}", env!("CARGO_MANIFEST_DIR"));
    let transcript = fs::read_to_string(&path).unwrap();
    expect_file![path].assert_eq(&replayed(&transcript, folder.path()));
}

#[test]
fn files_of_the_original_are_shown() {
    check("original.console");
}

#[test]
fn files_of_this_library_are_shown() {
    check("tasks.console");
}

#[test]
fn mistakes_are_explained() {
    check("mistakes.console");
}

#[test]
fn objects_are_changed() {
    check("change.console");
}

#[test]
fn objects_are_moved() {
    check("move.console");
}

#[test]
fn files_are_copied_compared_and_mended() {
    check("upkeep.console");
}

#[test]
fn history_is_shown_and_undone() {
    check("history.console");
}

#[test]
fn branches_are_made_compared_and_merged() {
    check("branches.console");
}

#[test]
fn files_exchange_commits() {
    check("sync.console");
}

#[test]
fn packs_are_made_read_and_verified() {
    check("pack.console");
}

#[test]
fn text_of_a_hostile_file_does_not_control_the_terminal() {
    check("hostile.console");
}
