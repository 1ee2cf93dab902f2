//! The tables on the server: their names, their definitions, and keys as their columns have them.

mod control;
mod ddl;
mod key;
mod names;
mod readable;
mod relay;
mod state;
mod stored;

pub(crate) use control::Control;
pub(crate) use ddl::{create_index, create_main};
pub(crate) use key::{KEY_MAX, Range, StoredKey};
pub(crate) use names::Schema;
pub(crate) use relay::Relay;
pub(crate) use state::State;
pub(crate) use stored::{StoredIndex, StoredTable};
