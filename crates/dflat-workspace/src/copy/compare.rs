//! Comparing the objects of a copy with those of the source.

use std::cmp::Ordering;
use std::iter::Peekable;

use dflat_engine::engine::EngineSnapshot;
use dflat_engine::fetch::key_of;
use dflat_engine::object::{Knowledge, Object, canonical};
use dflat_model::{Direction, Expression, Nulls, Order, Table, Value};

use crate::{Error, ErrorKind, Fetch, Result, Rows, Source};

/// The number of objects after which the progress is told.
const TOLD: usize = 1000;

/// Fails unless each object of the source is in the target with the same values. The target may
/// have further objects. `done` is called from time to time with a number of compared objects.
///
/// The objects of both sides come in the order of their keys, so that only a batch of each is in
/// memory.
pub(super) fn compare(
    table: &Table,
    (source, target): (&EngineSnapshot, &EngineSnapshot),
    done: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<()> {
    let (wanted, mut found) = (by_key(table, source)?, by_key(table, target)?);
    let mut differences = Differences::new(table);
    let mut count = 0;
    for object in wanted {
        let object = object?;
        let key = key_of(table, &object)?;
        take_before(table, &key, &mut found)?;
        match next_if(table, &key, &mut found)? {
            None => differences.add(&key, Difference::Missing),
            Some(other) if !differences.are_equal(&object, &other) => {
                differences.add(&key, Difference::Other);
            }
            Some(_) => {}
        }
        count += 1;
        if count == TOLD {
            done(count)?;
            count = 0;
        }
    }
    if count > 0 {
        done(count)?;
    }
    differences.end()
}

/// The objects of a snapshot in the order of their keys.
fn by_key<'s>(table: &Table, snapshot: &'s EngineSnapshot) -> Result<Peekable<Rows<'s>>> {
    let mut fetch = Fetch::new(Source::Snapshot(snapshot), table.clone());
    let parts = table.primary_key.iter().map(|field| Order {
        key: Expression::Field(field.clone()),
        direction: Direction::Ascending,
        nulls: Nulls::Smallest,
    });
    fetch.query.order = parts.collect();
    Ok(fetch.rows()?.peekable())
}

/// Takes the objects whose keys come before a key.
fn take_before(table: &Table, key: &[Value], found: &mut Peekable<Rows<'_>>) -> Result<()> {
    while order(table, key, found)? == Some(Ordering::Less) {
        drop(found.next().transpose()?);
    }
    Ok(())
}

/// The next object, if it has the key.
fn next_if(table: &Table, key: &[Value], found: &mut Peekable<Rows<'_>>) -> Result<Option<Object>> {
    match order(table, key, found)? {
        Some(Ordering::Equal) => found.next().transpose(),
        _ => Ok(None),
    }
}

/// The order of the next object's key and a key; `None` if no object is left.
fn order(table: &Table, key: &[Value], found: &mut Peekable<Rows<'_>>) -> Result<Option<Ordering>> {
    let next = match found.peek() {
        None => return Ok(None),
        Some(Err(error)) => return Err(error.clone()),
        Some(Ok(next)) => key_of(table, next)?,
    };
    let mut parts = next.iter().zip(key);
    let unequal = parts.find_map(|(next, key)| {
        let order = next.as_ref().order(key.as_ref());
        order.is_ne().then_some(order)
    });
    Ok(Some(unequal.unwrap_or(Ordering::Equal)))
}

/// The kind of a difference.
#[derive(Clone, Copy)]
enum Difference {
    Missing,
    Other,
}

/// The differences that were found.
struct Differences<'t> {
    table: &'t Table,
    knowledge: Knowledge,
    count: u64,
    first: Option<(String, Difference)>,
}

impl<'t> Differences<'t> {
    fn new(table: &'t Table) -> Self {
        Self {
            table,
            knowledge: Knowledge::of(&table.types),
            count: 0,
            first: None,
        }
    }

    /// Whether two objects have the same values: the same bytes, or bytes of two encoders.
    fn are_equal(&self, left: &Object, right: &Object) -> bool {
        let form = |object: &Object| {
            let is_known = self.knowledge.covers(&self.table.types, object.payload());
            match is_known {
                Ok(true) => canonical(self.table, object.payload()).ok(),
                _ => None,
            }
        };
        left.payload() == right.payload()
            || form(left).is_some_and(|form_of_left| {
                form(right).is_some_and(|form_of_right| form_of_left == form_of_right)
            })
    }

    fn add(&mut self, key: &[Value], difference: Difference) {
        self.count += 1;
        if self.first.is_none() {
            let parts = self.table.primary_key.iter().zip(key);
            let parts = parts.map(|(field, value)| format!("{field} = {value}"));
            let key = parts.collect::<Vec<_>>().join(", ");
            self.first = Some((key, difference));
        }
    }

    fn end(self) -> Result<()> {
        let Some((key, difference)) = self.first else {
            return Ok(());
        };
        let name = &self.table.type_name;
        let (kind, why) = match difference {
            Difference::Missing => (ErrorKind::NotFound, "is missing"),
            Difference::Other => (ErrorKind::AlreadyExists, "has other values"),
        };
        let others = match self.count - 1 {
            0 => String::new(),
            1 => ", and 1 more object of the type differs".to_owned(),
            others => format!(", and {others} more objects of the type differ"),
        };
        let message = format!(
            "cannot confirm the copy of {name}: in the target, the object with {key} {why}{others}"
        );
        Err(Error::new(kind, message))
    }
}
