//! The list of the public items of the crate `dflat`. With the list, every change of the public
//! interface is visible in a review.
//!
//! The list is made from the text of the sources: each `pub` item is public, because the lint
//! `unreachable_pub` forbids the word elsewhere. Items that come from another crate of the
//! workspace are listed with their members. The folders `codegen` and `codec`, which serve
//! generated code, are left out, as are hidden items and implementations of traits.

mod item;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::finding::Finding;
use crate::tidy::public_items::item::Item;
use crate::workspace::File;

/// The path of the list.
pub const PATH: &str = "docs/public-api.txt";

const TITLE: &str =
    "# Public items of the crate `dflat`, as `cargo xtask tidy --bless` writes them.\n";

/// Makes the list.
pub fn listing(files: &[File]) -> String {
    let own = items(files, "dflat");
    let mut text = TITLE.to_owned();
    text.push_str(&render(own.iter().filter(|item| item.origin.is_none())));
    let mut foreign: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for item in &own {
        if let Some((origin, name)) = &item.origin {
            foreign.entry(origin).or_default().insert(name);
        }
    }
    for (origin, names) in foreign {
        let package = origin.replace('_', "-");
        let theirs = items(files, &package);
        let chosen = |item: &&Item| {
            item.origin.is_none() && (names.contains(item.owner.as_str()) || names.contains("*"))
        };
        // Writing to a string can't fail.
        let _ = write!(text, "\n# From `{package}`.\n");
        text.push_str(&render(theirs.iter().filter(chosen)));
        let unknown = |name: &&&str| !theirs.iter().any(|item| item.owner == **name);
        for name in names.iter().filter(unknown) {
            let _ = writeln!(text, "pub use {origin}::{name}");
        }
    }
    text
}

fn items(files: &[File], package: &str) -> Vec<Item> {
    let source = format!("crates/{package}/src/");
    files
        .iter()
        .filter(|file| file.path.starts_with(&source) && file.has_extension("rs"))
        .filter(|file| {
            !file.path.contains("/src/codegen/")
                && !file.path.contains("/src/codec/")
                && !file.is_test()
        })
        .flat_map(|file| item::items(&file.text))
        .collect()
}

/// The items by owner; members without an owner in the list are not public.
fn render<'a>(items: impl Iterator<Item = &'a Item>) -> String {
    let mut owners: BTreeMap<&str, (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
    for item in items {
        let (heads, members) = owners.entry(&item.owner).or_default();
        let lines = if item.member { members } else { heads };
        lines.insert(&item.text);
    }
    let mut text = String::new();
    for (heads, members) in owners.into_values().filter(|(heads, _)| !heads.is_empty()) {
        for head in heads {
            text.push_str(head);
            text.push('\n');
        }
        for member in members {
            text.push_str("    ");
            text.push_str(member);
            text.push('\n');
        }
    }
    text
}

/// Compares the list in the repository with the generated one.
pub fn compare(kept: &str, made: &str) -> Vec<Finding> {
    let missing = |from: &str, text: &str, what: &str| -> Vec<Finding> {
        let known: BTreeSet<_> = from.lines().collect();
        let lines = text
            .lines()
            .zip(1..)
            .filter(|(line, _)| !known.contains(line));
        lines
            .map(|(line, number)| {
                let message = format!(
                    "{what}: `{}`; `cargo xtask tidy --bless` lists it",
                    line.trim()
                );
                Finding::error(PATH, number, message)
            })
            .collect()
    };
    let mut findings = missing(kept, made, "a new public item");
    findings.extend(missing(made, kept, "no public item"));
    if findings.is_empty() && kept != made {
        findings.push(Finding::error(
            PATH,
            0,
            "out of order: run `cargo xtask tidy --bless`",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{TITLE, compare, listing};
    use crate::workspace::File;

    fn file(path: &str, text: &str) -> File {
        File {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn items_are_listed_with_their_members() {
        let files = [
            file(
                "crates/dflat/src/lib.rs",
                "mod a; pub use a::A; pub use dflat_engine::{Error, Lost};",
            ),
            file(
                "crates/dflat/src/a.rs",
                "pub struct A<T> { pub x: Map<T, u8>, y: u8 }\n\
                 impl<T: B<T>> A<T> {\n /// Doc.\n pub fn f(\n  &self,\n ) -> u8 { 1 }\n fn g() {} }\n\
                 impl<T> Clone for A<T> { fn clone(&self) -> Self { pub fn no() {} } }\n\
                 impl Hidden { pub fn h() {} }\n\
                 #[doc(hidden)] pub fn i() {}\n#[cfg(test)] mod tests { pub fn j() {} }",
            ),
            file("crates/dflat/src/codegen/mod.rs", "pub fn k() {}"),
            file(
                "crates/dflat-engine/src/error.rs",
                "pub enum Error { #[x] A, B(u8, u8), C { d: u8 } = 3 } pub struct Other;",
            ),
        ];
        let expected = "pub struct A<T>\n    pub fn f(&self) -> u8\n    pub x: Map<T, u8>\n\n\
                        # From `dflat-engine`.\npub enum Error\n    A\n    B(u8, u8)\n    \
                        C { d: u8 } = 3\npub use dflat_engine::Lost\n";
        assert_eq!(listing(&files), format!("{TITLE}{expected}"));
    }

    #[test]
    fn differences_are_found_both_ways() {
        assert_eq!(compare("a\nb\n", "a\nb\n"), []);
        assert_eq!(compare("a\n", "a\nb\n").len(), 1);
        assert_eq!(compare("a\nb\n", "a\n").len(), 1);
        assert_eq!(compare("b\na\n", "a\nb\n").len(), 1);
    }
}
