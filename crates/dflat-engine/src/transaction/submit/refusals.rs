//! Changes that are refused.

use dflat_model::{RowId, Table};

use crate::error::{Error, ErrorKind, Result};
use crate::object::verify;

/// Fails if bytes that fit the caller's schema do not fit the one that the table is stored with.
pub(super) fn fit(table: &Table, stored_as: &Table, payload: &[u8]) -> Result<()> {
    if table.is_same(stored_as) || verify(&stored_as.types, payload).is_ok() {
        return Ok(());
    }
    let message = format!(
        "cannot restore {}: the object's bytes do not fit the schema of newer code, which has \
         written to the table",
        table.type_name
    );
    Err(Error::new(ErrorKind::NewerSchema, message))
}

pub(super) fn gone(table: &Table, row_id: RowId) -> Error {
    let message = format!(
        "cannot update {}: the object with row id {row_id} was deleted",
        table.type_name
    );
    Error::new(ErrorKind::NotFound, message)
}

/// Whether this error loses the transaction.
pub(super) fn loses(error: &Error) -> bool {
    !matches!(
        error.kind(),
        ErrorKind::AlreadyExists
            | ErrorKind::KeysExhausted
            | ErrorKind::NotFound
            | ErrorKind::NewerSchema
            | ErrorKind::InvalidArgument
    )
}
