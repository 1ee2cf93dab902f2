//! Changes whose payloads come from a program in another language.

use dflat_engine::object::{Object, exceeded_limit, verify, verify_incomplete};
use dflat_engine::transaction::{Change, Outcome, shown_key};
use dflat_model::Table;

use super::TransactionContext;
use crate::{Error, ErrorKind, Result};

/// A change of one object, with bytes that are not verified yet.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// Insert an object; a conflict if its key exists.
    Create {
        /// The object's bytes.
        payload: &'a [u8],
    },
    /// Insert an object, or replace the values of the object with the same key.
    Upsert {
        /// The object's bytes.
        payload: &'a [u8],
    },
    /// Insert an object, or replace the object with the same key, with exactly these bytes.
    Restore {
        /// The object's bytes.
        payload: &'a [u8],
    },
    /// Replace the values of an object.
    Update {
        /// The object as it was read, at any time.
        base: &'a Object,
        /// The new bytes.
        payload: &'a [u8],
    },
    /// Delete an object.
    Delete {
        /// The object as it was read, at any time.
        base: &'a Object,
    },
}

impl<'a> Operation<'a> {
    const fn name(self) -> &'static str {
        match self {
            Self::Create { .. } => "insert",
            Self::Upsert { .. } => "upsert",
            Self::Restore { .. } => "restore",
            Self::Update { .. } => "update",
            Self::Delete { .. } => "delete",
        }
    }

    const fn payload(self) -> Option<&'a [u8]> {
        match self {
            Self::Create { payload }
            | Self::Upsert { payload }
            | Self::Restore { payload }
            | Self::Update { payload, .. } => Some(payload),
            Self::Delete { .. } => None,
        }
    }
}

impl TransactionContext {
    /// Verifies the payload of an operation and carries the operation out. If `seen` is an object,
    /// the operation is optimistic: it is refused unless `seen` is still stored with the same
    /// values.
    ///
    /// # Errors
    /// - [`InvalidArgument`](ErrorKind::InvalidArgument) if the payload is malformed or too large.
    /// - [`NotFound`](ErrorKind::NotFound) if the object to update or to delete was deleted.
    /// - [`OutOfDate`](ErrorKind::OutOfDate) if `seen` is not stored with the same values.
    /// - Otherwise, the errors of
    ///   [`Transaction::submit`](dflat_engine::transaction::Transaction::submit).
    ///
    /// After each of the first three, the transaction goes on.
    pub fn submit(
        &self,
        table: &Table,
        operation: Operation<'_>,
        seen: Option<&Object>,
    ) -> Result<Outcome> {
        let lacking = match operation.payload() {
            Some(payload) => check(table, operation, payload)?,
            None => None,
        };
        let transaction = self.transaction();
        if let Some(seen) = seen {
            transaction.check_unchanged(table, seen)?;
        }
        let change = match operation {
            Operation::Create { payload } => Change::Create { payload },
            Operation::Upsert { payload } => Change::Upsert { payload },
            Operation::Restore { payload } => Change::Restore { payload },
            Operation::Update { base, payload } => Change::Update {
                base: transaction
                    .latest(table, base)?
                    .ok_or_else(|| gone(table, operation, base))?,
                payload,
                lacking,
            },
            Operation::Delete { base } => Change::Delete {
                base: transaction
                    .latest_to_delete(table, base)?
                    .ok_or_else(|| gone(table, operation, base))?,
            },
        };
        transaction.submit(table, change)
    }
}

/// Checks the bytes of an operation. Returns why those of an update lack a required value, if they
/// do.
fn check(table: &Table, operation: Operation<'_>, payload: &[u8]) -> Result<Option<&'static str>> {
    let checked = match verify(&table.types, payload) {
        Err(_) if matches!(operation, Operation::Update { .. }) => {
            let lacking = Some("the payload lacks a required value");
            verify_incomplete(&table.types, payload).map(|()| lacking)
        }
        checked => checked.map(|()| None),
    };
    checked.map_err(|_| {
        let limit = exceeded_limit(&table.types, dflat_model::ROOT_TYPE, payload);
        let why = limit.unwrap_or("the payload is malformed, or lacks a required value");
        let (verb, name) = (operation.name(), &table.type_name);
        let message = format!("cannot {verb} {name}: {why}");
        Error::new(ErrorKind::InvalidArgument, message)
    })
}

fn gone(table: &Table, operation: Operation<'_>, base: &Object) -> Error {
    let (verb, name) = (operation.name(), &table.type_name);
    let key = shown_key(table, base.payload());
    let message =
        format!("cannot {verb} {name}: the object with the primary key {key} was deleted");
    Error::new(ErrorKind::NotFound, message)
}
