//! The tests that the documentation names exist.

use std::fs;
use std::path::Path;

/// The source of a module of tests.
fn source(module: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    match module.strip_suffix(".rs") {
        Some(_) => read(&format!("tests/it/{module}")),
        None if module == "models" => {
            let models = "../dflat-engine/tests/models";
            read(&format!("{models}/scheduling.rs")) + &read(&format!("{models}/delivering.rs"))
        }
        None => read(&format!("src/conformance/{module}.rs")),
    }
}

#[test]
fn every_test_that_the_rules_of_concurrency_name_exists() {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/concurrency.md");
    let rules = fs::read_to_string(rules).unwrap();
    // The first paragraph says how to read them.
    let (_, rules) = rules.split_once("## ").unwrap();
    let names = rules.split('`').filter(|text| text.contains("::"));
    let mut count = 0;
    for name in names.filter(|name| !name.contains(' ') && !name.ends_with(':')) {
        let (module, test) = name.split_once("::").unwrap();
        let source = source(module);
        assert!(!source.is_empty(), "{name}: there is no such file");
        let start = format!("fn {}", test.trim_end_matches('*'));
        let exact = format!("{start}(");
        let found = source.contains(if test.ends_with('*') { &start } else { &exact });
        assert!(found, "{name}: there is no such test");
        count += 1;
    }
    assert!(count > 80, "{count} names");
}
