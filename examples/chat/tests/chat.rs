//! The program ends with assertions, so a run is a test.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::process::Command;

// Promise: async#A10
#[test]
fn final_state_of_each_stream_equals_a_fresh_fetch() {
    let output = Command::new(env!("CARGO_BIN_EXE_chat")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("500 clients got"), "{printed}");
}
