//! Lines that are too long to read.

use crate::finding::Finding;
use crate::rust::{Kind, Token};
use crate::workspace::File;

/// The maximum number of characters in a line of Rust, including comments.
pub const COLUMNS_MAX: usize = 100;

/// Finds the lines of a Rust file that are longer than this. A line that contains an address, or a
/// text literal that crosses the limit, may be longer.
pub fn check(file: &File, tokens: &[Token<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut start = 0;
    for (line, number) in file.text.split_inclusive('\n').zip(1..) {
        let text = line.trim_end();
        let columns = text.chars().count();
        let unbreakable = |token: &Token<'_>| {
            token.kind == Kind::Text
                && token.start <= start + COLUMNS_MAX
                && token.end() >= start + COLUMNS_MAX
        };
        let address = text.contains("https://");
        if columns > COLUMNS_MAX && !address && !tokens.iter().any(unbreakable) {
            let message = format!("{columns} columns; at most {COLUMNS_MAX} are allowed");
            findings.push(Finding::error(&file.path, number, message));
        }
        start += line.len();
    }
    findings
}
