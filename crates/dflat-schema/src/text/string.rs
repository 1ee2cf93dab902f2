//! Strings of the schema language.

use std::fmt::Write as _;

/// Whether a character changes the direction of the text around it, or hides in it. The joiners
/// U+200C and U+200D belong to words and emoji.
const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{61C}' | '\u{200B}' | '\u{200E}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

/// A string of the schema language.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() || is_invisible(c) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
