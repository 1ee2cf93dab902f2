//! Conflicts about unique values.

use dflat_model::Table;

use super::cases::conflict;
use super::conflict::{ConflictReason, ObjectConflict};
use super::object::Three;
use super::set::{TableToSet, ToSet};
use crate::commits::Content;

/// The conflict about the object that was to get this payload, because another object has a unique
/// value of it.
pub(super) fn unique_conflict(to_set: &ToSet<'_>, table: &Table, payload: &[u8]) -> ObjectConflict {
    let key = Content::of(table).key(payload).unwrap_or_default();
    let three = three_of(to_set, table, payload);
    conflict(
        table,
        &key,
        three,
        (ConflictReason::Unique, unique_fields(table)),
    )
}

/// The object that is to get this payload as it was before both changes, ours and theirs. If only
/// they have changed it, ours is as before, and theirs has the payload.
fn three_of<'s>(to_set: &'s ToSet<'_>, table: &Table, payload: &'s [u8]) -> Three<'s> {
    let of_table =
        |((of, objects), _): &'s (TableToSet<'_>, _)| of.is_stored_as(table).then_some(objects);
    let mut objects = to_set.iter().filter_map(of_table).flatten();
    let found = objects.find(|object| {
        let target = object.target.as_ref();
        target.is_some_and(|(_, target)| std::ptr::eq(target.as_slice(), payload))
    });
    let current = found.and_then(|object| object.current.as_ref());
    let ours = current.map(|(_, payload)| payload.as_slice());
    match found.and_then(|object| object.merged.as_ref()) {
        Some(merged) => Three {
            base: merged.base.as_deref(),
            ours,
            theirs: merged.theirs.as_deref(),
        },
        None => Three {
            base: ours,
            ours,
            theirs: Some(payload),
        },
    }
}

/// The fields of the unique indexes.
fn unique_fields(table: &Table) -> Vec<String> {
    let unique = table.indexes.iter().filter(|index| index.unique);
    let fields = unique.flat_map(|index| index.fields.iter());
    fields.map(|field| field.name.to_string()).collect()
}
