//! The types of a payload, as generated code holds them.

use std::ops::Deref;

use dflat_model::{Table, TypeDescriptor};

/// The types of a payload.
#[derive(Clone, Debug)]
pub enum Types {
    /// The types that a table refers to.
    Stored(Table),
    /// The types of a schema without storage.
    Plain(&'static [TypeDescriptor]),
}

impl Deref for Types {
    type Target = [TypeDescriptor];

    fn deref(&self) -> &[TypeDescriptor] {
        match self {
            Self::Stored(table) => &table.types,
            Self::Plain(types) => types,
        }
    }
}
