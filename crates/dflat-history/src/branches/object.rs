//! The merge of one object by fields.

use dflat_engine::object::{Malformed, combine, differing_fields};
use dflat_model::FieldLayout;

use super::conflict::ConflictReason;
use crate::chunk::Address;
use crate::commits::Content;

/// The outcome of the merge of one object.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MergedObject {
    /// The object with the changes of both.
    Payload(Vec<u8>),
    /// A decision is needed; about these fields, if the reason is about fields.
    Conflict(ConflictReason, Vec<String>),
}

/// The object before both changes, ours and theirs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Three<'a> {
    pub(super) base: Option<&'a [u8]>,
    pub(super) ours: Option<&'a [u8]>,
    pub(super) theirs: Option<&'a [u8]>,
}

/// Merges an object that both have changed, to different bytes. With ours and theirs exchanged, the
/// outcome is the same.
///
/// # Errors
/// If a payload is malformed.
pub(super) fn merge_object(
    content: &Content<'_>,
    three: Three<'_>,
) -> Result<MergedObject, Malformed> {
    let conflict = |reason| Ok(MergedObject::Conflict(reason, Vec::new()));
    let (Some(ours), Some(theirs)) = (three.ours, three.theirs) else {
        return conflict(ConflictReason::Deleted);
    };
    for payload in [three.base, Some(ours), Some(theirs)].into_iter().flatten() {
        if !content.knows(payload)? {
            return conflict(ConflictReason::Unknown);
        }
    }
    let types = content.types();
    let differ = differing_fields(types, ours, theirs)?;
    let names = |fields: &[&FieldLayout]| {
        let names = fields.iter().map(|field| field.name.to_string());
        names.collect::<Vec<_>>()
    };
    // Equal values may have different bytes: then those with the smaller hash are taken.
    let takes_ours = Address::of(ours) <= Address::of(theirs);
    let Some(base) = three.base else {
        return Ok(match differ.is_empty() {
            true if takes_ours => MergedObject::Payload(ours.to_vec()),
            true => MergedObject::Payload(theirs.to_vec()),
            false => MergedObject::Conflict(ConflictReason::Inserted, names(&differ)),
        });
    };
    let our_changes = differing_fields(types, base, ours)?;
    let their_changes = differing_fields(types, base, theirs)?;
    let has = |fields: &[&FieldLayout], field: &FieldLayout| {
        fields.iter().any(|known| known.voffset == field.voffset)
    };
    let of_both = |field: &&FieldLayout| has(&our_changes, field) && has(&their_changes, field);
    let conflicts: Vec<&FieldLayout> = differ.into_iter().filter(of_both).collect();
    if !conflicts.is_empty() {
        return Ok(MergedObject::Conflict(
            ConflictReason::Fields,
            names(&conflicts),
        ));
    }
    let payload = combine(types, &[base, ours, theirs], |field| {
        match (has(&our_changes, field), has(&their_changes, field)) {
            (false, false) => 0,
            (true, false) => 1,
            (false, true) => 2,
            (true, true) if takes_ours => 1,
            (true, true) => 2,
        }
    });
    Ok(MergedObject::Payload(payload?))
}
