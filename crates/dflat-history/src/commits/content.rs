//! The key and the hash by which a tree has an object.

use dflat_engine::object::{Knowledge, Malformed, canonical, field_value, verify};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table, TypeDescriptor, key};

use crate::chunk::Address;
use crate::node::KEY_BYTES_MAX;

/// The bytes of NULL in a key.
const NULL: [u8; 1] = [1];

/// The objects of a type as the entries of a tree.
#[derive(Debug)]
pub struct Content<'t> {
    table: &'t Table,
    knowledge: Knowledge,
}

impl<'t> Content<'t> {
    /// The objects of a type, which is the newest one that the file describes.
    #[must_use]
    pub fn of(table: &'t Table) -> Self {
        Self {
            table,
            knowledge: Knowledge::of(&table.types),
        }
    }

    /// The bytes that name an object in a version: the canonical form of its payload. A payload
    /// with values that the type does not know is taken as it is.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the payload is malformed.
    pub fn bytes(&self, row_id: RowId, payload: &[u8]) -> Result<Vec<u8>> {
        let (table, types) = (self.table, &self.table.types);
        let read =
            verify(types, payload).and_then(|()| match self.knowledge.covers(types, payload)? {
                true => canonical(table, payload),
                false => Ok(payload.to_vec()),
            });
        read.map_err(|_| {
            let name = &table.type_name;
            let message = format!("cannot commit row {row_id} of {name}: its bytes are malformed");
            Error::new(ErrorKind::Corrupt, message)
        })
    }

    /// The types of the values.
    #[must_use]
    pub(crate) fn types(&self) -> &'t [TypeDescriptor] {
        &self.table.types
    }

    /// Whether the types know all values of a verified payload.
    ///
    /// # Errors
    /// If the payload is malformed.
    pub(crate) fn knows(&self, payload: &[u8]) -> Result<bool, Malformed> {
        self.knowledge.covers(&self.table.types, payload)
    }

    /// The entry of an object; `None` for an object whose key lacks a part, which no key finds.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the payload is malformed; [`ErrorKind::InvalidArgument`] if the
    /// key is too long.
    pub fn entry(&self, row_id: RowId, payload: &[u8]) -> Result<Option<(Vec<u8>, Address)>> {
        let bytes = self.bytes(row_id, payload)?;
        let Some(key) = self.key(payload) else {
            return Ok(None);
        };
        if key.len() > KEY_BYTES_MAX {
            let message = format!(
                "cannot commit row {row_id} of {}: its key has {} bytes; at most {KEY_BYTES_MAX} \
                 are allowed",
                self.table.type_name,
                key.len()
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        Ok(Some((key, Address::of(&bytes))))
    }

    /// The key of an object; `None` if a part is missing.
    #[must_use]
    pub(crate) fn key(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let mut key = Vec::new();
        for field in &*self.table.primary_key {
            let start = key.len();
            key::append(field_value(payload, field).ok()?, &mut key);
            // NaN has the bytes of NULL.
            if key.get(start..) == Some(&NULL) {
                return None;
            }
        }
        Some(key)
    }
}
