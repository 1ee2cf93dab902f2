//! The key and the index entries that are stored beside an object, derived from its bytes, for
//! checks of a file.

use dflat_model::{Table, Value};

use super::entries::index_entries;
use super::key::key_parts;
use crate::error::{Error, ErrorKind, Result};
use crate::object::verify;

/// The values that storage keeps beside an object's bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// The parts of the primary key.
    pub key: Vec<Value>,
    /// The values of each index, in the order of the indexes; `None` if an index has no entry of
    /// the object.
    pub entries: Vec<Option<Vec<Value>>>,
}

/// Verifies an object's bytes and derives the values that are stored beside them.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if the bytes are malformed.
pub fn derive(table: &Table, payload: &[u8]) -> Result<Derived> {
    verify(&table.types, payload).map_err(|_| {
        let message = format!("the bytes are no {}", table.type_name);
        Error::new(ErrorKind::Corrupt, message)
    })?;
    let key = key_parts(table, payload)?;
    let entries = index_entries(table, payload)?;
    Ok(Derived {
        key: key.as_slice().iter().map(|part| part.to_value()).collect(),
        entries: entries
            .iter()
            .map(|entry| entry.values.to_values())
            .collect(),
    })
}
