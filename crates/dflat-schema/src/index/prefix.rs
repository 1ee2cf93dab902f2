//! The path from a root table to a table that it contains.

use std::borrow::Cow;

use dflat_model::{Field, IndexCondition, IndexDescriptor, Step};

/// A path from the root table.
#[derive(Default)]
pub(super) struct Prefix<'a> {
    pub(super) steps: Vec<Step>,
    pub(super) names: Vec<Cow<'a, str>>,
}

impl<'a> Prefix<'a> {
    pub(super) fn push(&mut self, step: Step, name: impl Into<Cow<'a, str>>) {
        self.steps.push(step);
        self.names.push(name.into());
    }

    pub(super) fn pop(&mut self) {
        self.steps.pop();
        self.names.pop();
    }

    /// Extends the path by a field of the table that it leads to.
    fn with_field(&self, field: &Field) -> Field {
        let mut names: Vec<&str> = self.names.iter().map(AsRef::as_ref).collect();
        names.push(&field.name);
        Field {
            name: Cow::Owned(names.join(".")),
            steps: Cow::Owned([self.steps.as_slice(), &field.steps].concat()),
            ..field.clone()
        }
    }

    fn with_condition(&self, condition: &IndexCondition) -> IndexCondition {
        let all = |parts: &[IndexCondition]| -> Vec<IndexCondition> {
            parts.iter().map(|part| self.with_condition(part)).collect()
        };
        match condition {
            IndexCondition::Compare {
                field,
                operator,
                value,
            } => IndexCondition::Compare {
                field: self.with_field(field),
                operator: *operator,
                value: value.clone(),
            },
            IndexCondition::IsNull(field) => IndexCondition::IsNull(self.with_field(field)),
            IndexCondition::IsNotNull(field) => IndexCondition::IsNotNull(self.with_field(field)),
            IndexCondition::And(parts) => IndexCondition::And(all(parts).into()),
            IndexCondition::Or(parts) => IndexCondition::Or(all(parts).into()),
        }
    }

    /// Prefixes the paths of an index of the table that the path leads to.
    pub(super) fn with_index(&self, index: &IndexDescriptor) -> IndexDescriptor {
        let condition = index.condition.as_ref();
        IndexDescriptor {
            fields: index
                .fields
                .iter()
                .map(|field| self.with_field(field))
                .collect(),
            unique: index.unique,
            condition: condition.map(|condition| self.with_condition(condition)),
        }
    }
}
