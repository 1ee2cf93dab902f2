//! Updates whose bytes lack a required value, which only newer code may know.

use dflat_model::Table;

use super::refusals::gone;
use super::{has_equal_values, is_identity};
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Object, verify};
use crate::transaction::{Outcome, Transaction};

impl Transaction {
    /// As `update` with bytes that lack a required value, for this reason.
    #[cold]
    pub(super) fn update_lacking(
        &self,
        table: &Table,
        base: Object,
        payload: &[u8],
        reason: &str,
    ) -> Result<Outcome> {
        if !self.is_writing() && is_identity(table, base.payload(), payload) {
            return Ok(Outcome::Identity(base));
        }
        let row_id = base.row_id();
        self.write(table, |stored_as, access| {
            let Some(latest) = self.stored(table, base, access)? else {
                return Err(gone(table, row_id));
            };
            let before = latest.payload();
            let kept = access.schemas.keep_unknown(table, before, payload)?;
            let payload = kept.as_deref().unwrap_or(payload);
            refuse_lacking(table, payload, reason)?;
            if has_equal_values(stored_as, before, payload) {
                return Ok(Outcome::Identity(latest));
            }
            self.replace(stored_as, latest, payload, access)
        })
    }
}

/// Fails with this reason if the bytes of an update lack a required value.
fn refuse_lacking(table: &Table, payload: &[u8], reason: &str) -> Result<()> {
    if verify(&table.types, payload).is_ok() {
        return Ok(());
    }
    let message = format!("cannot update {}: {reason}", table.type_name);
    Err(Error::new(ErrorKind::InvalidArgument, message))
}
