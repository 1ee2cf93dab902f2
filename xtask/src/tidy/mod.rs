//! `cargo xtask tidy`: the rules of `ARCHITECTURE.md` and `CONTRIBUTING.md` that a program can
//! check.

pub mod architecture;
pub mod columns;
pub mod counts_table;
pub mod dependencies;
pub mod documented_paths;
pub mod floors;
pub mod folders;
pub mod glossary;
pub mod machine_paths;
pub mod markdown;
pub mod module_tree;
pub mod promises;
pub mod public_items;
pub mod sentences;
pub mod source_files;
pub mod tuples;
pub mod unsafe_code;

use std::fs;
use std::path::Path;

use crate::Result;
use crate::finding::Finding;
use crate::workspace::{self, File};

/// Whether to compare generated files with those in the repository, or to rewrite them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Compare.
    Check,
    /// Rewrite.
    Bless,
}

/// Runs every check over the repository at `root`.
///
/// # Errors
/// An error if files can't be read or written, or if Cargo rejects a manifest.
pub fn run(root: &Path, mode: Mode) -> Result<Vec<Finding>> {
    let mut files = workspace::files(root)?;
    let public_items = public_items::listing(&files);
    if mode == Mode::Bless {
        fs::create_dir_all(root.join("docs"))?;
        fs::write(root.join(public_items::PATH), &public_items)?;
        for page in promises::blessed(&files) {
            fs::write(root.join(&page.path), page.text)?;
        }
        files = workspace::files(root)?;
        if let Some(page) = counts_table::blessed(&files) {
            fs::write(root.join(&page.path), page.text)?;
            files = workspace::files(root)?;
        }
    }
    let packages = workspace::packages(root)?;
    let architecture = text_of(&files, architecture::PATH);
    let mut findings = Vec::new();
    findings.extend(floors::check(architecture, &files, &packages));
    findings.extend(unsafe_code::check(architecture, &files));
    findings.extend(dependencies::check(architecture, &packages));
    findings.extend(public_items::compare(
        text_of(&files, public_items::PATH),
        &public_items,
    ));
    findings.extend(documented_paths::check(&files));
    findings.extend(promises::check(&files));
    findings.extend(counts_table::check(&files));
    findings.extend(glossary::check(architecture, &files));
    findings.extend(folders::check(&files));
    findings.extend(module_tree::check(&files));
    for file in &files {
        findings.extend(source_files::check(file));
        findings.extend(markdown::check(file));
        findings.extend(machine_paths::check(file));
        findings.extend(sentences::check(file));
        findings.extend(tuples::check(file));
    }
    findings.sort();
    Ok(findings)
}

fn text_of<'a>(files: &'a [File], path: &str) -> &'a str {
    files
        .iter()
        .find(|file| file.path == path)
        .map_or("", |file| &file.text)
}
