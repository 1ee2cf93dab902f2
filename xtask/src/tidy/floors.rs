//! Rooms and floors: who may use whom.
//!
//! The table is the fenced block `floors` of `ARCHITECTURE.md`. A line `name: a > b | c > d` says
//! that `a` stands above `b` and `c`, which may not use each other, and these above `d`. A room may
//! use rooms on lower floors only. `name` is a crate, whose top-level modules the rooms are, or
//! `crates`, whose rooms are the published crates; several lines of the same name are read side by
//! side, and an arrow must run down one of them. Tests are not bound by the table.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::rust::{Token, UseItem, scopes, tokens, use_tree};
use crate::tidy::architecture;
use crate::workspace::{DependencyKind, File, Package};

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// What its rooms are parts of.
    pub name: String,
    /// Rooms by floor, top down.
    pub floors: Vec<Vec<String>>,
    /// Its line in the document.
    pub line: usize,
}

impl Chain {
    fn floor(&self, room: &str) -> Option<usize> {
        self.floors
            .iter()
            .position(|rooms| rooms.iter().any(|name| name == room))
    }

    fn allows(&self, from: &str, to: &str) -> bool {
        match (self.floor(from), self.floor(to)) {
            (Some(from), Some(to)) => from < to,
            _ => false,
        }
    }
}

/// Reads the table; `None` without one.
pub fn table(architecture: &str) -> Option<Vec<Chain>> {
    let block = architecture::block(architecture, "floors")?;
    Some(block.into_iter().filter_map(chain).collect())
}

fn chain((line, text): (usize, &str)) -> Option<Chain> {
    let (name, chain) = text.split_once(':')?;
    let rooms = |floor: &str| -> Vec<String> {
        floor
            .split(['|', ','])
            .map(|room| room.trim().to_owned())
            .collect()
    };
    Some(Chain {
        name: name.trim().to_owned(),
        floors: chain.split('>').map(rooms).collect(),
        line,
    })
}

/// Compares modules and crates with the table.
pub fn check(architecture: &str, files: &[File], packages: &[Package]) -> Vec<Finding> {
    let Some(table) = table(architecture) else {
        let message = "there is no fenced block `floors`";
        return vec![Finding::error(architecture::PATH, 0, message)];
    };
    let mut findings = crates(&table, packages);
    for chain in table.iter().filter(|chain| chain.name != "crates") {
        findings.extend(modules(chain, files));
    }
    findings
}

fn crates(table: &[Chain], packages: &[Package]) -> Vec<Finding> {
    let chains: Vec<_> = table
        .iter()
        .filter(|chain| chain.name == "crates")
        .collect();
    let mut findings = Vec::new();
    for package in packages.iter().filter(|package| package.published) {
        let manifest = format!("crates/{}/Cargo.toml", package.name);
        if !chains
            .iter()
            .any(|chain| chain.floor(&package.name).is_some())
        {
            let message = format!("`{}` is not in the floor table", package.name);
            findings.push(Finding::error(&manifest, 0, message));
            continue;
        }
        for dependency in &package.dependencies {
            let bound = dependency.kind != DependencyKind::Development && !dependency.external;
            let allowed = || {
                let mut chains = chains.iter();
                chains.any(|chain| chain.allows(&package.name, &dependency.name))
            };
            if bound && !allowed() {
                let message = format!(
                    "`{}` may not depend on `{}`: see the floor table in {}",
                    package.name,
                    dependency.name,
                    architecture::PATH
                );
                findings.push(Finding::error(&manifest, 0, message));
            }
        }
    }
    findings
}

fn modules(chain: &Chain, files: &[File]) -> Vec<Finding> {
    let source = format!("crates/{}/src/", chain.name);
    let Some(front) = files
        .iter()
        .find(|file| file.path == format!("{source}lib.rs"))
    else {
        let message = format!("`{}` is no crate with a `lib.rs`", chain.name);
        return vec![Finding::error(architecture::PATH, chain.line, message)];
    };
    let reexports = reexports(&front.text);
    let mut findings = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.has_extension("rs") && !file.is_test())
    {
        let Some(module) = file.path.strip_prefix(&source) else {
            continue;
        };
        let path = module_path(module);
        let Some(room) = path.first() else {
            continue;
        };
        if chain.floor(room).is_none() {
            let message = format!("the module `{room}` is not in the floor table");
            findings.push(Finding::error(&file.path, 0, message));
            continue;
        }
        for (target, line) in arrows(&file.text, path.len()) {
            let to = reexports.get(&target).unwrap_or(&target);
            if to != room && !chain.allows(room, to) {
                findings.push(Finding::error(&file.path, line, refusal(chain, room, to)));
            }
        }
    }
    findings
}

fn refusal(chain: &Chain, from: &str, to: &str) -> String {
    let direction = match (chain.floor(from), chain.floor(to)) {
        (Some(from), Some(to)) if from == to => "sideways",
        (_, Some(_)) => "up",
        (_, None) => return format!("`crate::{to}` is no room of the floor table"),
    };
    let path = architecture::PATH;
    format!("`{from}` uses `{to}`, which runs {direction}: see the floor table in {path}")
}

/// The modules of a file below `src`, such as `["storage", "memory"]`; none for `lib.rs`.
fn module_path(file: &str) -> Vec<&str> {
    let mut path: Vec<_> = file.trim_end_matches(".rs").split('/').collect();
    if path
        .last()
        .is_some_and(|last| ["mod", "lib", "main"].contains(last))
    {
        path.pop();
    }
    path
}

/// The rooms that the names that the front door re-exports come from.
fn reexports(front: &str) -> BTreeMap<String, String> {
    let tokens = tokens(front);
    let mut rooms = BTreeMap::new();
    for at in 0..tokens.len() {
        if tokens[at].is("use") {
            for UseItem { path, name, .. } in use_tree(&tokens[at + 1..]).0 {
                let start = usize::from(matches!(path[0].as_str(), "crate" | "self"));
                if path.len() > start + 1 {
                    rooms.insert(name, path[start].clone());
                }
            }
        }
    }
    rooms
}

/// The names in the crate's root that the code of a file, `depth` modules below it, refers to.
fn arrows(source: &str, depth: usize) -> Vec<(String, usize)> {
    let all = tokens(source);
    let all_scopes = scopes(&all);
    let kept = |at: &usize| all[*at].kind != crate::rust::Kind::Comment;
    let kept: Vec<_> = (0..all.len()).filter(kept).collect();
    let tokens: Vec<Token<'_>> = kept.iter().map(|&at| all[at]).collect();
    let mut arrows = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let scope = all_scopes[kept[at]];
        let Some(length) = root_prefix(&tokens[at..], depth + scope.modules) else {
            at += 1;
            continue;
        };
        if !scope.test {
            let (items, _) = use_tree(&tokens[at + length..]);
            let named = items.into_iter().filter(|item| !item.path.is_empty());
            arrows.extend(named.map(|item| (item.path[0].clone(), item.line)));
        }
        at += length;
    }
    arrows
}

/// The number of tokens of `crate::`, or of as many `super::` as lead to the crate's root.
fn root_prefix(tokens: &[Token<'_>], depth: usize) -> Option<usize> {
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.is(text));
    if is(0, "crate") && is(1, "::") {
        return Some(2);
    }
    let mut count = 0;
    while is(count * 2, "super") && is(count * 2 + 1, "::") {
        count += 1;
    }
    (count > 0 && count >= depth).then_some(count * 2)
}

#[cfg(test)]
mod tests {
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
        let front = "pub use error::{Error, Kind as Sort};";
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

    #[test]
    fn crates_are_bound_too() {
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
}
