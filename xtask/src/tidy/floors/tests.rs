use super::{check, table};
use crate::finding::Finding;
use crate::workspace::{Dependency, DependencyKind, File, Package};

const NOWHERE: [usize; 0] = [];

const TABLE: &str = "```floors\ncrates: top > low\ncrates: side > low\n\
                     low: engine > write | watch > storage > error\n```\n";

fn file(path: &str, text: &str) -> File {
    File {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

fn package(name: &str, dependencies: &[(&str, DependencyKind)]) -> Package {
    let dependency = |&(name, kind): &(&str, _)| Dependency {
        name: name.to_owned(),
        kind,
        external: false,
    };
    Package {
        name: name.to_owned(),
        version: String::new(),
        published: true,
        dependencies: dependencies.iter().map(dependency).collect(),
    }
}

fn places(path: &str, text: &str) -> Vec<usize> {
    let front = "pub use error::{Error, Kind as Sort};\npub use other::{storage, Foreign};";
    let files = [file("crates/low/src/lib.rs", front), file(path, text)];
    let findings = check(TABLE, &files, &[]);
    assert!(findings.iter().all(Finding::is_error));
    findings.iter().map(|finding| finding.line).collect()
}

#[test]
fn lines_of_the_table_become_floors() {
    let floors = table(TABLE).map(|chains| chains[2].floors.clone());
    let expected: Vec<Vec<String>> = [
        vec!["engine"],
        vec!["write", "watch"],
        vec!["storage"],
        vec!["error"],
    ]
    .map(|rooms| rooms.into_iter().map(str::to_owned).collect())
    .into();
    assert_eq!(floors, Some(expected));
    assert_eq!(check("", &[], &[]).len(), 1);
}

#[test]
fn arrows_that_run_down_are_allowed() {
    let path = "crates/low/src/write/mod.rs";
    assert_eq!(
        places(path, "use crate::storage::{A, b::C};\nuse crate::Sort;"),
        NOWHERE
    );
    assert_eq!(
        places(path, "use crate::Foreign;\n$crate::engine!()"),
        NOWHERE
    );
    assert_eq!(
        places(path, "// use crate::engine;\nlet a = \"crate::engine\";"),
        NOWHERE
    );
    assert_eq!(
        places(
            path,
            "use crate::write::A; use super::storage; use self::a;"
        ),
        NOWHERE
    );
    assert_eq!(
        places("crates/low/src/write/tests.rs", "use crate::engine;"),
        NOWHERE
    );
    let tests = "#[cfg(test)]\nmod tests { use super::*; use crate::engine; }";
    assert_eq!(places(path, tests), NOWHERE);
    assert_eq!(
        places("crates/low/src/lib.rs", "use crate::engine::A;"),
        NOWHERE
    );
}

#[test]
fn arrows_that_run_up_or_sideways_are_found() {
    let path = "crates/low/src/write/turn.rs";
    assert_eq!(places(path, "\nuse crate::engine::A;"), [2]);
    assert_eq!(places(path, "fn f() {\n  crate::watch::f()\n}"), [2]);
    assert_eq!(
        places(path, "use crate::{\n  storage,\n  engine::{B, C},\n};"),
        [3, 3]
    );
    assert_eq!(places(path, "use super::super::watch::A;"), [1]);
    assert_eq!(
        places(path, "mod a { use super::super::super::watch::A; }"),
        [1]
    );
    assert_eq!(places(path, "use super::super::*;"), [1]);
    assert_eq!(
        places(
            "crates/low/src/error.rs",
            "use crate::Sort;\nuse super::write;"
        ),
        [2]
    );
    assert_eq!(places("crates/low/src/attic.rs", ""), [0]);
}

/// The findings in a file of the module `write`, whose rooms are `submit`, `group` and `row`.
fn inner(path: &str, text: &str) -> Vec<Finding> {
    let table = "```floors\nlow: write > error\nlow/write: submit > group > row\n\
                 low/write/group: watch > member\n```\n";
    let files = [
        file("crates/low/src/lib.rs", ""),
        file("crates/low/src/write/mod.rs", "pub use group::Member;"),
        file("crates/low/src/write/group.rs", "pub use watch::{Watch};"),
        file(&format!("crates/low/src/write/{path}"), text),
    ];
    check(table, &files, &[])
}

#[test]
fn arrows_inside_a_room_are_checked() {
    let count = |path, text| inner(path, text).len();
    for allowed in [
        "use super::group::A; use crate::write::row::B; use crate::error::C;",
        "use super::Member;",
        "use crate::write::{Member as M, submit};",
        "#[cfg(test)]\nmod tests { use super::*; use crate::write::attic; }",
    ] {
        assert_eq!(count("submit.rs", allowed), 0, "{allowed}");
    }
    for refused in [
        "use super::submit::A;",
        "use crate::write::submit::A;",
        "use super::Member;",
        "use super::*;",
        "use crate::write;",
        "use crate::write::Unknown;",
        "mod a { use super::super::group::A; }",
    ] {
        assert_eq!(count("row.rs", refused), 1, "{refused}");
    }
    assert_eq!(count("attic.rs", ""), 1);
    assert_eq!(inner("attic.rs", "")[0].line, 0);
}

#[test]
fn rooms_nest_as_deep_as_the_table_says() {
    let count = |path, text| inner(path, text).len();
    assert_eq!(count("group/watch.rs", "use super::member::A;"), 0);
    assert_eq!(count("group/member.rs", "use super::super::row::A;"), 0);
    assert_eq!(count("group/member.rs", "use super::Watch;"), 1);
    assert_eq!(
        count("group/member/part.rs", "use super::super::watch::A;"),
        1
    );
    // One use runs up inside `group`, and one runs up among the rooms of `write`.
    assert_eq!(
        count(
            "group/member.rs",
            "use super::watch::A;\nuse super::super::submit;"
        ),
        2
    );
}

#[test]
fn lines_of_the_same_name_are_alternatives() {
    let found = |text| {
        let table = "```floors\nlow: a > b > c\nlow: c > d\n```\n";
        let files = [
            file("crates/low/src/lib.rs", ""),
            file("crates/low/src/c.rs", text),
        ];
        check(table, &files, &[]).len()
    };
    assert_eq!(found("use crate::d;"), 0);
    assert_eq!(found("use crate::a;"), 1);
}

#[test]
fn floor_line_must_name_a_room_of_the_repository() {
    let found = |table: &str| check(table, &[file("crates/low/src/lib.rs", "")], &[]).len();
    assert_eq!(found("```floors\nlow: a > b\n```\n"), 0);
    assert_eq!(found("```floors\nlow/a: b > c\n```\n"), 1);
    assert_eq!(found("```floors\nhigh: a > b\n```\n"), 1);
}

#[test]
fn floors_bind_crates_too() {
    use DependencyKind::{Build, Development, Normal};
    let count = |packages: &[Package]| {
        let front = [file("crates/low/src/lib.rs", "")];
        check(TABLE, &front, packages).len()
    };
    assert_eq!(count(&[package("top", &[("low", Normal)])]), 0);
    assert_eq!(count(&[package("low", &[("top", Normal)])]), 1);
    assert_eq!(count(&[package("top", &[("side", Build)])]), 1);
    assert_eq!(count(&[package("top", &[("side", Development)])]), 0);
    assert_eq!(count(&[package("unknown", &[])]), 1);
}
