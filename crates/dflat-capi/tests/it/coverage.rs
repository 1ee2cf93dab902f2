//! The programs in C use all that the header declares.

use std::collections::BTreeSet;
use std::fs;

use crate::symbols::{LIBRARIES, declared, without_comments};

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c");

/// The codes that no call of a program is known to cause: `docs/c-interface.md` says why.
const UNREACHABLE: [&str; 4] = [
    "DFLAT_BACKEND",
    "DFLAT_IN_DOUBT",
    "DFLAT_UNSUPPORTED",
    "DFLAT_WRONG_TYPE",
];

/// The words of a text of C.
fn words(text: &str) -> BTreeSet<&str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .collect()
}

#[test]
fn programs_in_c_use_each_function_and_each_constant() {
    let texts = fs::read_dir(PROGRAMS).unwrap().map(|entry| {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        without_comments(&text)
    });
    let texts: Vec<String> = texts.collect();
    let used: BTreeSet<&str> = texts.iter().flat_map(|text| words(text)).collect();
    let mut unused = Vec::new();
    for library in LIBRARIES {
        let header = without_comments(library.header);
        let constants = words(&header).into_iter().filter(|word| {
            word.starts_with("DFLAT_") && !["DFLAT_H", "DFLAT_SCHEMA_H"].contains(word)
        });
        let functions = declared(library.header);
        let all = constants.chain(functions.keys().map(String::as_str));
        let all = all.filter(|name| !used.contains(name));
        unused.extend(all.map(str::to_owned));
    }
    assert_eq!(unused, UNREACHABLE);
}

/// `drops.c` checks that each callback is dropped once.
#[test]
fn each_function_that_takes_a_callback_is_called_by_the_program_that_counts_drops() {
    let text = without_comments(include_str!("../c/drops.c"));
    let called = words(&text);
    let callbacks = ["handler", "completion", "executor", "callback"];
    let takes = |argument: &String| {
        let kind = argument.split(' ').next().unwrap_or_default();
        callbacks.iter().any(|name| kind.ends_with(name))
    };
    let functions = declared(LIBRARIES[0].header);
    let taking = functions.iter().filter(|(_, list)| list.iter().any(takes));
    let taking: Vec<&str> = taking.map(|(name, _)| name.as_str()).collect();
    assert!(taking.len() > 14, "{taking:?}");
    for name in taking {
        assert!(called.contains(name), "{name}");
    }
}
