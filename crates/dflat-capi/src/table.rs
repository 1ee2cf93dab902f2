//! Tables: descriptors of stored types.

use dflat_engine::{Error, Result};
use dflat_model::{AutoKey, Table, TableDescriptor};

use crate::boundary::{
    Bytes, Given, In, Kind, List, Out, OutHandle, Owned, export, export_release, invalid,
};
use crate::number;

/// A table for the caller.
pub(crate) struct TableHandle(pub(crate) Table);

impl Kind for TableHandle {
    const TAG: u64 = 0xDF1A_7002;
    const NAME: &'static str = "dflat_table";
}

/// The tables of a list.
pub(crate) fn named(first: List<'_, In<'_, TableHandle>>, count: usize) -> Result<Vec<Table>> {
    let tables = first.get(count, "tables")?.iter();
    tables.map(|table| Ok(table.get()?.0.clone())).collect()
}

export! {
    fn dflat_table_new(
        descriptor: Bytes<'_>,
        auto_key: i32,
        table: OutHandle<'_, TableHandle>,
    ) {
        table.begin()?;
        let bytes = descriptor.get("descriptor")?;
        let mut decoded = TableDescriptor::from_bytes(bytes)
            .map_err(|error| invalid(format!("cannot make a table: {error}")))?;
        decoded.auto_key = match auto_key {
            number::AUTO_KEY_NONE => None,
            number::AUTO_KEY_INCREASING => Some(AutoKey::Increasing),
            number::AUTO_KEY_UUID => Some(AutoKey::UuidV7),
            _ => return Err(invalid(format!("auto_key: {auto_key} is none of its values"))),
        };
        if decoded.auto_key.is_some_and(|auto| !auto.fits(&decoded)) {
            return Err(unfit(&decoded.type_name, auto_key));
        }
        table.set(TableHandle(Table::new(decoded)));
    }

    fn dflat_table_name(table: In<'_, TableHandle>, name: Out<'_, Given>) {
        name.begin("name", Given::text(""))?;
        name.set(Given::text(&table.get()?.0.type_name));
    }
}

#[cold]
fn unfit(type_name: &str, auto_key: i32) -> Error {
    let (name, needed) = match auto_key {
        number::AUTO_KEY_INCREASING => ("DFLAT_AUTO_KEY_INCREASING", "a `ulong`"),
        _ => ("DFLAT_AUTO_KEY_UUID", "a string"),
    };
    invalid(format!(
        "cannot make a table of {type_name}: {name} needs a primary key that is a single field of \
         the root table and {needed}"
    ))
}

export_release! {
    fn dflat_table_release(table: Owned<TableHandle>) {
        drop(table.take()?);
    }
}
