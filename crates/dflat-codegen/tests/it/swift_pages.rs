//! The pages about the Swift package: each public name of the original, and each of its rules.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The rows of `docs/swift-names.md`: the file, the declaration, and the form that it has here.
fn names(page: &str) -> Vec<(&str, String, &str)> {
    let mut rows = Vec::new();
    let mut file = "";
    for line in page.lines() {
        if let Some(name) = line.strip_prefix("### ") {
            file = name;
        } else if let Some((declaration, here)) = line
            .strip_prefix("| `")
            .and_then(|row| row.rsplit_once("` | "))
        {
            let here = here.trim_end_matches('|').trim();
            assert!(here.len() > 3, "{line}");
            rows.push((file, declaration.replace("\\|", "|"), here));
        }
    }
    rows
}

#[test]
fn every_public_name_of_the_original_has_a_row() {
    let page = read("docs/swift-names.md");
    let names = names(&page);
    let rows: HashSet<String> = names
        .iter()
        .map(|(file, declaration, _)| format!("{file}: {declaration}"))
        .collect();
    let list = read("swift/surface.txt");
    assert!(list.lines().count() > 500);
    for declaration in list.lines() {
        assert!(rows.contains(declaration), "no row: {declaration}");
    }
}

/// The text of all Swift files of a folder, without comments and spaces.
fn code_in(folder: &Path) -> String {
    let mut code = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            code += &code_in(&path);
        } else if path.extension().is_some_and(|end| end == "swift") {
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().filter(|line| !line.trim().starts_with("//"));
            code.extend(lines.map(dense));
        }
    }
    code
}

fn dense(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn names_that_are_the_same_are_in_the_sources_word_for_word() {
    let library = code_in(&root().join("swift/Sources"));
    let generated = code_in(&root().join("swift/Tests/Generated/monster"));
    let page = read("docs/swift-names.md");
    let mut count = 0;
    for (file, declaration, here) in names(&page) {
        let is_same = here == "the same"
            || ["the same;", "the same,"]
                .iter()
                .any(|s| here.starts_with(s));
        if !is_same {
            continue;
        }
        let code = if file.starts_with("monster") {
            &generated
        } else {
            &library
        };
        assert!(code.contains(&dense(&declaration)), "{file}: {declaration}");
        count += 1;
    }
    assert!(count > 450, "{count}");
}

/// Each row of `docs/swift-behaviour.md` names tests that exist.
#[test]
fn rules_of_the_original_have_tests() {
    let mut tests = HashSet::new();
    for entry in fs::read_dir(root().join("swift/Tests/DflatTests")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let mut class = "";
        for line in text.lines().map(str::trim_start) {
            if let Some((name, _)) = line
                .strip_prefix("final class ")
                .and_then(|rest| rest.split_once(':'))
            {
                class = name;
            } else if let Some((name, _)) = line
                .strip_prefix("func ")
                .and_then(|rest| rest.split_once('('))
                && name.starts_with("test")
            {
                tests.insert(format!("{class}.{name}"));
            }
        }
    }
    let page = read("docs/swift-behaviour.md");
    let mut rows = 0;
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let Some((_, cell)) = line.trim_end_matches(" |").rsplit_once(" | ") else {
            panic!("{line}");
        };
        for name in cell.split(", ").filter_map(|name| name.strip_prefix('`')) {
            let name = name.trim_end_matches('`');
            assert!(tests.contains(name), "no test {name}: {line}");
            rows += 1;
        }
    }
    assert!(rows > 100, "{rows}");
}
