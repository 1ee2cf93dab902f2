//! Exchanges through another program.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use dflat_engine::history::KeepHistory;
use dflat_engine::storage::CloseOptions;
use dflat_history::keeper::Keeper;
use dflat_workspace::{FileOptions, Workspace};

use crate::fixture::{insert, make_versioned, table};

fn dflat(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dflat"));
    command
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn printed(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn files_are_exchanged_through_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    make_versioned(&folder.join("a.db"));
    printed(&dflat(folder, &["sync", "a.db", "b.db"]));
    printed(&dflat(
        folder,
        &["set", "a.db", "Task", "1", "title=dig deep"],
    ));
    printed(&dflat(
        folder,
        &["set", "b.db", "Task", "2", "title=sow late"],
    ));
    let serve = format!("'{}' serve b.db", env!("CARGO_BIN_EXE_dflat"));

    // Without leave, nothing is sent.
    let refused = dflat(folder, &["sync", "a.db", "--through", &serve]);
    assert_eq!(refused.status.code(), Some(3));
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(errors.contains("takes no pushes"), "{errors}");

    let serve = format!("{serve} --accept-pushes");
    printed(&dflat(folder, &["sync", "a.db", "--through", &serve]));
    let tasks = ["query", "", "Task", "--select", "title", "--json"];
    let titles = ["a.db", "b.db"].map(|file| {
        let mut arguments = tasks;
        arguments[1] = file;
        printed(&dflat(folder, &arguments))
    });
    assert_eq!(titles[0], titles[1]);
    assert!(
        titles[0].contains("dig deep") && titles[0].contains("sow late"),
        "{}",
        titles[0]
    );

    // A command that says nothing, and one that fails.
    for command in ["true", "exit 3"] {
        let failed = dflat(folder, &["sync", "a.db", "--through", command]);
        assert_eq!(failed.status.code(), Some(3), "{command}");
    }
    let dry = dflat(folder, &["sync", "a.db", "--through", &serve, "--dry-run"]);
    assert_eq!(dry.status.code(), Some(2));
}

/// A file with versioned lists, of which both branches have changed one, and have inserted two with
/// the same name.
fn make_merge(path: &Path) {
    let lists = table("Work.List");
    let mut options = FileOptions::default();
    let keeper = Arc::new(Keeper::default());
    keeper.want(&lists, true);
    options.history(keeper);
    let workspace = Workspace::open(path, &options).unwrap();
    let first = r#"{"owner": "ann", "number": 1, "name": "home"}"#;
    insert(&workspace, &lists, &[first.to_owned()]);
    workspace.shutdown_with(CloseOptions::default()).unwrap();
    let folder = path.parent().unwrap();
    let run = |words: &[&str]| printed(&dflat(folder, words));
    run(&["branch", "lists.db", "draft"]);
    for (branch, name, number) in [("draft", "one", "2"), ("main", "two", "3")] {
        run(&["branch", "lists.db", branch, "--checkout"]);
        run(&[
            "set",
            "lists.db",
            "List",
            "ann",
            "1",
            &format!("name={name}"),
        ]);
        let same = format!(r#"{{"owner": "ann", "number": {number}, "name": "same"}}"#);
        run(&["insert", "lists.db", "List", &same]);
    }
}

/// The first decisions led to a conflict about a unique value, which `--keep` did not decide.
#[test]
fn side_is_kept_in_conflicts_that_come_after_others() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    make_merge(&folder.join("lists.db"));
    let names = || {
        let query = [
            "query",
            "lists.db",
            "List",
            "--select",
            "number,name",
            "--json",
        ];
        printed(&dflat(folder, &query))
    };
    let before = names();
    let merge = |keep: &str| dflat(folder, &["merge", "lists.db", "draft", "--keep", keep]);
    let left = merge("theirs");
    assert_eq!(left.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&left.stderr);
    assert!(
        errors.contains("other objects have the unique values"),
        "{errors}"
    );
    assert_eq!(names(), before);
    printed(&merge("ours"));
    assert_eq!(names(), before);
}
