//! Both programs end with the same plan.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::process::Command;

#[test]
fn both_programs_have_the_changes_of_each_other() {
    let output = Command::new(env!("CARGO_BIN_EXE_travel")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let printed = String::from_utf8_lossy(&output.stdout);
    let of = |whose: &str| -> Vec<String> {
        let lines = printed.lines().filter_map(|line| line.strip_prefix(whose));
        lines
            .filter(|line| line.contains("nights"))
            .map(str::to_owned)
            .collect()
    };
    let plan = [
        "Piran, 2 nights, no hotel",
        "Trieste, 3 nights, Duchi",
        "Vienna, 2 nights, no hotel",
    ];
    assert_eq!(of("home: "), plan, "{printed}");
    assert_eq!(of("away, last: "), plan, "{printed}");
    assert_eq!(of("away, first: ").len(), 2, "{printed}");
}
