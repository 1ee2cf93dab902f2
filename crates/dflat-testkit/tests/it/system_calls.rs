//! The system calls of a program, as `strace` reports them.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::process::Command;

/// The program; `strace` writes its calls on files to the file `trace`. `None` if `strace` is
/// missing and the environment does not say `DFLAT_REQUIRE_STRACE=1`.
pub(crate) fn traced(program: &Path, trace: &Path) -> Option<Command> {
    let probe = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        let required = env::var_os("DFLAT_REQUIRE_STRACE").is_some_and(|value| value == "1");
        assert!(!required, "strace is missing");
        eprintln!("strace is missing");
        return None;
    }
    let mut command = Command::new("strace");
    command
        .args(["-f", "-y", "-e", "trace=%file,%desc", "-o"])
        .arg(trace)
        .arg(program);
    Some(command)
}

/// The calls of a trace, one a line. `strace` splits a call during which another thread makes a
/// call; the parts are joined here.
pub(crate) fn whole_calls(trace: &str) -> Vec<String> {
    const BEGUN: &str = " <unfinished ...>";
    const RESUMED: &str = " resumed>";
    let mut calls = Vec::new();
    let mut begun: BTreeMap<&str, &str> = BTreeMap::new();
    for line in trace.lines() {
        let (thread, call) = line.split_once(' ').unwrap_or(("", line));
        let call = call.trim_start();
        if let Some(first) = call.strip_suffix(BEGUN) {
            begun.insert(thread, first);
        } else if let Some((_, rest)) = call
            .strip_prefix("<... ")
            .and_then(|call| call.split_once(RESUMED))
        {
            let first = begun.remove(thread).unwrap_or_default();
            calls.push(format!("{first}{rest}"));
        } else {
            calls.push(call.to_owned());
        }
    }
    // A thread that was killed leaves a call without an end.
    calls.extend(begun.into_values().map(str::to_owned));
    calls
}

#[test]
fn parts_of_a_call_are_joined() {
    let trace = "1 openat(AT, \"a\" <unfinished ...>\n2 close(3) = 0\n\
        1 <... openat resumed>, O_RDWR) = -1 EACCES\n2 read(4 <unfinished ...>\n";
    let calls = whole_calls(trace);
    let expected = [
        "close(3) = 0",
        "openat(AT, \"a\", O_RDWR) = -1 EACCES",
        "read(4",
    ];
    assert_eq!(calls, expected);
}
