//! Runs the program with its options.

use std::process::Command;

use dflat_bench::scenario;

#[test]
fn the_report_has_a_line_for_a_scenario() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("report.json");
    let names = [
        "insert_1tx",
        "fetch_key",
        "delete_1tx",
        "subscribe_objects",
        "latency_commit",
        "latency_commit_loaded",
        "latency_delivery",
        "latency_process",
    ];
    let mut program = Command::new(env!("CARGO_BIN_EXE_dflat-bench"));
    program
        .args(["--quick", "--objects", "100", "--json"])
        .arg(&json);
    program.arg("--dir").arg(directory.path());
    for name in names {
        program.args(["--scenario", name]);
    }
    let output = program.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).lines().count(),
        1 + names.len()
    );
    let text = std::fs::read_to_string(&json).unwrap();
    for (line, name) in text.lines().zip(names) {
        let report: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(report["scenario"], name);
        assert_eq!(report["objects"], 100);
        for field in [
            "runs",
            "ours_ns",
            "floor_ns",
            "ratio",
            "ours_min_ns",
            "ours_p99_ns",
        ] {
            assert!(
                report[field].as_f64().is_some_and(|number| number > 0.0),
                "{line}"
            );
        }
        assert!(report["peak_bytes"].is_i64(), "{line}");
    }
    // No file is left in the directory.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn the_crossover_of_matching_has_a_line_for_each_size() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_dflat-bench"));
    let output = program.args(["--crossover", "--quick"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert_eq!(text.lines().count(), 1 + 5 * 4, "{text}");
}

#[test]
fn an_unknown_scenario_is_named() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_dflat-bench"));
    let output = program.args(["--scenario", "insert"]).output().unwrap();
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("no scenario insert"), "{error}");
    assert!(
        scenario::ALL
            .iter()
            .all(|scenario| error.contains(scenario.name)),
        "{error}"
    );
}

#[test]
fn scenarios_with_goals_are_those_of_writes_deliveries_and_upkeep() {
    let names = scenario::with_goals();
    let names: Vec<&str> = names.iter().map(|scenario| scenario.name).collect();
    assert_eq!(names.len(), 10 + 9 + 4, "{names:?}");
    for name in ["update_indexed_3", "commit_wait", "original_program"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.contains(&"latency_commit"));
}
