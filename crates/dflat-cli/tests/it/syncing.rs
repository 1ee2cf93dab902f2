//! Exchanges through another program.

use std::path::Path;
use std::process::{Command, Output};

use crate::fixture::make_versioned;

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
