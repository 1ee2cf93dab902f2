//! The problems that a check finds.

use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::transaction::Derived;
use dflat_model::{RowId, Table};

use crate::upkeep::backup::Progress;

/// A problem that a check found in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The kind of the damage.
    pub kind: ProblemKind,
    /// The table, if the problem is in one of the checked tables.
    pub table: Option<String>,
    /// The row, if the problem concerns one row.
    pub row_id: Option<RowId>,
    /// A description of the problem.
    pub message: String,
}

/// The kind of the damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ProblemKind {
    /// Pages of the file, or the structure that links them.
    Pages,
    /// The bytes of an object.
    Payload,
    /// The primary key stored beside an object differs from the key in the object.
    Key,
    /// A part of an object's primary key has no value: a float is NaN, or a string is absent. Only
    /// other programs write such an object. Its other values are readable, but it is not found by
    /// its key. A repair keeps it: change its key, or delete it.
    MissingKey,
    /// An index has no entry for an object, or an entry with another value, or an entry for an
    /// object that must have none.
    Index,
    /// An index has an entry for an object that does not exist.
    Orphan,
    /// The stored description of a type, from which tools learn its fields. A repair of the type,
    /// and each write of it, stores the description anew. So only those of types stay damaged that
    /// the program does not declare.
    Description,
}

/// Verifies an object's bytes, and derives the key and the index values that are stored beside
/// them.
pub type Derive<'d> = &'d dyn Fn(&Table, &[u8]) -> Result<Derived>;

/// Receives the progress of the work, and may end it.
pub type Report<'r> = &'r mut dyn FnMut(Progress) -> ControlFlow<()>;

pub(super) type OnProblem<'f> = &'f mut dyn FnMut(Problem);
