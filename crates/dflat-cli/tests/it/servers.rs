//! Commands with the address of a server in place of a file.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::fixture::{PROGRAM, make_tasks};
use crate::process::{programs, start};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).current_dir(folder);
    command.output().unwrap()
}

/// The output of a command that succeeds.
fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The exit code and the messages of a command that fails.
fn failed(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = run(folder, arguments);
    let code = output.status.code().unwrap();
    assert_ne!(code, 0, "{arguments:?}: {output:?}");
    (code, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn commands_take_the_address_of_a_server() {
    let Some(programs) = programs() else {
        eprintln!("skipped: the programs of PostgreSQL are missing");
        return;
    };
    let server = start(&programs, |_, _| Vec::new());
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    make_tasks(&folder.join("tasks.db"));
    let address = |schema: &str| {
        let port = server.port;
        format!(
            "postgres://dflat:secret@127.0.0.1:{port}/postgres?sslmode=disable&dflat_schema={schema}"
        )
    };
    let tasks = &*address("tasks");

    // A schema that does not exist has no types, and reading creates nothing.
    assert!(done(folder, &[tasks]).contains("dictionary       0 keys"));
    let set = ["dict", "set", "tasks.db", "volume", "7"];
    done(folder, &set);
    assert_eq!(
        done(folder, &["copy", "tasks.db", tasks, "--dictionary"]),
        "7 inserted\n"
    );
    assert_eq!(done(folder, &["diff", "tasks.db", tasks]), "");
    assert_eq!(
        done(folder, &["export", tasks]),
        done(folder, &["export", "tasks.db"])
    );
    let info = done(folder, &[tasks]);
    let shown = tasks.replace("secret", "***");
    assert!(
        info.contains(&format!("server           {shown}\n")),
        "{info}"
    );
    assert!(info.contains("the server"), "{info}");
    assert!(!info.contains("secret"), "{info}");
    let json = done(folder, &["info", tasks, "--json"]);
    assert!(json.contains(r#""dictionary_keys":1"#), "{json}");

    reads_and_writes(folder, tasks);
    moves_back(folder, tasks);
    refuses(folder, tasks);
}

fn reads_and_writes(folder: &Path, tasks: &str) {
    assert_eq!(done(folder, &["dict", "get", tasks, "volume"]), "7\n");
    assert_eq!(done(folder, &["count", tasks, "Task", "list == 1"]), "2\n");
    assert_eq!(
        done(folder, &["set", tasks, "Task", "2", "title=milk"]),
        "1 updated\n"
    );
    let title = ["get", tasks, "Task", "2", "--json"];
    assert!(done(folder, &title).contains(r#""title":"milk""#));
    assert!(done(folder, &["explain", tasks, "Task", "id == 2"]).contains("key"));
    let (code, message) = failed(folder, &["insert", tasks, "Task", r#"{"id": 2}"#]);
    assert_eq!(code, 4, "{message}");
    assert_eq!(
        done(folder, &["delete", tasks, "Task", "3", "--yes"]),
        "1 deleted\n"
    );
    let differs = run(folder, &["diff", "tasks.db", tasks]);
    assert_eq!(differs.status.code(), Some(1));
}

/// Imports, packs, and the way back to a file.
fn moves_back(folder: &Path, tasks: &str) {
    let export = done(folder, &["export", "tasks.db"]);
    fs::write(folder.join("all.jsonl"), export).unwrap();
    let import = [
        "import",
        tasks,
        "--from",
        "all.jsonl",
        "--on-conflict",
        "replace",
        "--yes",
    ];
    assert_eq!(
        done(folder, &import),
        "1 inserted, 1 updated, 4 unchanged\n"
    );
    assert_eq!(done(folder, &["copy", tasks, "back.db"]), "6 inserted\n");
    assert_eq!(done(folder, &["diff", "back.db", tasks]), "");
    done(folder, &["pack", tasks, "."]);
    let again = [
        "copy",
        "tasks.db",
        tasks,
        "--on-conflict",
        "skip",
        "--compare",
    ];
    assert_eq!(done(folder, &again), "6 skipped\n");
}

/// Commands for files say so, and no message has the password.
fn refuses(folder: &Path, tasks: &str) {
    for words in [
        &["check", tasks][..],
        &["repair", tasks],
        &["compact", tasks, "--yes"],
        &["purge", tasks, "--yes"],
        &["backup", tasks, "new.db"],
        &["salvage", tasks, "new.db"],
        &["set", tasks, "Task", "2", "title=x", "--dry-run"],
        &["query", tasks, "Taks"],
        &["log", tasks],
        &["show", tasks, "1"],
        &["undo", tasks],
        &["commit", tasks, "first"],
        &["branch", tasks],
        &["merge", tasks, "draft"],
        &["diff", tasks, "--from", "1"],
        &["forget", tasks, "Task", "1", "--yes"],
    ] {
        let (code, message) = failed(folder, words);
        assert_eq!(code, 2, "{words:?}: {message}");
        assert!(!message.contains("secret"), "{message}");
    }
    let nobody = tasks.replace("dflat:secret", "nobody:secret");
    let (code, message) = failed(folder, &["query", &nobody, "Task"]);
    assert_eq!(code, 2, "{message}");
    assert!(
        message.contains("nobody") && !message.contains("secret"),
        "{message}"
    );
}
