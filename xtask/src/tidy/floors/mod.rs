//! Rooms and floors: which module may use which.
//!
//! The table is the fenced block `floors` of `ARCHITECTURE.md`. A line `name: a > b | c > d` puts
//! `a` above `b` and `c`, and these above `d`; `b` and `c` may not use each other. A room may use
//! rooms on lower floors only. `name` is one of these:
//!
//! - `crates`: the rooms are the published crates;
//! - a crate, such as `dflat-engine`: the rooms are its top-level modules;
//! - a crate and a module, such as `dflat-engine/transaction` or `dflat-engine/transaction/group`:
//!   the rooms are the modules inside that module.
//!
//! Several lines with the same name are alternatives: one of them must allow each use. The front of
//! the rooms (`lib.rs`, `main.rs`, `mod.rs` or `transaction.rs`) declares and re-exports them and
//! is on no floor; a name that it re-exports counts as a name of the room that it comes from, and
//! may be used anywhere if it comes from another crate. Tests and `$crate` in macros are not
//! checked.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::rust::{Token, scopes, tokens, use_tree};
use crate::tidy::architecture;
use crate::workspace::{DependencyKind, File, Package};

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The crate or module that contains its rooms, or `crates`.
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
    let inside = table.iter().filter(|chain| chain.name != "crates");
    let names: BTreeSet<&str> = inside.map(|chain| chain.name.as_str()).collect();
    for name in names {
        let same_name = table.iter().filter(|chain| chain.name == name);
        let chains: Vec<_> = same_name.collect();
        match House::find(name, &chains, files) {
            Some(house) => findings.extend(house.check(files)),
            None => {
                let message = format!("`{name}` has no `lib.rs`, `main.rs` or `mod.rs`");
                findings.push(Finding::error(architecture::PATH, chains[0].line, message));
            }
        }
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

/// A crate, or a module of one, whose modules are rooms.
struct House<'a> {
    chains: &'a [&'a Chain],
    /// The folder of the crate's sources, with a `/` at the end.
    source: String,
    /// The modules that lead from the crate's root to it; none for a crate.
    path: Vec<&'a str>,
    /// The rooms of the names that its front re-exports.
    reexports: BTreeMap<String, String>,
}

impl<'a> House<'a> {
    fn find(name: &'a str, chains: &'a [&'a Chain], files: &[File]) -> Option<Self> {
        let mut names = name.split('/');
        let source = format!("crates/{}/src/", names.next()?);
        let path: Vec<_> = names.collect();
        let module = path.join("/");
        let fronts = if path.is_empty() {
            vec![format!("{source}lib.rs"), format!("{source}main.rs")]
        } else {
            vec![
                format!("{source}{module}/mod.rs"),
                format!("{source}{module}.rs"),
            ]
        };
        let front = files.iter().find(|file| fronts.contains(&file.path))?;
        Some(Self {
            reexports: reexports(&front.text, &path),
            chains,
            source,
            path,
        })
    }

    /// The modules from the crate's root to a file inside, its own included.
    fn modules<'f>(&self, file: &'f File) -> Option<Vec<&'f str>> {
        let checked = file.has_extension("rs") && !file.is_test();
        let modules = module_path(file.path.strip_prefix(&self.source).filter(|_| checked)?);
        (modules.len() > self.path.len() && modules.starts_with(&self.path)).then_some(modules)
    }

    fn check(&self, files: &[File]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for file in files {
            let Some(modules) = self.modules(file) else {
                continue;
            };
            let room = modules[self.path.len()];
            if !self.has(room) {
                let message = format!("the module `{room}` is not in the floor table");
                findings.push(Finding::error(&file.path, 0, message));
                continue;
            }
            for (target, line) in arrows(&file.text, &modules) {
                if let Some(message) = self.refusal(room, &target) {
                    findings.push(Finding::error(&file.path, line, message));
                }
            }
        }
        findings
    }

    fn has(&self, room: &str) -> bool {
        self.chains.iter().any(|chain| chain.floor(room).is_some())
    }

    /// Why a room may not use a path, given from the crate's root.
    fn refusal(&self, from: &str, target: &[String]) -> Option<String> {
        let inner = inside(target, &self.path)?;
        let table = architecture::PATH;
        let Some(name) = inner.first() else {
            let house = self.path.join("::");
            return Some(format!("`{from}` uses all of `{house}`: name the room"));
        };
        let reexport = self.reexports.get(name).filter(|_| !self.has(name));
        let to = reexport.unwrap_or(name);
        if reexport.is_some() && !self.has(to) {
            // The line `crates` covers uses of other crates.
            return None;
        }
        if to == from || self.chains.iter().any(|chain| chain.allows(from, to)) {
            return None;
        }
        if !self.has(to) {
            let full = target.join("::");
            return Some(format!("`crate::{full}` is in no room of the floor table"));
        }
        let same_floor = |chain: &&Chain| {
            chain
                .floor(from)
                .is_some_and(|floor| chain.floor(to) == Some(floor))
        };
        let direction = if self.chains.iter().any(same_floor) {
            "sideways"
        } else {
            "up"
        };
        Some(format!(
            "`{from}` uses `{to}`, which runs {direction}: see the floor table in {table}"
        ))
    }
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

