//! The bytes that the hash in a tree names.

use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table};

use crate::chunk::Address;
use crate::commits::Content;

/// The objects of a type by the hashes in trees.
pub(super) struct Named<'t> {
    table: &'t Table,
    content: Content<'t>,
}

impl<'t> Named<'t> {
    /// The objects of a type.
    pub(super) fn of(table: &'t Table) -> Self {
        Self {
            table,
            content: Content::of(table),
        }
    }

    /// Whether these are the objects of a type.
    pub(super) fn is_of(&self, table: &Table) -> bool {
        self.table.is_same(table)
    }

    /// The bytes with a hash, from an object as the file has it: its bytes, or their canonical
    /// form.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if there is no object, or neither has the hash.
    pub(super) fn bytes(&self, payload: Option<&[u8]>, hash: Address) -> Result<Vec<u8>> {
        let Some(payload) = payload else {
            return Err(self.misfit());
        };
        let canonical = self.content.bytes(RowId(0), payload)?;
        for bytes in [&canonical[..], payload] {
            if Address::of(bytes) == hash {
                return Ok(bytes.to_vec());
            }
        }
        Err(self.misfit())
    }

    fn misfit(&self) -> Error {
        let message = format!(
            "cannot sync objects of {}: the steps do not lead to those of a commit; a program has \
             changed objects and kept no history",
            self.table.type_name
        );
        Error::new(ErrorKind::Corrupt, message)
    }
}
