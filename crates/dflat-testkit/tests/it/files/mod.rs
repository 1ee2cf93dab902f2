//! Files of Dflat for Swift, files of older code, damaged files, and copies of files.

mod backup;
pub(crate) mod change_log;
mod damaged_pages;
mod defects;
mod dictionary;
mod fixtures;
#[cfg(unix)]
mod gone;
mod hostile;
mod many_problems;
mod messages;
pub(crate) mod original;
#[cfg(unix)]
mod read_only;
mod record_cost;
mod record_identity;
mod repair;
mod salvage;
mod stored_schema;
mod stored_values;
mod wire;
mod writable_again;
