//! The file format as SQL: names, definitions of tables, and the texts of statements.

pub(crate) mod control;
pub(crate) mod ddl;
pub(crate) mod key_range;
mod key_statement;
pub(crate) mod named;
#[cfg(test)]
pub(crate) mod sample;
pub(crate) mod statement_text;
