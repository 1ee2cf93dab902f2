//! The program ends with assertions, so a run is a test.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::process::Command;

#[test]
fn commands_are_undone_redone_and_shown_and_a_draft_is_published() {
    let output = Command::new(env!("CARGO_BIN_EXE_editor")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let printed = String::from_utf8_lossy(&output.stdout);
    let undone = "undone: delete note\nundone: pin\nundone: typing\n";
    assert!(printed.starts_with(undone), "{printed}");
    let mut versions = printed.lines().filter(|line| line.starts_with("version"));
    let last = versions.next_back().unwrap();
    assert!(last.contains("bread and milk, cheese"), "{printed}");
    let draft = "draft: note 1 differs in title, text\ndraft: new note Some(\"ideas\")\n\
                 draft: both have changed text\ndraft: published, 2 notes changed\n";
    assert!(printed.contains(draft), "{printed}");
    let devices = "devices: both have the title and the text\n";
    assert!(printed.ends_with(devices), "{printed}");
}
