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
        if is_plain(fragment.as_bytes()) {
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

/// Whether all bytes are below 0x7F. JSON itself escapes the control characters among these.
fn is_plain(bytes: &[u8]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    // Each byte that is not plain has the highest bit, or gets it by an addition of one. Only a
    // byte that has it can carry into the next one.
    let high = |word: &[u8; 8]| {
        let word = u64::from_ne_bytes(*word);
        (word | word.wrapping_add(ONES)) & HIGH
    };
    let Some(last) = bytes.last_chunk() else {
        return bytes.iter().all(|byte| *byte < 0x7F);
    };
    let (words, _) = bytes.as_chunks();
    words.iter().fold(high(last), |all, word| all | high(word)) == 0
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
    use super::{is_plain, write_json};

    #[test]
    fn bytes_above_the_tilde_are_not_plain_wherever_they_stand() {
        for length in 0..20 {
            let mut text = vec![b'~'; length];
            assert!(is_plain(&text));
            for place in 0..length {
                for byte in [0x7F, 0x80, 0xC3, 0xFF] {
                    text[place] = byte;
                    assert!(!is_plain(&text), "{byte} at {place} of {length}");
                }
                text[place] = b' ';
            }
        }
    }

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
