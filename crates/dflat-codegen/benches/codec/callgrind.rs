//! Counts the instructions of pieces of work, for which this program runs itself again.

use std::collections::HashMap;
use std::hint::black_box;
use std::process::Command;

/// A piece of work, which is done for a number of rounds.
pub(crate) type Work = fn(u64);

/// The instructions of one round of a piece of work on one side. This program runs itself under
/// `valgrind --tool=callgrind` with some rounds and with twice as many; the difference is the cost
/// of the rounds. `counts` selects functions, by the number of the thread, which is 1 for the main
/// thread, and by the name.
pub(crate) fn instructions(
    work: &str,
    side: &str,
    rounds: u64,
    counts: impl Fn(usize, &str) -> bool,
) -> u64 {
    let [once, twice] = [rounds, 2 * rounds].map(|rounds| collected(work, side, rounds, &counts));
    (twice - once) / rounds
}

/// The instructions of a run of this program with a number of rounds.
fn collected(work: &str, side: &str, rounds: u64, counts: impl Fn(usize, &str) -> bool) -> u64 {
    let name = format!(
        "dflat-callgrind-{}-{work}-{side}-{rounds}",
        std::process::id()
    );
    let directory = std::env::temp_dir().join(name.replace(' ', "-"));
    std::fs::create_dir(&directory).unwrap();
    // A file for each thread: `profile-01` and so on.
    let profile = directory.join("profile");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--separate-threads=yes"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(std::env::current_exe().unwrap())
        .args(["--work", work, side, &rounds.to_string()])
        .output();
    let output = output.expect("valgrind counts the instructions: install it");
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{report}");
    let of_thread = |thread: usize| {
        let profile = directory.join(format!("profile-{thread:02}"));
        let text = std::fs::read_to_string(profile).ok()?;
        Some(sum(&text, |function| counts(thread, function)))
    };
    let sum = (1..).map_while(of_thread).sum();
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(sum > 0, "callgrind has counted nothing");
    sum
}

/// The instructions in functions whose names `counts`, without those of the functions they call.
fn sum(profile: &str, counts: impl Fn(&str) -> bool) -> u64 {
    // A name is written out the first time, and is a number in parentheses after that.
    let mut counted: HashMap<&str, bool> = HashMap::new();
    let (mut sum, mut counting, mut calls) = (0, false, false);
    for line in profile.lines() {
        if let Some((kind @ ("fn" | "cfn"), name)) = line.split_once('=') {
            let (number, name) = name.split_once(' ').unwrap_or((name, ""));
            let known = counted.entry(number).or_insert_with(|| counts(name));
            if kind == "fn" {
                counting = *known;
            }
        } else if line.starts_with("calls=") {
            // The next line has the instructions of the function that is called.
            calls = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            if counting && !calls {
                let cost = line.split(' ').nth(1).unwrap();
                sum += cost.parse::<u64>().unwrap();
            }
            calls = false;
        }
    }
    sum
}

/// Does the work that the arguments request. Returns whether they request any.
pub(crate) fn does_work(arguments: &[&str], find: impl FnOnce(&str, &str) -> Option<Work>) -> bool {
    let [_, "--work", work, side, rounds] = arguments else {
        return false;
    };
    let work = find(work, side).expect("there is such work");
    work(black_box(rounds.parse().unwrap()));
    true
}
