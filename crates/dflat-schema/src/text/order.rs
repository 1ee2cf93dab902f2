//! The order of fields in which a schema gives the indexes in the order of a descriptor.
//!
//! The indexes of a table are in the order in which the fields are declared, which is not that of
//! their numbers if the fields have the attribute `id`.

use std::collections::{BTreeMap, BTreeSet};

use dflat_model::{Step, TableDescriptor};

use super::path::{Start, Stop, follow};

/// Which fields are declared before which others of the same type.
#[derive(Default)]
pub(super) struct FieldOrder<'a> {
    /// By field: fields that are declared before it.
    before: BTreeMap<Stop<'a>, BTreeSet<Stop<'a>>>,
}

impl<'a> FieldOrder<'a> {
    /// Keeps the order of the fields of primary keys.
    pub(super) fn of_keys(tables: &[&'a TableDescriptor]) -> Self {
        let mut order = Self::default();
        for table in tables {
            let key = |field: &'a dflat_model::Field| {
                let followed = follow(Start::root(table), &field.steps)?;
                followed.stops.first().copied()
            };
            let keys: Vec<Stop<'a>> = table.primary_key.iter().filter_map(key).collect();
            for pair in keys.windows(2) {
                order.add(pair[0], pair[1]);
            }
        }
        order
    }

    /// Declares one field before another. False if the order is the opposite already.
    pub(super) fn add(&mut self, first: Stop<'a>, second: Stop<'a>) -> bool {
        if first == second || self.is_before(second, first) {
            return false;
        }
        self.before.entry(second).or_default().insert(first);
        true
    }

    fn is_before(&self, first: Stop<'a>, second: Stop<'a>) -> bool {
        let mut open = vec![second];
        let mut seen = BTreeSet::new();
        while let Some(stop) = open.pop() {
            for before in self.before.get(&stop).into_iter().flatten() {
                if *before == first {
                    return true;
                }
                if seen.insert(*before) {
                    open.push(*before);
                }
            }
        }
        false
    }

    /// Moves each field behind those that are declared before it.
    pub(super) fn sorted<T>(
        &self,
        fields: Vec<T>,
        stop: impl Fn(&T) -> Option<Stop<'a>>,
    ) -> Vec<T> {
        let positions = fields.iter().enumerate();
        let positions: BTreeMap<Stop<'a>, usize> = positions
            .filter_map(|(position, field)| Some((stop(field)?, position)))
            .collect();
        let mut pending: Vec<Option<T>> = fields.into_iter().map(Some).collect();
        let mut sorted = Vec::with_capacity(pending.len());
        for position in 0..pending.len() {
            // The fields that wait for those behind them on the stack.
            let mut stack = vec![position];
            while let Some(top) = stack.last().copied() {
                let own = pending[top].as_ref().and_then(&stop);
                let before = own.and_then(|own| self.before.get(&own));
                let mut before = before.into_iter().flatten();
                let missing = before.find_map(|stop| {
                    let position = positions.get(stop).copied()?;
                    pending[position].is_some().then_some(position)
                });
                if let Some(missing) = missing {
                    stack.push(missing);
                    continue;
                }
                sorted.extend(pending[top].take());
                stack.pop();
            }
        }
        sorted
    }
}

/// The paths on which an index was found, to compare the order of the fields of one table.
#[derive(Default)]
pub(super) struct Visits<'a> {
    /// By path to a table: the field that led to an index last.
    last: BTreeMap<Vec<(u8, u16)>, Stop<'a>>,
}

impl<'a> Visits<'a> {
    /// Declares the fields on the path of an index behind those of the index before it.
    pub(super) fn add(&mut self, order: &mut FieldOrder<'a>, steps: &[Step], stops: &[Stop<'a>]) {
        let mut path = Vec::new();
        let mut stops = stops.iter();
        for step in steps {
            let key = match *step {
                Step::Field(voffset) => (0, voffset),
                Step::Offset(offset) => (1, offset),
                Step::Member(code) => (2, u16::from(code)),
                Step::Tag => (3, 0),
            };
            // The fields of a struct have the order of their offsets.
            if matches!(step, Step::Field(_) | Step::Offset(_))
                && let Some(stop) = stops.next()
                && let Step::Field(_) = step
                && let Some(last) = self.last.insert(path.clone(), *stop)
            {
                order.add(last, *stop);
            }
            path.push(key);
        }
    }
}
