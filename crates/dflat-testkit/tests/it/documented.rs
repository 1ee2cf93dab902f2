//! The tests that the documentation names exist.

use std::fs;
use std::path::Path;

/// The source of a module of tests.
fn source(module: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    match module.strip_suffix(".rs") {
        Some(name) => [
            format!("tests/it/{module}"),
            format!("../dflat-sqlite/tests/it/{module}"),
            format!("../dflat-sqlite/src/{module}"),
            format!("../dflat-sqlite/src/{name}/tests.rs"),
        ]
        .iter()
        .map(|path| read(path))
        .collect(),
        None if module == "models" => {
            let tests = ["models/scheduling", "models/delivering", "grouping/writing"];
            let tests = tests.map(|test| read(&format!("../dflat-engine/tests/{test}.rs")));
            tests.concat()
        }
        None => read(&format!("src/conformance/{module}.rs")),
    }
}

/// How many tests a page names, all of which exist.
fn count_named(page: &str) -> usize {
    let page = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(page);
    let rules = fs::read_to_string(page).unwrap();
    // The first paragraph says how to read them.
    let (_, rules) = rules.split_once("## ").unwrap();
    let names = rules.split('`').filter(|text| text.contains("::"));
    // A name of a type is not that of a test.
    let is_test = |name: &&str| {
        let first = name.chars().next();
        !name.contains(' ') && !name.ends_with(':') && first.is_some_and(char::is_lowercase)
    };
    let mut count = 0;
    for name in names.filter(is_test) {
        let (module, test) = name.split_once("::").unwrap();
        let source = source(module);
        assert!(!source.is_empty(), "{name}: there is no such file");
        let start = format!("fn {}", test.trim_end_matches('*'));
        let exact = format!("{start}(");
        let found = source.contains(if test.ends_with('*') { &start } else { &exact });
        assert!(found, "{name}: there is no such test");
        count += 1;
    }
    count
}

#[test]
fn every_test_that_the_rules_of_concurrency_name_exists() {
    let count = count_named("concurrency.md");
    assert!(count > 80, "{count} names");
}

#[test]
fn every_test_that_the_rules_of_durability_name_exists() {
    let count = count_named("durability.md");
    assert!(count > 40, "{count} names");
}
