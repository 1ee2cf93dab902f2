//! Conflicts of a merge.

use std::fmt;

use dflat_model::Value;

/// An object for which a merge needs a decision.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ObjectConflict {
    /// The name of the table in the file.
    pub table: String,
    /// The name of the type.
    pub type_name: String,
    /// The primary key.
    pub key: Vec<Value>,
    /// Why a decision is needed.
    pub reason: ConflictReason,
    /// The fields that differ between both, if the reason is about fields.
    pub fields: Vec<String>,
    /// The object before both changes; `None` if there was none.
    pub base: Option<Vec<u8>>,
    /// Our object; `None` if there is none.
    pub ours: Option<Vec<u8>>,
    /// Their object; `None` if there is none.
    pub theirs: Option<Vec<u8>>,
    /// The encoded key.
    pub(crate) encoded: Vec<u8>,
}

/// Why a merge needs a decision about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConflictReason {
    /// Both have changed the same fields to different values.
    Fields,
    /// Both have inserted an object with the key, with different values.
    Inserted,
    /// One has deleted the object, the other has changed it.
    Deleted,
    /// The object has values that the schema in the file does not know, so it cannot be merged by
    /// fields.
    Unknown,
    /// After the merge, another object would have the same unique value.
    Unique,
}

impl fmt::Display for ConflictReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fields => "both have changed the same fields",
            Self::Inserted => "both have inserted it",
            Self::Deleted => "one has deleted it, the other has changed it",
            Self::Unknown => "it has values that the schema does not know",
            Self::Unique => "another object has the same unique value",
        })
    }
}
