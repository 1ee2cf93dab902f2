//! The stored figures, the page and README agree.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

use dflat_bench_page::OURS;
use dflat_bench_page::figures::{Figures, Scenario};
use dflat_bench_page::{chart, files, losses};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn page_and_readme_have_the_stored_figures() {
    assert_eq!(files::problems(&root()).unwrap(), Vec::<String>::new());
}

#[test]
fn changed_figures_are_noticed() {
    let copy = tempfile::tempdir().unwrap();
    for path in [
        "README.md",
        "docs/benchmarks.md",
        "docs/benchmarks/figures.json",
        "docs/benchmarks/compile.json",
        "docs/benchmarks/floors.jsonl",
        "crates/dflat-bench-rivals/src/scenario/list.rs",
        "crates/dflat-bench/src/scenario/mod.rs",
    ] {
        let to = copy.path().join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(root().join(path), to).unwrap();
    }
    let path = copy.path().join("docs/benchmarks/figures.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"fetch_all\"", "\"fetch_nothing\"")).unwrap();
    // README's table wants the scenario that is gone.
    assert!(files::make(copy.path()).is_err());

    fs::write(&path, text.replace("\"update_waited\"", "\"update_never\"")).unwrap();
    let problems = files::problems(copy.path()).unwrap();
    let expected = [
        "docs/benchmarks.md differs from the stored figures",
        "dflat-bench-rivals has no scenario update_never",
    ];
    for expected in expected {
        assert!(
            problems.iter().any(|problem| problem == expected),
            "{problems:?}"
        );
    }
}

#[test]
fn loss_without_a_text_is_noticed() {
    let figures = Figures::read(&root()).unwrap();
    let is_lost = figures
        .scenarios
        .iter()
        .any(|s| !losses::ahead(s).is_empty());
    assert!(is_lost, "no rival is ahead anywhere: look again");
    assert!(!losses::missing(&figures, &[]).is_empty());
    assert!(losses::missing(&figures, &losses::all().unwrap()).is_empty());
}

#[test]
fn page_is_drawn_with_other_floors() {
    let folder = tempfile::tempdir().unwrap();
    let floors = folder.path().join("quick.jsonl");
    let stored = fs::read_to_string(root().join("docs/benchmarks/floors.jsonl")).unwrap();
    let first = stored.lines().next().unwrap();
    fs::write(&floors, first.replace("insert_1tx", "another_scenario")).unwrap();
    let page = files::draw(&root(), &floors, folder.path()).unwrap();
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("| `another_scenario` |"));
    assert!(!page.contains("| `fetch_scan` |"));
    let chart = folder.path().join("docs/benchmarks/floors.svg");
    let chart = fs::read_to_string(chart).unwrap();
    assert!(chart.contains("another_scenario") && !chart.contains("fetch_scan"));

    fs::write(&floors, "").unwrap();
    let error = files::draw(&root(), &floors, folder.path()).unwrap_err();
    assert!(error.to_string().contains("has no figures"), "{error}");
}

#[test]
fn ratio_beyond_the_axis_is_a_triangle() {
    let mut figures = Figures::read(&root()).unwrap();
    let scenario = figures
        .scenarios
        .iter_mut()
        .find(|s| s.scenario == "insert")
        .unwrap();
    let triangles = |scenario: &Scenario| {
        let chart = chart::ratios(&[scenario]).unwrap();
        chart.matches("<polygon").count()
    };
    let ours = scenario.of(OURS).unwrap().median;
    for figure in &mut scenario.figures {
        figure.median = ours;
    }
    assert_eq!(triangles(scenario), 0);
    for figure in &mut scenario.figures[1..3] {
        figure.median = ours * 101.0;
    }
    assert_eq!(triangles(scenario), 2);
}
