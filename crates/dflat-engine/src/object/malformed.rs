//! The refusal of bytes that no schema allows.

/// The bytes are not what the schema says: an offset leaves the buffer, or text is not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;
