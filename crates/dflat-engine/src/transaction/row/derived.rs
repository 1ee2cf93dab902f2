//! The key and the index entries that are stored beside an object, derived from its bytes, for
//! checks of a file.

use dflat_model::{ROOT_TYPE, Table, Value};

use super::entries::index_entries;
use super::key::key_parts;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{exceeded_limit, verify, verify_incomplete};

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
/// [`ErrorKind::Corrupt`] if the bytes are malformed, or share parts too often.
pub fn derive(table: &Table, payload: &[u8]) -> Result<Derived> {
    verify(&table.types, payload).map_err(|_| {
        let message = match exceeded_limit(&table.types, ROOT_TYPE, payload) {
            None if verify_incomplete(&table.types, payload).is_ok() => {
                format!("a required value of {} is missing", table.type_name)
            }
            None => format!("the bytes are no {}", table.type_name),
            Some(limit) => format!("the bytes are no {}: {limit}", table.type_name),
        };
        Error::new(ErrorKind::Corrupt, message)
    })?;
    let key = key_parts(table, payload)?;
    let entries = index_entries(table, payload);
    Ok(Derived {
        key: key.as_slice().iter().map(|part| part.to_value()).collect(),
        entries: entries
            .map(|entry| Ok(entry?.values.to_values()))
            .collect::<Result<_>>()?,
    })
}
