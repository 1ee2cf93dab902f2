//! Promises of the guides, and the tests that check them.
//!
//! A guide marks a promise with a label, as in `No commit is lost. [D3]`, and ends with a table
//! between the lines `<!-- promises D -->` and `<!-- end of promises -->`. A row of the table has a
//! label, the promise in a few words, and the tests that check it. A test names its promise in a
//! comment above it, `// Promise: durability#D3`. So a test can be renamed or moved without a
//! change of the guide's text. `cargo xtask tidy --bless` writes the labels and the tests of the
//! table; the words of the promise are written by hand and are kept.

mod page;
mod source;

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::tidy::promises::page::Page;
use crate::tidy::promises::source::Claim;
use crate::workspace::File;

/// The minimum and maximum number of words of a promise in the table.
const WORDS: std::ops::RangeInclusive<usize> = 3..=14;

const REMEDY: &str = "`cargo xtask tidy --bless` writes the table";

/// The pages whose table differs from the sources, with their new text.
pub fn blessed(files: &[File]) -> Vec<File> {
    let claims = claims(files).0;
    let pages = files.iter().filter_map(|file| {
        let page = Page::of(file)?.ok()?;
        let text = page.blessed(&claims);
        (text != file.text).then(|| File {
            path: file.path.clone(),
            text,
        })
    });
    pages.collect()
}

/// Finds labels without a row or a test, tables that are out of date, and comments that name no
/// known promise or are not above a test.
pub fn check(files: &[File]) -> Vec<Finding> {
    let (claims, mut findings) = claims(files);
    let mut known = BTreeSet::new();
    for file in files {
        let page = match Page::of(file) {
            None => continue,
            Some(Err(finding)) => {
                findings.push(finding);
                continue;
            }
            Some(Ok(page)) => page,
        };
        findings.extend(check_page(&page, &claims));
        let labels = page.labels.keys();
        known.extend(labels.map(|&number| page.promise(number)));
    }
    let unknown = claims
        .iter()
        .filter(|claim| !known.contains(&claim.promise));
    findings.extend(unknown.map(|claim| {
        let message = format!("no guide has the promise `{}`", claim.promise);
        Finding::error(&claim.path, claim.line, message)
    }));
    findings
}

fn check_page(page: &Page<'_>, claims: &[Claim]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let held: BTreeSet<&str> = claims.iter().map(|claim| claim.promise.as_str()).collect();
    for (&number, &line) in &page.labels {
        let promise = page.promise(number);
        let label = page.label(number);
        if !held.contains(promise.as_str()) {
            let message = format!("no test has the comment `// Promise: {promise}`");
            findings.push(Finding::error(page.path, line, message));
        }
        match page.rows.get(&number) {
            None => {
                let message = format!("`{label}` is not in the table: {REMEDY}");
                findings.push(Finding::error(page.path, line, message));
            }
            Some(row) if !WORDS.contains(&row.words.split_whitespace().count()) => {
                let (least, most) = (WORDS.start(), WORDS.end());
                let message = format!("say the promise `{label}` in {least} to {most} words");
                findings.push(Finding::error(page.path, row.line, message));
            }
            Some(_) => {}
        }
    }
    for (&number, row) in &page.rows {
        if !page.labels.contains_key(&number) {
            let message = format!("the text has no `[{}]`: {REMEDY}", page.label(number));
            findings.push(Finding::error(page.path, row.line, message));
        }
    }
    if findings.is_empty() && page.blessed(claims) != page.text {
        let message = format!("the table is out of date: {REMEDY}");
        findings.push(Finding::error(page.path, page.table_line, message));
    }
    findings
}

fn claims(files: &[File]) -> (Vec<Claim>, Vec<Finding>) {
    let mut claims = Vec::new();
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.has_extension("rs")) {
        let (found, wrong) = source::claims(file);
        claims.extend(found);
        findings.extend(wrong);
    }
    (claims, findings)
}

/// The tests of each promise, as links from a page `depth` folders below the root.
fn links(claims: &[Claim], depth: usize) -> BTreeMap<&str, Vec<String>> {
    let mut links: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for claim in claims {
        let up = "../".repeat(depth);
        let link = format!("[`{}`]({up}{})", claim.test, claim.path);
        links.entry(&claim.promise).or_default().push(link);
    }
    links
}

#[cfg(test)]
mod tests;
