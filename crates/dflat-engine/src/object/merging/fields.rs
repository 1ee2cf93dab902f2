//! The fields of a root table, compared and combined one by one.

use dflat_model::{FieldLayout, ROOT_TYPE, TypeDescriptor};

use super::super::compare::Comparer;
use super::super::{Malformed, TableView, Writer};
use super::copy::Copier;
use super::knowledge::Types;

/// The fields of the root table whose values differ between two verified payloads. A field that is
/// a table, a struct, a union or a vector differs as a whole. Values that `types` do not know are
/// not compared.
///
/// # Errors
/// If a payload does not fit the types.
pub fn differing_fields<'t>(
    types: &'t [TypeDescriptor],
    a: &[u8],
    b: &[u8],
) -> Result<Vec<&'t FieldLayout>, Malformed> {
    let (a, b) = (TableView::root(a)?, TableView::root(b)?);
    let comparer = Comparer::new(types);
    let mut differing = Vec::new();
    for field in root_fields(types)? {
        if !comparer.field(field, a, b)? {
            differing.push(field);
        }
    }
    Ok(differing)
}

/// A payload with each field of the root table from one of several verified payloads: `choose` says
/// which. Values that `types` do not know are left out.
///
/// # Errors
/// If a payload does not fit the types, if there is no payload of a number, or if the result would
/// be too large.
pub fn combine(
    types: &[TypeDescriptor],
    payloads: &[&[u8]],
    choose: impl Fn(&FieldLayout) -> usize,
) -> Result<Vec<u8>, Malformed> {
    let copier = Copier {
        types: Types(types),
        as_seen: false,
        canonical: None,
    };
    let mut tables = Vec::with_capacity(payloads.len());
    for payload in payloads {
        tables.push(TableView::root(payload)?);
    }
    let mut writer = Writer::new();
    let root = writer.begin();
    if !writer.begin_table(root) {
        return Err(Malformed);
    }
    let mut children = Vec::new();
    for field in root_fields(types)? {
        let from = *tables.get(choose(field)).ok_or(Malformed)?;
        if let Some(child) = copier.inline_part(&mut writer, field, from)? {
            children.push((field, child, from));
        }
    }
    writer.end_table();
    for (field, child, from) in children {
        copier.child(&mut writer, field, child, from)?;
    }
    writer.leave();
    Ok(writer.finish().map_err(|_| Malformed)?.to_vec())
}

fn root_fields(types: &[TypeDescriptor]) -> Result<&[FieldLayout], Malformed> {
    match types.get(usize::from(ROOT_TYPE.0)) {
        Some(TypeDescriptor::Table(layout)) => Ok(&layout.fields),
        _ => Err(Malformed),
    }
}
