//! A type of a file, and the source of its description.

use std::path::PathBuf;

use dflat_model::Table;

/// The source of the description of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The file.
    File,
    /// The pack, or the pack on which the file stands.
    Pack,
    /// The server.
    Server,
    /// A schema.
    Schema(PathBuf),
    /// None: nothing describes the type. Its fields are known by their slots only.
    Nothing,
    /// The file, but its description cannot be used, for this reason.
    Unusable(String),
}

/// A type of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileType {
    pub(crate) table: Table,
    pub(crate) origin: Origin,
}

impl FileType {
    /// Whether nothing describes the fields.
    pub(crate) fn is_bare(&self) -> bool {
        matches!(self.origin, Origin::Nothing | Origin::Unusable(_))
    }
}
