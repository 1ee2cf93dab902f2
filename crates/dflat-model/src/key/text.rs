//! Texts as bytes whose order is that of the texts, and that end before the next value begins.
//!
//! A byte 0 of the text is followed by ff, and a byte 0 that is not ends the text. The first byte
//! of the next value is below ff.

use std::borrow::Cow;

use super::tag;

const END: u8 = 0;
const ESCAPE: u8 = 0xff;

pub(super) fn append(text: &str, bytes: &mut Vec<u8>) {
    bytes.push(tag::TEXT);
    for (place, part) in text.as_bytes().split(|byte| *byte == END).enumerate() {
        if place > 0 {
            bytes.extend([END, ESCAPE]);
        }
        bytes.extend_from_slice(part);
    }
    bytes.push(END);
}

/// Takes a text whose first byte has been taken.
pub(super) fn take(rest: &mut &[u8]) -> Option<Cow<'static, str>> {
    let mut text = Vec::new();
    loop {
        let end = rest.iter().position(|byte| *byte == END)?;
        let (part, after) = rest.split_at_checked(end)?;
        text.extend_from_slice(part);
        *rest = after.split_first()?.1;
        match rest.split_first() {
            Some((&ESCAPE, after)) => {
                text.push(END);
                *rest = after;
            }
            _ => return String::from_utf8(text).ok().map(Cow::Owned),
        }
    }
}
