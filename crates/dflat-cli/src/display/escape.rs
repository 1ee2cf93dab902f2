//! Text of a file, made harmless for a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character could control a terminal, change the direction of the text around it, or
/// hide in it. The joiners U+200C and U+200D are part of Persian words and of families of emoji.
pub(crate) fn controls_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61C}' | '\u{200B}' | '\u{200E}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

/// The text with an escape, such as `\n` or `\u{1b}`, in place of each character that could control
/// a terminal.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(controls_terminal) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if controls_terminal(c) => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn text_that_could_control_a_terminal_is_escaped() {
        assert_eq!(escaped("größe 日本 😀"), "größe 日本 😀");
        // A family of emoji, a heart in colour, and a Persian word with a joiner.
        let joined = "👨\u{200d}👩\u{200d}👧 ❤\u{fe0f} می\u{200c}خواهم";
        assert_eq!(escaped(joined), joined);
        assert_eq!(escaped("a\u{200b}b\u{200f}"), "a\\u{200b}b\\u{200f}");
        assert_eq!(escaped("a\u{1b}[2Jb\n\t\r"), "a\\u{1b}[2Jb\\n\\t\\r");
        assert_eq!(
            escaped("\u{9b}1m\u{202e}\u{7f}\0"),
            "\\u{9b}1m\\u{202e}\\u{7f}\\u{0}"
        );
    }
}
