//! Keys that the library assigns to new objects.

use std::ops::{Bound, ControlFlow};

use dflat_model::{AutoKey, Direction, Field, Step, Table, ValueRef};

use super::key::read;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Assigned, assign};
use crate::storage::{Key, KeyScan, ScanPlan, Snapshot, Source};

/// The largest key that the library assigns. A larger one is not an integer of the storage.
const LARGEST: u64 = i64::MAX as u64;

/// How the library assigns the key of this new object; `None` if the object has a key.
pub(in super::super) fn auto_key_of(table: &Table, payload: &[u8]) -> Result<Option<AutoKey>> {
    let (Some(auto), [field]) = (table.auto_key, table.primary_key.as_ref()) else {
        return Ok(None);
    };
    let is_missing = match read(table, payload, field)? {
        ValueRef::Null => true,
        ValueRef::Int(number) => number == 0,
        ValueRef::UInt(number) => number == 0,
        ValueRef::Text(text) => text.is_empty(),
        ValueRef::Float(_) => false,
    };
    Ok(is_missing.then_some(auto))
}

/// The payload of a new object with the key that the library assigns.
///
/// # Errors
/// [`ErrorKind::KeysExhausted`] if the table holds the largest key; otherwise the errors of reading
/// the key index.
pub(in super::super) fn with_auto_key(
    table: &Table,
    auto: AutoKey,
    storage: &mut dyn Snapshot,
    payload: &[u8],
) -> Result<Vec<u8>> {
    let voffset = voffset_of(table)?;
    let assigned = match auto {
        AutoKey::Increasing => {
            let key = next_key(table, storage)?;
            assign(&table.types, payload, voffset, Assigned::Number(key))
        }
        AutoKey::UuidV7 => {
            let key = new_uuid(table)?;
            assign(&table.types, payload, voffset, Assigned::Text(&key))
        }
    };
    assigned.map_err(|_| unreadable(table))
}

/// The slot of the key's field.
fn voffset_of(table: &Table) -> Result<u16> {
    let [Field { steps, .. }] = table.primary_key.as_ref() else {
        return Err(unreadable(table));
    };
    match steps.as_ref() {
        [Step::Field(voffset)] => Ok(*voffset),
        _ => Err(unreadable(table)),
    }
}

/// The payloads of new objects with the keys that the library assigns, as [`with_auto_key`] assigns
/// each if the one before it was inserted.
///
/// # Errors
/// The errors of reading the key index. [`ErrorKind::KeysExhausted`] is the outcome of single
/// objects.
pub(in super::super) fn with_auto_keys<'p>(
    table: &Table,
    auto: AutoKey,
    storage: &mut dyn Snapshot,
    payloads: impl Iterator<Item = &'p [u8]>,
) -> Result<Vec<Result<Vec<u8>>>> {
    let voffset = voffset_of(table)?;
    let mut next = match auto {
        AutoKey::Increasing => next_key(table, storage),
        AutoKey::UuidV7 => Ok(0),
    };
    let assigned = payloads.map(|payload| {
        let text;
        let assigned = match auto {
            AutoKey::Increasing => {
                let key = next.clone()?;
                next = match key {
                    LARGEST => Err(exhausted(table, LARGEST)),
                    key => Ok(key + 1),
                };
                Assigned::Number(key)
            }
            AutoKey::UuidV7 => {
                text = new_uuid(table)?;
                Assigned::Text(&text)
            }
        };
        assign(&table.types, payload, voffset, assigned).map_err(|_| unreadable(table))
    });
    Ok(assigned.collect())
}

/// The key after the largest one in the table, those of other programs included.
fn next_key(table: &Table, storage: &mut dyn Snapshot) -> Result<u64> {
    let plan = ScanPlan {
        table,
        source: Source::Entries(KeyScan {
            key: Key::Primary,
            prefix: &[],
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            direction: Direction::Descending,
            after: None,
        }),
        payload: false,
    };
    let mut largest = Ok(0);
    storage.scan(&plan, &mut |row| {
        let found = match (row.entry, table.primary_key.first()) {
            (Some(entry), _) => Ok(entry.values.first().copied()),
            (None, Some(field)) => read(table, row.payload, field).map(Some),
            (None, None) => Ok(None),
        };
        match found {
            Ok(Some(ValueRef::Int(number))) => largest = Ok(u64::try_from(number).unwrap_or(0)),
            Ok(Some(ValueRef::UInt(number))) => largest = Ok(number),
            // Another program may have stored a key that is no number.
            Ok(_) => return ControlFlow::Continue(()),
            Err(error) => largest = Err(error),
        }
        ControlFlow::Break(())
    })?;
    match largest? {
        key if key < LARGEST => Ok(key + 1),
        key => Err(exhausted(table, key)),
    }
}

#[cfg(feature = "uuid")]
fn new_uuid(_: &Table) -> Result<String> {
    Ok(uuid::Uuid::now_v7().to_string())
}

#[cfg(not(feature = "uuid"))]
fn new_uuid(table: &Table) -> Result<String> {
    let message = format!(
        "cannot insert {}: its keys are UUIDs, which need the feature `uuid`",
        table.type_name
    );
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

#[cold]
fn exhausted(table: &Table, largest: u64) -> Error {
    let field = table.primary_key.first();
    let name = field.map_or_else(String::new, ToString::to_string);
    let message = format!(
        "cannot insert {}: no key is left, because the table has the key {name} = {largest}, and \
         the largest that is assigned is {LARGEST}",
        table.type_name
    );
    Error::new(ErrorKind::KeysExhausted, message)
}

#[cold]
fn unreadable(table: &Table) -> Error {
    let message = format!(
        "cannot insert {}: its bytes do not fit the schema",
        table.type_name
    );
    Error::new(ErrorKind::InvalidArgument, message)
}
