//! Links between the code of tables, for schemas in which hundreds of tables lead to one another.

use std::any::Any;
use std::fmt;

use super::{Message, TableReader};

/// A table that other tables reach through a link.
///
/// rustc instantiates at most 128 generic functions inside one another. So the code of a table
/// calls that of the next table through a static with the links of all tables: rustc instantiates
/// the static once, and a chain of instantiations ends at the next linked table.
pub trait Linked: Message {
    /// The position of this table among the links.
    const POSITION: usize;

    /// The links of all tables.
    fn links() -> &'static [Link];

    /// Does the work of [`Message::decode`], called through the link.
    fn decode_here(view: Self::Ref<'_>) -> Self;

    /// Whether two views show the same values.
    fn same_here<'a>(view: Self::Ref<'a>, other: Self::Ref<'a>) -> bool;

    /// Writes the values that a view shows.
    ///
    /// # Errors
    /// The error of the formatter, if it fails.
    fn debug_here(view: Self::Ref<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// The link of this table.
    #[must_use]
    fn link() -> &'static Link {
        &Self::links()[Self::POSITION]
    }
}

/// The functions of a table that is reached through its link.
#[derive(Debug)]
pub struct Link {
    decode: fn(TableReader<'_>) -> Box<dyn Any>,
    same: for<'a> fn(TableReader<'a>, TableReader<'a>) -> bool,
    debug: fn(TableReader<'_>, &mut fmt::Formatter<'_>) -> fmt::Result,
}

impl Link {
    /// The link of a table.
    #[must_use]
    pub const fn of<T: Linked>() -> Self {
        Self {
            decode: |table| Box::new(T::decode_here(T::view(table))),
            same: |table, other| T::same_here(T::view(table), T::view(other)),
            debug: |table, f| T::debug_here(T::view(table), f),
        }
    }

    /// An owned copy of a table.
    #[must_use]
    pub fn decode<T: Linked>(&self, table: TableReader<'_>) -> T {
        match (self.decode)(table).downcast() {
            Ok(value) => *value,
            Err(_) => unreachable!("a link is that of its table"),
        }
    }

    /// Whether two tables have the same values.
    #[must_use]
    pub fn same<'a>(&self, table: TableReader<'a>, other: TableReader<'a>) -> bool {
        (self.same)(table, other)
    }

    /// Writes a table's values.
    ///
    /// # Errors
    /// The error of the formatter, if it fails.
    pub fn debug(&self, table: TableReader<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.debug)(table, f)
    }
}
