//! Where the indexes of descriptors are declared in a schema.

use std::collections::{BTreeMap, BTreeSet};

use dflat_model::{IndexDescriptor, Step, TableDescriptor};

use super::condition;
use super::path::{Stop, follow};
use super::string::quoted;

/// A way to declare indexes. The first one that gives the same descriptors is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    /// An index of one field is declared on the field, also in contained types.
    Fields,
    /// The same, and fields that contain values without an index have `no_indexes`.
    Blocked,
    /// An index of a contained value is declared on the root table, by its path.
    Roots,
}

impl Placement {
    pub(super) const ALL: [Self; 3] = [Self::Fields, Self::Blocked, Self::Roots];
}

/// The declarations of all indexes.
#[derive(Default)]
pub(super) struct Marks<'a> {
    /// The fields with an index of their own, and whether it is unique.
    fields: BTreeMap<Stop<'a>, bool>,
    /// The fields with an index of some objects, and whether it is unique, with its condition.
    conditions: BTreeMap<(Stop<'a>, bool), String>,
    /// The fields that lead to an index; `None` if no field has `no_indexes`.
    entered: Option<BTreeSet<Stop<'a>>>,
    is_by_path: bool,
}

impl<'a> Marks<'a> {
    pub(super) fn new(tables: &[&'a TableDescriptor], placement: Placement) -> Self {
        let is_by_path = placement == Placement::Roots;
        let mut fields = BTreeMap::new();
        let mut entered = BTreeSet::new();
        let mut conditions = BTreeMap::new();
        for table in tables {
            for index in table.indexes.iter().filter(|index| index.is_plain()) {
                let Some(stops) = stops(table, index) else {
                    continue;
                };
                let Some((last, before)) = stops.split_last() else {
                    continue;
                };
                if is_by_path && !before.is_empty() {
                    continue;
                }
                *fields.entry(*last).or_insert(false) |= index.unique;
                entered.extend(before);
            }
        }
        for table in tables {
            of_fields(table, &fields, &mut conditions);
        }
        Self {
            fields,
            conditions,
            entered: (placement != Placement::Fields).then_some(entered),
            is_by_path,
        }
    }

    /// The attributes of a field that declare its own indexes.
    pub(super) fn of_field(&self, stop: Stop<'a>) -> Vec<String> {
        let plain = self
            .fields
            .get(&stop)
            .map(|unique| name(*unique).to_owned());
        let conditional = [false, true].into_iter().filter_map(|unique| {
            let condition = self.conditions.get(&(stop, unique))?;
            Some(format!("{}: {}", name(unique), quoted(condition)))
        });
        plain.into_iter().chain(conditional).collect()
    }

    /// Whether a field that contains other values has `no_indexes`.
    pub(super) fn is_blocked(&self, stop: Stop<'a>) -> bool {
        let entered = self.entered.as_ref();
        entered.is_some_and(|entered| !entered.contains(&stop))
    }

    /// The values of the attributes `indexed` and `unique` on a root table. `None` if an index
    /// cannot be written.
    pub(super) fn of_table(&self, table: &'a TableDescriptor) -> Option<[String; 2]> {
        let mut texts = [String::new(), String::new()];
        for index in table.indexes.iter() {
            if index.is_plain() {
                let is_nested = stops(table, index)?.len() > 1;
                if !(self.is_by_path && is_nested) {
                    continue;
                }
            } else if let Some((stop, condition)) = of_one_field(table, index)
                && self.conditions.get(&(stop, index.unique)) == Some(&condition)
            {
                continue;
            }
            let [indexed, unique] = &mut texts;
            let text = if index.unique { unique } else { indexed };
            if !text.is_empty() {
                text.push_str("; ");
            }
            text.push_str(&index_text(table, index)?);
        }
        Some(texts)
    }
}

/// The attribute of an index.
const fn name(unique: bool) -> &'static str {
    match unique {
        true => "unique",
        false => "indexed",
    }
}

/// Chooses the indexes with a condition that are declared on their fields: the first ones of the
/// table, as long as they are in the order of the fields. Those of the table itself follow.
fn of_fields<'a>(
    table: &'a TableDescriptor,
    plain: &BTreeMap<Stop<'a>, bool>,
    conditions: &mut BTreeMap<(Stop<'a>, bool), String>,
) {
    let mut last = None;
    for index in table.indexes.iter().filter(|index| !index.is_plain()) {
        let Some((stop, condition)) = of_one_field(table, index) else {
            return;
        };
        let steps = index.fields.first().map(|field| &*field.steps);
        let Some([Step::Field(voffset), ..]) = steps else {
            return;
        };
        let place = Some((*voffset, index.unique));
        if place <= last || plain.get(&stop) == Some(&index.unique) {
            return;
        }
        conditions.insert((stop, index.unique), condition);
        last = place;
    }
}

/// The field and the condition of an index over one field of the root table itself.
fn of_one_field<'a>(
    table: &'a TableDescriptor,
    index: &IndexDescriptor,
) -> Option<(Stop<'a>, String)> {
    let ([_], Some(condition)) = (&*index.fields, &index.condition) else {
        return None;
    };
    match stops(table, index)?.as_slice() {
        [stop] => Some((*stop, condition::text(&table.types, condition)?)),
        _ => None,
    }
}

/// The fields on the path of the first field of an index.
fn stops<'a>(table: &'a TableDescriptor, index: &IndexDescriptor) -> Option<Vec<Stop<'a>>> {
    let field = index.fields.first()?;
    Some(follow(&table.types, &field.steps)?.stops)
}

fn index_text(table: &TableDescriptor, index: &IndexDescriptor) -> Option<String> {
    let paths = index.fields.iter();
    let paths = paths.map(|field| Some(follow(&table.types, &field.steps)?.text));
    let mut text = paths.collect::<Option<Vec<_>>>()?.join(", ");
    if let Some(condition) = &index.condition {
        text.push_str(" where ");
        text.push_str(&condition::text(&table.types, condition)?);
    }
    Some(text)
}
