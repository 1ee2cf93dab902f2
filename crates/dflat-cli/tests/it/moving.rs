//! Imports that are interrupted, and inputs that change.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::fixture::{Numbers, PROGRAM, dflat, make_tasks, printed, with_interrupts};

/// Writes tasks as JSON lines.
fn write_tasks(path: &Path, count: u64) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    for id in 0..count {
        let (list, done) = (id % 17, id % 3 == 0);
        let line = format!(
            r#"{{"id": {id}, "title": "task {id}", "list": {list}, "done": {done}, "priority": {list}}}"#
        );
        writeln!(out, "{line}").unwrap();
        if id % 1000 == 7 {
            writeln!(out, r#"{{"id": {id}, "titel": "wrong"}}"#).unwrap();
        }
    }
    out.flush().unwrap();
}

/// Runs an import with the rejects `killed.rejects`, and sends a signal to it at any moment after
/// some of its batches.
fn ended_by(signal: &str, arguments: &[&str], folder: &Path, numbers: &mut Numbers) -> Output {
    // Each batch has rejects.
    let rejects = folder.join("killed.rejects");
    let rejected = || fs::metadata(&rejects).map_or(0, |found| found.len());
    let (before, batches) = (rejected(), 1 + numbers.below(4));
    let words = [with_interrupts(), &[PROGRAM], arguments].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(folder);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    while rejected() < before + batches * 200 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(numbers.below(20)));
    let mut kill = Command::new("kill");
    kill.args([signal, &child.id().to_string()]);
    // The child may have ended meanwhile.
    let _ = kill.stderr(Stdio::null()).status();
    child.wait_with_output().unwrap()
}

#[cfg(unix)]
#[test]
fn file_is_not_copied_to_itself_under_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    make_tasks(&folder.join("tasks.db"));
    std::os::unix::fs::symlink("tasks.db", folder.join("linked.db")).unwrap();
    for name in ["tasks.db", "./tasks.db", "linked.db"] {
        let output = dflat(&["copy", "tasks.db", name], folder);
        assert_eq!(output.status.code(), Some(2), "{name}");
        let error = String::from_utf8(output.stderr).unwrap();
        let message = format!("error: cannot copy tasks.db to {name}: they are the same file\n");
        assert_eq!(error, message);
    }
}

