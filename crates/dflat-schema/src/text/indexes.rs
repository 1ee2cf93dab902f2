//! Where the indexes of descriptors are declared in a schema.

use std::collections::{BTreeMap, BTreeSet};

use dflat_model::{IndexDescriptor, Step, TableDescriptor};

use super::condition;
use super::inner::Groups;
use super::order::{FieldOrder, Visits};
use super::path::{Start, Stop, follow};
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

/// How the order of indexes is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// Fields are in the order of their numbers, which is often that of the indexes.
    Numbers,
    /// Fields are in the order of their indexes.
    Indexes,
    /// The same, and an index over several fields or of some objects is declared on the innermost
    /// table that has all of its fields.
    Inner,
}

impl Arrangement {
    pub(super) const ALL: [Self; 3] = [Self::Numbers, Self::Indexes, Self::Inner];
}

/// The declarations of all indexes.
#[derive(Default)]
pub(super) struct Marks<'a> {
    /// The fields with an index of their own, and whether it is unique.
    fields: BTreeMap<Stop<'a>, bool>,
    /// The fields with an index of some objects, and whether it is unique, with its condition.
    conditions: BTreeMap<(Stop<'a>, bool), String>,
    /// By name of a table: the values of its attributes `indexed` and `unique`.
    tables: BTreeMap<&'a str, [String; 2]>,
    /// The fields that lead to an index; `None` if no field has `no_indexes`.
    entered: Option<BTreeSet<Stop<'a>>>,
    /// The order of fields; `None` if they are in the order of their numbers.
    pub(super) order: Option<FieldOrder<'a>>,
}

impl<'a> Marks<'a> {
    /// `None` if an index cannot be written.
    pub(super) fn new(
        tables: &[&'a TableDescriptor],
        placement: Placement,
        arrangement: Arrangement,
    ) -> Option<Self> {
        let is_by_path = placement == Placement::Roots;
        let is_ordered = arrangement != Arrangement::Numbers;
        let mut marks = Self {
            order: is_ordered.then(|| FieldOrder::of_keys(tables)),
            ..Self::default()
        };
        let mut groups = Groups::default();
        let mut entered = BTreeSet::new();
        for table in tables {
            let mut visits = Visits::default();
            let start = Start::root(table);
            for index in table.indexes.iter() {
                let stops = stops(start, index)?;
                let (last, before) = stops.split_last()?;
                if !index.is_plain() && arrangement == Arrangement::Inner {
                    let prefix = groups.add_inner(start, index)?;
                    let stops = follow(start, prefix)?.stops;
                    if let Some(order) = &mut marks.order {
                        visits.add(order, prefix, &stops);
                    }
                    entered.extend(stops);
                } else if !index.is_plain() || is_by_path && !before.is_empty() {
                    groups.add(start, index.clone())?;
                } else {
                    let field = index.fields.first()?;
                    if let Some(order) = &mut marks.order {
                        visits.add(order, &field.steps, &stops);
                    }
                    *marks.fields.entry(*last).or_insert(false) |= index.unique;
                    entered.extend(before);
                }
            }
        }
        marks.entered = (placement != Placement::Fields).then_some(entered);
        for (name, (start, indexes)) in groups.by_type {
            let count = marks.declare_on_fields(start, &indexes);
            let texts = table_texts(start, &indexes[count..])?;
            marks.tables.insert(name, texts);
        }
        Some(marks)
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

    /// The attributes of a table that declare indexes.
    pub(super) fn of_table(&self, table: &str) -> Vec<String> {
        let texts = self.tables.get(table).into_iter().flatten();
        let texts = texts
            .zip([false, true])
            .filter(|(text, _)| !text.is_empty());
        let attributes = texts.map(|(text, unique)| format!("{}: {}", name(unique), quoted(text)));
        attributes.collect()
    }

    /// Chooses the indexes with a condition that are declared on their fields: the first ones of
    /// the table, as long as they are in the order of the fields. Those of the table itself follow.
    /// Returns the number of the chosen ones.
    fn declare_on_fields(&mut self, start: Start<'a>, indexes: &[IndexDescriptor]) -> usize {
        let mut last: Option<(Stop<'a>, u16, bool)> = None;
        for (position, index) in indexes.iter().enumerate() {
            let Some((stop, condition)) = of_one_field(start, index) else {
                return position;
            };
            let steps = index.fields.first().map(|field| &*field.steps);
            let Some([Step::Field(voffset), ..]) = steps else {
                return position;
            };
            let is_behind = last.is_none_or(|(before, number, unique)| match &mut self.order {
                _ if before == stop => !unique && index.unique,
                Some(order) => order.add(before, stop),
                None => number < *voffset,
            });
            if !is_behind || self.fields.get(&stop) == Some(&index.unique) {
                return position;
            }
            self.conditions.insert((stop, index.unique), condition);
            last = Some((stop, *voffset, index.unique));
        }
        indexes.len()
    }
}

/// The attribute of an index.
const fn name(unique: bool) -> &'static str {
    match unique {
        true => "unique",
        false => "indexed",
    }
}

/// The values of the attributes `indexed` and `unique` on a table. `None` if an index cannot be
/// written.
fn table_texts(start: Start<'_>, indexes: &[IndexDescriptor]) -> Option<[String; 2]> {
    let mut texts = [String::new(), String::new()];
    for index in indexes {
        let [indexed, unique] = &mut texts;
        let text = if index.unique { unique } else { indexed };
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(&index_text(start, index)?);
    }
    Some(texts)
}

/// The field and the condition of an index over one field of the table itself.
fn of_one_field<'a>(start: Start<'a>, index: &IndexDescriptor) -> Option<(Stop<'a>, String)> {
    let ([_], Some(condition)) = (&*index.fields, &index.condition) else {
        return None;
    };
    match stops(start, index)?.as_slice() {
        [stop] => Some((*stop, condition::text(start, condition)?)),
        _ => None,
    }
}

/// The fields on the path of the first field of an index.
fn stops<'a>(start: Start<'a>, index: &IndexDescriptor) -> Option<Vec<Stop<'a>>> {
    let field = index.fields.first()?;
    Some(follow(start, &field.steps)?.stops)
}

fn index_text(start: Start<'_>, index: &IndexDescriptor) -> Option<String> {
    let paths = index.fields.iter();
    let paths = paths.map(|field| Some(follow(start, &field.steps)?.text));
    let mut text = paths.collect::<Option<Vec<_>>>()?.join(", ");
    if let Some(condition) = &index.condition {
        text.push_str(" where ");
        text.push_str(&condition::text(start, condition)?);
    }
    Some(text)
}
