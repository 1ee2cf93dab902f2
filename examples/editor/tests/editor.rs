//! The program ends with assertions, so a run is a test.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::process::Command;

#[test]
fn commands_are_undone_redone_and_shown() {
    let output = Command::new(env!("CARGO_BIN_EXE_editor")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let printed = String::from_utf8_lossy(&output.stdout);
    let undone = "undone: delete note\nundone: pin\nundone: typing\n";
    assert!(printed.starts_with(undone), "{printed}");
    let last = printed.lines().last().unwrap();
    assert!(last.contains("bread and milk, cheese"), "{printed}");
}
