//! Writes: the transaction of a server, and the statements that write rows with their entries.

mod bulk;
mod commit;
mod copied;
mod create;
mod pending;
mod reading;
mod repair;
mod row;
mod statement;
mod transaction;

pub(crate) use transaction::PostgresTransaction;
