//! Counts the instructions of work that this program does when it is asked to.

use std::hint::black_box;
use std::process::Command;

/// Rounds of some work.
pub(crate) type Work = fn(u64);

/// Instructions that a round of some work takes on a side: this program runs itself under
/// `valgrind --tool=callgrind` with some rounds and with twice as many, and the difference is what
/// the rounds cost, the same on every machine.
pub(crate) fn instructions(work: &str, side: &str, rounds: u64) -> u64 {
    (collected(work, side, 2 * rounds) - collected(work, side, rounds)) / rounds
}

/// Instructions of a run of this program that does some rounds of work.
fn collected(work: &str, side: &str, rounds: u64) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args(["--work", work, side, &rounds.to_string()])
        .output();
    let output = output.expect("valgrind counts the instructions: install it");
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{report}");
    let mut lines = report.lines();
    let count = lines.find_map(|line| line.split_once("Collected : "));
    count.unwrap().1.trim().parse().unwrap()
}

/// Does the work that the arguments ask for, if this is such a run.
pub(crate) fn does_work(arguments: &[&str], find: impl FnOnce(&str, &str) -> Option<Work>) -> bool {
    let [_, "--work", work, side, rounds] = arguments else {
        return false;
    };
    let work = find(work, side).expect("there is such work");
    work(black_box(rounds.parse().unwrap()));
    true
}
