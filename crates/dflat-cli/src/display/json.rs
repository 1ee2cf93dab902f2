//! JSON whose text cannot control a terminal.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::ser::Formatter;

use super::escape::controls_terminal;

/// Writes a value as compact JSON on one line, without a line break at the end. Characters that
/// could control a terminal are escaped, which does not change their meaning in JSON.
pub(crate) fn write_json<W: Write, T: Serialize + ?Sized>(
    out: W,
    value: &T,
) -> serde_json::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(out, Harmless);
    value.serialize(&mut serializer)
}

/// Escapes characters beyond those that JSON requires to be escaped.
struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // Most text is plain, and bytes are looked at faster than characters.
        if fragment.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut rest = fragment;
        while let Some(position) = rest.find(controls_terminal) {
            let (before, after) = rest.split_at(position);
            writer.write_all(before.as_bytes())?;
            let mut chars = after.chars();
            // All such characters are below U+10000.
            if let Some(c) = chars.next() {
                write!(writer, "\\u{:04x}", u32::from(c))?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

/// The entries of a JSON object, in order.
pub(crate) struct Entries<'a>(pub(crate) &'a [(&'a str, serde_json::Value)]);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::write_json;

    #[test]
    fn escapes_keep_the_meaning_of_json() {
        let text = "a\u{9b}31m\u{202e}b\u{1b}\"ü";
        let mut out = Vec::new();
        write_json(&mut out, text).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out, r#""a\u009b31m\u202eb\u001b\"ü""#);
        assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
    }
}
