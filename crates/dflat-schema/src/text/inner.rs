//! The tables on which indexes over several fields, or of some objects, are declared.

use std::collections::BTreeMap;

use dflat_model::{Field, IndexCondition, IndexDescriptor, Step};

use super::path::Start;

/// Indexes by the table that declares them.
#[derive(Default)]
pub(super) struct Groups<'a> {
    /// By name of the table: its indexes, with paths that start at the table.
    pub(super) by_type: BTreeMap<&'a str, (Start<'a>, Vec<IndexDescriptor>)>,
}

impl<'a> Groups<'a> {
    /// Adds an index to a table, unless the table has it.
    pub(super) fn add(&mut self, start: Start<'a>, index: IndexDescriptor) -> Option<()> {
        let group = self.by_type.entry(start.type_name()?);
        let (_, indexes) = group.or_insert_with(|| (start, Vec::new()));
        let has = |known: &IndexDescriptor| {
            (known.storage_key(), known.unique) == (index.storage_key(), index.unique)
        };
        if !indexes.iter().any(has) {
            indexes.push(index);
        }
        Some(())
    }

    /// Adds an index to the innermost table that has all of its fields. Returns the path to
    /// this table.
    pub(super) fn add_inner<'i>(
        &mut self,
        root: Start<'a>,
        index: &'i IndexDescriptor,
    ) -> Option<&'i [Step]> {
        let first = index.fields.first()?;
        let mut length = first.steps.len().saturating_sub(1);
        let mut index = index.clone();
        each_field(&mut index, &mut |field| {
            let steps = first.steps.iter().zip(&*field.steps);
            length = length.min(steps.take_while(|(one, other)| one == other).count());
            length = length.min(field.steps.len().saturating_sub(1));
        });
        let (start, prefix) = (0..=length).rev().find_map(|length| {
            let prefix = &first.steps[..length];
            Some((root.after(prefix)?, prefix))
        })?;
        each_field(&mut index, &mut |field| {
            field.steps.to_mut().drain(..prefix.len());
        });
        self.add(start, index)?;
        Some(prefix)
    }
}

fn each_field(index: &mut IndexDescriptor, visit: &mut dyn FnMut(&mut Field)) {
    index.fields.to_mut().iter_mut().for_each(&mut *visit);
    if let Some(condition) = &mut index.condition {
        in_condition(condition, visit);
    }
}

fn in_condition(condition: &mut IndexCondition, visit: &mut dyn FnMut(&mut Field)) {
    match condition {
        IndexCondition::Compare { field, .. }
        | IndexCondition::IsNull(field)
        | IndexCondition::IsNotNull(field) => visit(field),
        IndexCondition::And(parts) | IndexCondition::Or(parts) => {
            for part in parts.to_mut() {
                in_condition(part, visit);
            }
        }
    }
}
