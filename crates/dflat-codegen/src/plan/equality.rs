//! Finds the types whose values have an equality without exceptions, `Eq`: those without floats.

use dflat_model::Scalar;
use dflat_schema::{Definition, DefinitionKind, Element, Schema, UnionTarget};

/// By [`DefinitionId`](dflat_schema::DefinitionId): whether no value of the type holds a float.
pub(super) fn total(schema: &Schema) -> Vec<bool> {
    let held: Vec<Vec<Element>> = schema.definitions.iter().map(held).collect();
    let count = schema.definitions.len();
    let mut total = vec![true; count];
    let mut holders = vec![Vec::new(); count];
    let mut found = Vec::new();
    for (outer, elements) in held.iter().enumerate() {
        for element in elements {
            match *element {
                Element::Scalar(scalar) if Scalar::is_float(scalar) => found.push(outer),
                Element::Definition(id) => holders[id.0 as usize].push(outer),
                Element::Scalar(_) | Element::Text => {}
            }
        }
    }
    while let Some(id) = found.pop() {
        if std::mem::replace(&mut total[id], false) {
            found.extend(&holders[id]);
        }
    }
    total
}

/// The elements of a type's fields or members.
fn held(definition: &Definition) -> Vec<Element> {
    match &definition.kind {
        DefinitionKind::Enum(_) => Vec::new(),
        DefinitionKind::Union(union) => {
            let members = union
                .members
                .iter()
                .filter_map(|member| match member.target {
                    UnionTarget::Definition(id) => Some(Element::Definition(id)),
                    UnionTarget::Text => None,
                });
            members.collect()
        }
        DefinitionKind::Struct(found) => {
            let kept = found.fields.iter().filter(|field| !field.deprecated);
            kept.map(|field| field.element).collect()
        }
        DefinitionKind::Table(table) => {
            let kept = table.fields.iter().filter(|field| !field.deprecated);
            kept.map(|field| field.ty.element()).collect()
        }
    }
}
