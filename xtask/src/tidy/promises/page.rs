//! A guide with a table of promises.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::tidy::promises::links;
use crate::tidy::promises::source::Claim;
use crate::workspace::File;

const START: &str = "<!-- promises ";
const END: &str = "<!-- end of promises -->";
const HEAD: &str = "| | Promise | Tests |\n|---|---|---|\n";

/// A guide.
pub(super) struct Page<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    /// The letters that its labels begin with.
    prefix: &'a str,
    /// The numbers of the labels in its text, each with the line of its first use.
    pub(super) labels: BTreeMap<usize, usize>,
    /// The rows of the table by the number of their label.
    pub(super) rows: BTreeMap<usize, Row<'a>>,
    /// The line of the marker before the table.
    pub(super) table_line: usize,
}

/// A row of the table.
pub(super) struct Row<'a> {
    /// The promise, as written by hand.
    pub(super) words: &'a str,
    pub(super) line: usize,
}

impl<'a> Page<'a> {
    /// Reads a guide; `None` if the file is not Markdown or has no table of promises.
    pub(super) fn of(file: &'a File) -> Option<Result<Self, Finding>> {
        if !file.has_extension("md") {
            return None;
        }
        let marker = |line: &'a str| line.strip_prefix(START)?.strip_suffix(" -->");
        let prefix = file.text.lines().find_map(marker)?;
        let mut page = Self {
            path: &file.path,
            text: &file.text,
            prefix,
            labels: BTreeMap::new(),
            rows: BTreeMap::new(),
            table_line: 0,
        };
        let (mut in_table, mut in_code, mut ended) = (false, false, false);
        for (text, line) in file.text.lines().zip(1..) {
            if text.trim_start().starts_with("```") {
                in_code = !in_code;
            } else if in_code {
            } else if marker(text).is_some() {
                in_table = true;
                page.table_line = line;
            } else if text == END {
                ended = in_table;
                in_table = false;
            } else if in_table {
                if let Some((number, words)) = row(text, prefix) {
                    page.rows.insert(number, Row { words, line });
                }
            } else {
                for number in labels(text, prefix) {
                    page.labels.entry(number).or_insert(line);
                }
            }
        }
        if ended {
            Some(Ok(page))
        } else {
            let message = format!("the table of promises does not end with `{END}`");
            Some(Err(Finding::error(&file.path, page.table_line, message)))
        }
    }

    /// The label with a number, such as `D3`.
    pub(super) fn label(&self, number: usize) -> String {
        format!("{}{number}", self.prefix)
    }

    /// The name of the promise in a test's comment, such as `durability#D3`.
    pub(super) fn promise(&self, number: usize) -> String {
        let name = self.path.rsplit('/').next().unwrap_or(self.path);
        let name = name.strip_suffix(".md").unwrap_or(name);
        format!("{name}#{}", self.label(number))
    }

    /// The page with a table made from its labels and the tests that name them.
    pub(super) fn blessed(&self, claims: &[Claim]) -> String {
        let links = links(claims, self.path.matches('/').count());
        let mut table = HEAD.to_owned();
        for &number in self.labels.keys() {
            let words = self.rows.get(&number).map_or("", |row| row.words);
            let tests = links.get(self.promise(number).as_str());
            let tests = tests.map(|tests| tests.join(", ")).unwrap_or_default();
            table.push_str(&format!("| {} | {words} | {tests} |\n", self.label(number)));
        }
        let mut lines = self.text.split_inclusive('\n');
        let mut text: String = lines.by_ref().take(self.table_line).collect();
        text.push_str(&table);
        text.extend(lines.skip_while(|line| line.trim_end() != END));
        text
    }
}

/// The number and the words of a row such as `| D3 | No commit is lost | .. |`.
fn row<'a>(text: &'a str, prefix: &str) -> Option<(usize, &'a str)> {
    let mut cells = text.strip_prefix('|')?.split('|');
    let number = number(cells.next()?.trim(), prefix)?;
    Some((number, cells.next()?.trim()))
}

/// The numbers of the labels in a line; `[D3](..)` is a link and not a label.
fn labels(text: &str, prefix: &str) -> Vec<usize> {
    let label = |rest: &str| {
        let (label, behind) = rest.split_once(']')?;
        let number = number(label, prefix)?;
        (!behind.starts_with('(')).then_some(number)
    };
    text.split('[').skip(1).filter_map(label).collect()
}

fn number(label: &str, prefix: &str) -> Option<usize> {
    let digits = label.strip_prefix(prefix)?;
    let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}