/// A copy into such a file gave its objects other keys and values.
#[test]
fn file_with_another_key_or_other_types_of_fields_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let schema = |name: &str, fields: &str| {
        let text = format!("table T (stored) {{ {fields} }}");
        fs::write(folder.join(format!("{name}.fbs")), text).unwrap();
    };
    schema("number", "id: ulong (primary); a: string;");
    schema("text", "name: string (primary); a: string;");
    schema("count", "id: ulong (primary); a: uint;");
    schema("more", "id: ulong (primary); a: string; b: int;");
    let insert = |name: &str, schema: &str, object: &str| {
        let file = format!("{name}.db");
        let schema = format!("{schema}.fbs");
        dflat(&["insert", &file, "T", "--schema", &schema, object], folder)
    };
    for (name, object) in [
        ("number", r#"{"id":1,"a":"one"}"#),
        ("text", r#"{"name":"k","a":"precious"}"#),
        ("count", r#"{"id":2,"a":7}"#),
        ("more", r#"{"id":3,"a":"x","b":9}"#),
    ] {
        assert!(insert(name, name, object).status.success(), "{name}");
    }
    let content = |name: &str| printed(&["export", &format!("{name}.db")], folder);
    for (target, differ) in [
        ("text", "another primary key"),
        ("count", "other types of fields"),
    ] {
        let before = content(target);
        for words in [
            &["copy", "number.db", target][..],
            &["copy", "number.db", target, "--dry-run"],
        ] {
            let target = format!("{target}.db");
            let words = [words[0], words[1], &target]
                .into_iter()
                .chain(words[3..].iter().copied());
            let output = dflat(&words.collect::<Vec<_>>(), folder);
            assert!(!output.status.success(), "{target}");
            let error = String::from_utf8(output.stderr).unwrap();
            assert!(error.contains(differ), "{error}");
        }
        assert_eq!(content(target), before);
    }
    printed(&["copy", "number.db", "more.db"], folder);
    let back = ["copy", "more.db", "number.db", "--on-conflict", "skip"];
    printed(&back, folder);
    let both = [content("number"), content("more")];
    assert!(
        both.iter().all(|lines| lines.lines().count() == 2),
        "{both:?}"
    );
}

#[test]
fn an_import_that_is_killed_continues_where_it_was() {
    const TASKS: u64 = 100_000;
    let folder = tempfile::tempdir().unwrap();
    write_tasks(&folder.path().join("tasks.jsonl"), TASKS);
    fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tasks.fbs"),
        folder.path().join("tasks.fbs"),
    )
    .unwrap();
    let import = |to: &'static str, rejects: &'static str| {
        [
            "import",
            to,
            "Task",
            "--schema",
            "tasks.fbs",
            "--from",
            "tasks.jsonl",
            "--rejects",
            rejects,
            "--batch",
            "2000",
        ]
    };
    let whole = printed(&import("whole.db", "whole.rejects"), folder.path());
    assert_eq!(whole, format!("{TASKS} inserted, 100 rejected\n"));

    let mut numbers = Numbers(3);
    let (mut interrupted, mut continued, mut is_done) = (0, 0, false);
    for round in 0..10 {
        let arguments = import("killed.db", "killed.rejects");
        let signal = if round % 2 == 0 { "-KILL" } else { "-INT" };
        let output = ended_by(signal, &arguments, folder.path(), &mut numbers);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        continued += u64::from(said.contains("continues after line"));
        is_done = output.status.success();
        if is_done {
            break;
        }
        interrupted += 1;
    }
    assert!(interrupted >= 3, "{interrupted} interruptions");
    assert!(continued >= 2, "{continued} runs have continued");
    if !is_done {
        let last = dflat(&import("killed.db", "killed.rejects"), folder.path());
        let error = String::from_utf8_lossy(&last.stderr);
        assert!(last.status.success(), "{error}");
    }
    let export = |file: &str| printed(&["export", file, "Task"], folder.path());
    assert!(
        export("killed.db") == export("whole.db"),
        "the files differ"
    );
    let rejects = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(rejects("killed.rejects"), rejects("whole.rejects"));
    assert_eq!(
        printed(
            &["dict", "keys", "killed.db", "--space", "dflat import"],
            folder.path()
        ),
        ""
    );
}

#[test]
fn a_changed_input_is_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    make_tasks(&folder.path().join("tasks.db"));
    let path = folder.path().join("more.jsonl");
    fs::write(&path, "{\"id\": 10}\n{\"id\": 11}\nwrong\n").unwrap();
    let import = [
        "import",
        "tasks.db",
        "Task",
        "--from",
        "more.jsonl",
        "--batch",
        "2",
    ];
    let message = |more: &[&str]| {
        let output = dflat(&[&import[..], more].concat(), folder.path());
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, error) = message(&[]);
    assert_eq!(code, Some(2));
    assert!(error.starts_with("error: line 3: "), "{error}");
    fs::write(&path, "{\"id\": 10}\n{\"id\": 12}\n").unwrap();
    let (code, error) = message(&[]);
    assert_eq!(code, Some(2));
    assert!(error.contains("--restart"), "{error}");
    let (code, _) = message(&["--restart", "--on-conflict", "skip"]);
    assert_eq!(code, Some(0));
    assert_eq!(
        printed(&["count", "tasks.db", "Task"], folder.path()),
        "7\n"
    );
}

/// The failure of a program that compared the last bytes before the position only.
#[test]
fn input_that_has_changed_far_before_the_position_is_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    make_tasks(&folder.path().join("tasks.db"));
    let path = folder.path().join("more.jsonl");
    let lines = |first: &str, last: &str| {
        let line = |id: u64| format!("{{\"id\": {id}, \"title\": \"{first}\"}}\n");
        let rest = (1001..2000).map(|id| format!("{{\"id\": {id}}}\n"));
        let text: String = [line(1000)].into_iter().chain(rest).collect();
        fs::write(&path, format!("{text}{last}\n")).unwrap();
    };
    let import = ["import", "tasks.db", "Task", "--from", "more.jsonl"];
    let import = [&import[..], &["--batch", "100"]].concat();
    lines("right", "wrong");
    assert_eq!(dflat(&import, folder.path()).status.code(), Some(2));
    lines("other", "{\"id\": 2000}");
    let output = dflat(&import, folder.path());
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("--restart"), "{error}");
    lines("right", "{\"id\": 2000}");
    assert_eq!(printed(&import, folder.path()), "1001 inserted\n");
}

