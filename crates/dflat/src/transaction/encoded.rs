//! Requests that were encoded.

use dflat_engine::object::{Object as Handle, Writer};
use dflat_engine::transaction::{Change, Outcome, Transaction};
use dflat_model::Table;

use super::change_request::Kind;
use crate::codec::Encoder;
use crate::{Error, Result};

/// A request that was encoded.
pub(super) struct Encoded {
    pub(super) kind: Kind,
    pub(super) seen: Option<Handle>,
    pub(super) payload: Vec<u8>,
    /// Why the payload of an update lacks a required value, if it does.
    pub(super) lacking: Option<&'static str>,
}

impl Encoded {
    pub(super) fn change(&self) -> Change<'_> {
        let payload = self.payload.as_slice();
        match &self.kind {
            Kind::Creation => Change::Create { payload },
            Kind::Upsert => Change::Upsert { payload },
            Kind::Restoration(_) => Change::Restore { payload },
            Kind::Update(base) => Change::Update {
                base: base.clone(),
                payload,
                lacking: self.lacking,
            },
            Kind::Deletion(base) => Change::Delete { base: base.clone() },
        }
    }

    /// Submits the request on its own.
    pub(super) fn submit(&self, table: &Table, transaction: &Transaction) -> Result<Outcome> {
        if let Some(seen) = &self.seen {
            transaction.check_unchanged(table, seen)?;
        }
        transaction.submit(table, self.change())
    }
}

/// The payload with the values that `encode` writes. An error names the type.
pub(crate) fn encode_named<'w>(
    writer: &'w mut Writer,
    table: &Table,
    encode: &dyn Fn(&mut Encoder<'_>),
) -> Result<&'w [u8]> {
    Encoder::encode_with(writer, encode);
    let named = |error: Error| error.context(format_args!("{}", table.type_name));
    writer.finish().map_err(named)
}

/// As [`encode_named`] for an update, which may lack required values. Then the reason is returned.
pub(super) fn encode_update<'w>(
    writer: &'w mut Writer,
    table: &Table,
    encode: &dyn Fn(&mut Encoder<'_>),
) -> Result<(&'w [u8], Option<&'static str>)> {
    Encoder::encode_with(writer, encode);
    let named = |error: Error| error.context(format_args!("{}", table.type_name));
    writer.finish_update().map_err(named)
}
