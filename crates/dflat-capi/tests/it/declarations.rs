//! The declarations of the header that programs were compiled with: while the version of the
//! interface stays, none of them disappears or changes.

use std::collections::BTreeSet;
use std::path::Path;

use crate::symbols::{plain, without_comments, without_directives};

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");

/// The headers, and the lists of their declarations.
const HEADERS: [(&str, &str); 2] = [
    (include_str!("../../include/dflat.h"), "declarations.txt"),
    (
        include_str!("../../../dflat-capi-schema/include/dflat_schema.h"),
        "schema_declarations.txt",
    ),
];

/// The statements of C, each up to the semicolon outside of braces.
fn statements(text: &str) -> Vec<String> {
    let mut statements = Vec::new();
    let (mut depth, mut current) = (0, String::new());
    for letter in text.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ';' if depth == 0 => {
                statements.push(plain(&std::mem::take(&mut current)));
                continue;
            }
            _ => {}
        }
        current.push(letter);
    }
    statements
}

/// The declarations of a header, and its constants one by one: more constants may be added.
fn declarations(header: &str) -> BTreeSet<String> {
    let text = without_directives(&without_comments(header)).replace("extern \"C\" {", "");
    let mut found = BTreeSet::new();
    for statement in statements(&text) {
        match statement.strip_prefix("enum {") {
            Some(constants) => {
                let constants = constants.trim_end_matches('}').split(',');
                found.extend(constants.map(plain).filter(|constant| !constant.is_empty()));
            }
            None => {
                found.insert(statement);
            }
        }
    }
    found
}

/// The version of the interface in a header or in the list, with its name.
fn version(text: &str) -> &str {
    let mut lines = text.lines();
    let line = lines.find(|line| line.contains("_ABI_VERSION ")).unwrap();
    line.trim_start_matches("#define ")
}

/// The new list: that of the header, unless a declaration is gone and the version is the same.
fn update(committed: &str, header: &str) -> Result<String, Vec<String>> {
    let declared = declarations(header);
    let mut gone: Vec<String> = committed
        .lines()
        .skip(1)
        .filter(|line| !declared.contains(*line))
        .map(str::to_owned)
        .collect();
    if !committed.is_empty() && version(committed) != version(header) {
        gone.clear();
    }
    if !gone.is_empty() {
        return Err(gone);
    }
    let lines = declared.into_iter().map(|line| line + "\n");
    let first = format!("{}\n", version(header));
    Ok([first].into_iter().chain(lines).collect())
}

// Promise: c-interface#I9
#[test]
fn no_declaration_changes_while_the_version_stays() {
    for (header, list) in HEADERS {
        let path = Path::new(TESTS).join(list);
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        let updated = update(&committed, header).unwrap_or_else(|gone| {
            panic!("programs use these declarations, which are gone or changed: {gone:#?}")
        });
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&path, &updated).unwrap();
        } else {
            assert_eq!(
                committed, updated,
                "bless `tests/{list}` by UPDATE_EXPECT=1"
            );
        }
    }
}

#[test]
fn a_list_is_extended_and_keeps_what_it_has() {
    let header = |version: u32, rest: &str| format!("#define DFLAT_ABI_VERSION {version}\n{rest}");
    let old = header(
        1,
        "enum { DFLAT_A = 0 };\ntypedef struct s { int a; } s;\nint f(int a);\n",
    );
    let list = update("", &old).unwrap();
    assert_eq!(
        list,
        "DFLAT_ABI_VERSION 1\nDFLAT_A = 0\nint f(int a)\ntypedef struct s { int a; } s\n"
    );
    let more = header(
        1,
        "enum { DFLAT_A = 0, DFLAT_B = 1 };\ntypedef struct s { int a; } s;\nint f(int a);\n",
    );
    assert!(update(&list, &more).unwrap().contains("DFLAT_B = 1"));
    for (from, to) in [
        ("= 0", "= 2"),
        ("int a; }", "int a, b; }"),
        ("int f(int a);", ""),
    ] {
        let changed = old.replace(from, to);
        assert_eq!(update(&list, &changed).unwrap_err().len(), 1);
        let changed = changed.replace("VERSION 1", "VERSION 2");
        assert!(update(&list, &changed).is_ok());
    }
}