#[test]
fn rejects_have_the_whole_lines() {
    let folder = tempfile::tempdir().unwrap();
    make_tasks(&folder.path().join("tasks.db"));
    let long = "x".repeat(5000);
    let texts = |name: &str, input: &[u8]| {
        fs::write(folder.path().join(name), input).unwrap();
        let import = ["import", "tasks.db", "Task", "--restart", "--from", name];
        printed(
            &[&import[..], &["--rejects", "rejects"]].concat(),
            folder.path(),
        );
        let rejects = fs::read_to_string(folder.path().join("rejects")).unwrap();
        fs::remove_file(folder.path().join("rejects")).unwrap();
        let lines = rejects.lines().map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["text"].as_str().unwrap().to_owned()
        });
        lines.collect::<Vec<_>>()
    };
    let input = format!("{{\"id\": \"{long}\"}}\n");
    let found = texts("a.jsonl", &[input.as_bytes(), b"{\"id\": \xff}\n"].concat());
    assert_eq!(found, [input.trim_end(), "{\"id\": \u{fffd}}"]);
    let found = texts("a.csv", b"id,title\nx,\"a,b\"\ny,\"a \"\"b\"\"\"\n");
    assert_eq!(found, ["x,\"a,b\"", "y,\"a \"\"b\"\"\""]);
}

#[test]
fn comma_separated_values_that_are_cut_or_ambiguous_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    make_tasks(&folder.path().join("tasks.db"));
    let count = printed(&["count", "tasks.db", "Task"], folder.path());
    let path = folder.path().join("more.csv");
    let import = ["import", "tasks.db", "Task", "--from", "more.csv"];
    let refused = |text: &str, why: &str| {
        fs::write(&path, text).unwrap();
        let output = dflat(&import, folder.path());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}: {error}");
        assert_eq!(error, format!("error: {why}\n"), "{text}");
    };
    refused("id,title,id\n71,a,72\n", "the column `id` occurs twice");
    refused("id,title\n71,\"a\n72,b\n", "line 2: a quote is not closed");
    refused(
        "id,title\n71,a\n72,\"b\"\"",
        "line 3: a quote is not closed",
    );
    assert_eq!(
        printed(&["count", "tasks.db", "Task"], folder.path()),
        count
    );
    // Quotes inside a value, and a record without an end of its line.
    let text = "id,title\r\n71,5\" disk\r\n72,\"a \"\"b\"\"\n, c\"\r\n73,\"d\"";
    fs::write(&path, text).unwrap();
    assert_eq!(printed(&import, folder.path()), "3 inserted\n");
    assert_eq!(
        printed(
            &[
                "query",
                "tasks.db",
                "Task",
                "id > 70 && id < 80",
                "--select",
                "title",
                "--json"
            ],
            folder.path()
        ),
        "{\"title\":\"5\\\" disk\"}\n{\"title\":\"a \\\"b\\\"\\n, c\"}\n{\"title\":\"d\"}\n"
    );
}

#[test]
fn lines_may_begin_with_a_byte_order_mark() {
    let folder = tempfile::tempdir().unwrap();
    make_tasks(&folder.path().join("tasks.db"));
    let path = folder.path().join("more.jsonl");
    fs::write(&path, "\u{feff}{\"id\": 71}\r\n{\"id\": 72}\r\n").unwrap();
    let import = ["import", "tasks.db", "Task", "--from", "more.jsonl"];
    assert_eq!(printed(&import, folder.path()), "2 inserted\n");
}

#[cfg(unix)]
#[test]
fn rejects_are_private_to_their_owner() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    make_tasks(&folder.path().join("tasks.db"));
    fs::write(folder.path().join("more.jsonl"), "secret\n").unwrap();
    let import = ["import", "tasks.db", "Task", "--from", "more.jsonl"];
    let rejects = ["--rejects", "rejects.jsonl"];
    printed(&[&import[..], &rejects[..]].concat(), folder.path());
    let found = fs::metadata(folder.path().join("rejects.jsonl")).unwrap();
    assert_eq!(found.permissions().mode() & 0o077, 0);
}
