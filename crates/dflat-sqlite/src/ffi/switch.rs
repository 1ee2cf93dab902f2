//! The settings of a connection that are on or off.

use std::ffi::c_int;

use libsqlite3_sys as sqlite;

/// A setting that is on or off.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Switch {
    /// Foreign keys are enforced.
    ForeignKeys,
    /// Triggers run.
    Triggers,
    /// Views can be read.
    Views,
    /// Functions named in the schema are trusted.
    TrustedSchema,
    /// SQL can't damage the file.
    Defensive,
    /// SQL can write the schema, and a file that lacks pages is opened.
    WritableSchema,
    /// A name in double quotes that is unknown is a text.
    QuotedTexts,
    /// The last connection to be closed copies the log into the main file.
    CheckpointAtClose,
    /// The plan of a statement does not depend on the bound values.
    StablePlans,
}

impl Switch {
    /// The number of the setting in the interface of SQLite.
    pub(super) const fn option(self) -> c_int {
        match self {
            Self::CheckpointAtClose => sqlite::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
            Self::ForeignKeys => sqlite::SQLITE_DBCONFIG_ENABLE_FKEY,
            Self::Triggers => sqlite::SQLITE_DBCONFIG_ENABLE_TRIGGER,
            Self::Views => sqlite::SQLITE_DBCONFIG_ENABLE_VIEW,
            Self::TrustedSchema => sqlite::SQLITE_DBCONFIG_TRUSTED_SCHEMA,
            Self::Defensive => sqlite::SQLITE_DBCONFIG_DEFENSIVE,
            Self::WritableSchema => sqlite::SQLITE_DBCONFIG_WRITABLE_SCHEMA,
            Self::QuotedTexts => sqlite::SQLITE_DBCONFIG_DQS_DML,
            Self::StablePlans => sqlite::SQLITE_DBCONFIG_ENABLE_QPSG,
        }
    }
}
