//! Write transactions: rows, index entries and the tables that hold them.

mod index_tables;
mod row_write;
mod stored_schema;
pub(crate) mod transaction;
