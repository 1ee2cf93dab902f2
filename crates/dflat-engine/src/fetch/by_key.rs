//! Objects by their primary keys or row ids, without a plan.

use std::ops::ControlFlow;

use dflat_model::{RowId, Table, Value, ValueRef};
use smallvec::SmallVec;

use super::{Control, corrupt, corrupt_bytes};
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Malformed, Object, ObjectBatch, Origin, field_value};
use crate::storage::{Row, ScanPlan, Snapshot, Source};

/// Fetches the object with a primary key. A key with a NULL, such as NaN, equals no object's key.
///
/// # Errors
/// As [`fetch`](super::fetch).
pub fn get(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    key: &[ValueRef<'_>],
    origin: Origin,
) -> Result<Option<Object>> {
    if key.iter().any(|part| part.is_null()) {
        return Ok(None);
    }
    one(snapshot, &by_key(table, key), origin, Object::new)
}

/// As [`get`], but the object may lack required values.
///
/// # Errors
/// As [`fetch`](super::fetch).
pub(crate) fn get_incomplete(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    key: &[ValueRef<'_>],
    origin: Origin,
) -> Result<Option<Object>> {
    one(
        snapshot,
        &by_key(table, key),
        origin,
        Object::new_incomplete,
    )
}

/// Fetches the objects with these primary keys, in the order of the keys; `None` for a key without
/// an object.
///
/// # Errors
/// As [`fetch`](super::fetch).
pub fn get_many(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    keys: &[KeyParts<'_>],
    origin: Origin,
) -> Result<Vec<Option<Object>>> {
    many(snapshot, table, keys, |row_id, payload| {
        Object::new(table, row_id, origin, payload)
    })
}

/// As [`get_many`], but the objects may lack required values.
///
/// # Errors
/// As [`fetch`](super::fetch).
pub(crate) fn get_many_incomplete(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    keys: &[KeyParts<'_>],
    origin: Origin,
) -> Result<Vec<Option<Object>>> {
    many(snapshot, table, keys, |row_id, payload| {
        Object::new_incomplete(table, row_id, origin, payload)
    })
}

fn many(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    keys: &[KeyParts<'_>],
    verified: impl Fn(RowId, &[u8]) -> Result<Object, Malformed>,
) -> Result<Vec<Option<Object>>> {
    let parts: Vec<&[ValueRef<'_>]> = keys.iter().map(|key| key.as_slice()).collect();
    let mut objects = vec![None; keys.len()];
    let mut damaged = None;
    snapshot.find_many(
        table,
        &parts,
        &mut |position, row| match verified(row.row_id, row.payload) {
            Ok(object) => {
                if let Some(place) = objects.get_mut(position) {
                    *place = Some(object);
                }
                ControlFlow::Continue(())
            }
            Err(_) => {
                damaged = Some(corrupt_bytes(table, row.row_id, row.payload));
                ControlFlow::Break(())
            }
        },
    )?;
    damaged.map_or(Ok(objects), Err)
}

/// Fails if an object is of another table.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`].
#[inline]
pub(crate) fn check_table(operation: &str, table: &Table, object: &Object) -> Result<()> {
    match object.is_of(table) {
        true => Ok(()),
        false => Err(of_other_table(operation, table)),
    }
}

#[cold]
fn of_other_table(operation: &str, table: &Table) -> Error {
    let name = &table.type_name;
    let message = format!("cannot {operation} {name}: the object is of another type");
    Error::new(ErrorKind::InvalidArgument, message)
}

const fn by_key<'p>(table: &'p Table, key: &'p [ValueRef<'p>]) -> ScanPlan<'p> {
    ScanPlan {
        table,
        source: Source::PrimaryKey(key),
        payload: true,
    }
}

/// The parts of a primary key. Up to two take no allocation.
pub type KeyParts<'k> = SmallVec<[ValueRef<'k>; 2]>;

/// The parts of a key.
pub(crate) fn parts(key: &[Value]) -> KeyParts<'_> {
    key.iter().map(Value::as_ref).collect()
}

/// Visits the row with a primary key, if it exists. The row's bytes are not verified.
///
/// # Errors
/// The errors of reading the file.
pub fn visit(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    key: &[Value],
    visit: &mut dyn FnMut(Row<'_>),
) -> Result<()> {
    let plan = ScanPlan {
        table,
        source: Source::PrimaryKey(&parts(key)),
        payload: true,
    };
    snapshot.scan(&plan, &mut |row| {
        visit(row);
        ControlFlow::Break(())
    })
}

/// The primary key of an object.
///
/// # Errors
/// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) if its bytes are malformed, which verified
/// ones are not.
pub fn key_of(table: &Table, object: &Object) -> Result<Vec<Value>> {
    let parts = table
        .primary_key
        .iter()
        .map(|field| field_value(object.payload(), field));
    let key: Result<Vec<Value>, _> = parts.map(|part| part.map(|part| part.to_value())).collect();
    key.map_err(|_| corrupt(table, object.row_id()))
}

/// Fetches the object with a row id.
///
/// # Errors
/// As [`fetch`](super::fetch).
pub fn find(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    row_id: RowId,
    origin: Origin,
) -> Result<Option<Object>> {
    one(snapshot, &by_row_id(table, &[row_id]), origin, Object::new)
}

/// As [`find`], but the object may lack required values.
///
/// # Errors
/// As [`fetch`](super::fetch).
pub(crate) fn find_incomplete(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    row_id: RowId,
    origin: Origin,
) -> Result<Option<Object>> {
    one(
        snapshot,
        &by_row_id(table, &[row_id]),
        origin,
        Object::new_incomplete,
    )
}

const fn by_row_id<'p>(table: &'p Table, row_ids: &'p [RowId]) -> ScanPlan<'p> {
    ScanPlan {
        table,
        source: Source::RowIds(row_ids),
        payload: true,
    }
}

/// Fetches the objects with these row ids that exist, in their order. Of `control`, only
/// [`Control::incomplete`] counts.
///
/// # Errors
/// As [`fetch`](super::fetch).
pub fn find_many(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    row_ids: &[RowId],
    control: &Control,
    origin: Origin,
) -> Result<Vec<Object>> {
    let plan = by_row_id(table, row_ids);
    let mut batch = ObjectBatch::new(table, origin);
    if control.incomplete {
        batch.accept_incomplete();
    }
    let mut damaged = None;
    snapshot.scan(
        &plan,
        &mut |row| match batch.push(row.row_id, row.payload) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => {
                damaged = Some(corrupt_bytes(table, row.row_id, row.payload));
                ControlFlow::Break(())
            }
        },
    )?;
    match damaged {
        Some(error) => Err(error),
        None => Ok(batch.finish()),
    }
}

fn one(
    snapshot: &mut dyn Snapshot,
    plan: &ScanPlan<'_>,
    origin: Origin,
    verified: impl Fn(&Table, RowId, Origin, &[u8]) -> Result<Object, Malformed>,
) -> Result<Option<Object>> {
    let mut found = None;
    snapshot.scan(plan, &mut |row| {
        let object = verified(plan.table, row.row_id, origin, row.payload);
        found = Some(object.map_err(|_| corrupt_bytes(plan.table, row.row_id, row.payload)));
        ControlFlow::Break(())
    })?;
    found.transpose()
}