/// The rooms of the names that a front, the module `path` of its crate, re-exports.
fn reexports(front: &str, path: &[&str]) -> BTreeMap<String, String> {
    let tokens = tokens(front);
    let mut rooms = BTreeMap::new();
    for at in 0..tokens.len() {
        if tokens[at].is("use") {
            for item in use_tree(&tokens[at + 1..]).0 {
                let inner = match item.path[0].as_str() {
                    "self" => &item.path[1..],
                    "crate" => match inside(&item.path[1..], path) {
                        Some(inner) => inner,
                        None => continue,
                    },
                    _ => &item.path[..],
                };
                if inner.len() > 1 {
                    rooms.insert(item.name, inner[0].clone());
                }
            }
        }
    }
    rooms
}

/// The rest of a path that begins with the module `house`.
fn inside<'p>(path: &'p [String], house: &[&str]) -> Option<&'p [String]> {
    let (head, tail) = path.split_at_checked(house.len())?;
    (head == house).then_some(tail)
}

/// The paths, from the crate's root, that the code of the module `modules` refers to.
fn arrows(source: &str, modules: &[&str]) -> Vec<(Vec<String>, usize)> {
    let all = tokens(source);
    let all_scopes = scopes(&all);
    let kept = |at: &usize| all[*at].kind != crate::rust::Kind::Comment;
    let kept: Vec<_> = (0..all.len()).filter(kept).collect();
    let tokens: Vec<Token<'_>> = kept.iter().map(|&at| all[at]).collect();
    let mut arrows = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let scope = all_scopes[kept[at]];
        if at > 0 && tokens[at - 1].is("$") {
            // `$crate` in a macro may be the crate of the macro's caller.
            at += 1;
            continue;
        }
        // Inline modules have no name here: no path can lead into one.
        let inline = vec![""; scope.modules];
        let Some((base, length)) = root_prefix(&tokens[at..], &[modules, &inline].concat()) else {
            at += 1;
            continue;
        };
        if !scope.test {
            let (items, _) = use_tree(&tokens[at + length..]);
            let named = items.into_iter().filter(|item| !item.path.is_empty());
            arrows.extend(named.map(|item| ([base.clone(), item.path].concat(), item.line)));
        }
        at += length;
    }
    arrows
}

/// The module that `crate::` or some `super::` in the module `modules` lead to, and how many
/// tokens these are.
fn root_prefix(tokens: &[Token<'_>], modules: &[&str]) -> Option<(Vec<String>, usize)> {
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.is(text));
    if is(0, "crate") && is(1, "::") {
        return Some((Vec::new(), 2));
    }
    let mut count = 0;
    while is(count * 2, "super") && is(count * 2 + 1, "::") {
        count += 1;
    }
    let left = modules.len().saturating_sub(count);
    let base = modules[..left].iter().map(|&name| name.to_owned());
    (count > 0).then(|| (base.collect(), count * 2))
}

#[cfg(test)]
mod tests;
