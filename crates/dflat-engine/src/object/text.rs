//! Checks that bytes are UTF-8.
//!
//! Most strings of objects are short and pure ASCII. The standard library checks most bytes of such
//! a string one by one, which takes 90 instructions for nine bytes. Checking them by words of eight
//! bytes takes 20 (`a short text` in `benches/predicates`).
#![allow(
    unsafe_code,
    reason = "no safe function makes a string of bytes known to be ASCII"
)]

use super::Malformed;

/// The bytes as a string.
///
/// # Errors
/// If they are not UTF-8.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    if is_ascii(bytes) {
        // SAFETY: Every byte is below 128, and each such byte is a character in UTF-8.
        return Ok(unsafe { str::from_utf8_unchecked(bytes) });
    }
    str::from_utf8(bytes).map_err(|_| Malformed)
}

/// Whether each byte is below 128.
#[inline]
fn is_ascii(bytes: &[u8]) -> bool {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    let (words, rest) = bytes.as_chunks::<8>();
    let any = words
        .iter()
        .fold(0, |any, word| any | u64::from_le_bytes(*word));
    // The last word overlaps the one before, which saves checking the rest byte by byte.
    let end = match (bytes.last_chunk::<8>(), rest) {
        (Some(end), _) => u64::from_le_bytes(*end),
        (None, rest) => rest.iter().fold(0, |any, byte| any | u64::from(*byte)),
    };
    (any | end) & HIGH_BITS == 0
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn bytes_are_text_exactly_if_the_standard_library_accepts_them() {
        for length in 0..40 {
            let plain = vec![b'a'; length];
            assert_eq!(text(&plain), Ok("a".repeat(length).as_str()));
            for place in 0..length {
                for byte in [0, 127, 128, 0xC3, 0xFF] {
                    let mut bytes = plain.clone();
                    bytes[place] = byte;
                    assert_eq!(text(&bytes).ok(), str::from_utf8(&bytes).ok(), "{bytes:?}");
                }
                let mut umlaut = plain.clone();
                umlaut.splice(place..=place, "ä".bytes());
                assert_eq!(text(&umlaut).ok(), str::from_utf8(&umlaut).ok());
                assert!(text(&umlaut).is_ok());
            }
        }
    }
}
