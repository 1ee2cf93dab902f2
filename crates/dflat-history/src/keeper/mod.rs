//! Appends the steps of transactions to the file, and makes steps of the changes of programs that
//! keep no history.

mod expected;
mod keep;
mod leaves;
mod parts;
mod sources;
mod strangers;
mod take;
mod unnoted;
mod whole;

pub use keep::Keeper;
