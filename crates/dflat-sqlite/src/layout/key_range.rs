//! Converts a range in Dflat's total order into ranges that SQL can express.
//!
//! In SQL a comparison with NULL holds for no row, and a value is converted to the type of the
//! column that it is compared with. In the total order NULL is the smallest value and nothing is
//! converted. So a range that contains NULL and has an upper bound becomes two ranges, and a bound
//! that the column's type can't hold is moved to the next value that the type can hold.

use std::ops::Bound;

use dflat_engine::storage::{Key, KeyScan};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{ColumnType, Direction, Field, RowId, TableDescriptor, Value, ValueRef};

use crate::ffi::Param;

/// The form of a statement that scans a key: everything except the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyShape {
    /// Position of the secondary index, or `None` for the primary key.
    pub(crate) index: Option<usize>,
    /// The number of key parts that are fixed to one value.
    pub(crate) prefix_count: usize,
    /// Whether one of these values is NULL.
    pub(crate) null_in_prefix: bool,
    /// The lower bound of the next part.
    pub(crate) lower: Lower,
    /// The upper bound of the next part.
    pub(crate) upper: Upper,
    /// The direction of the parts that are not fixed.
    pub(crate) direction: Direction,
    /// Whether rows can be equal in all parts that are not fixed, so that the row id orders them.
    pub(crate) ties: bool,
    /// Whether only rows with a larger row id than a given one are scanned.
    pub(crate) after: bool,
    /// The content that the scan gives beside row ids.
    pub(crate) content: ScanContent,
}

impl KeyShape {
    /// The number of first parts that have one value in all rows.
    pub(super) const fn constant_count(self) -> usize {
        match self.upper {
            Upper::Null => self.prefix_count + 1,
            _ => self.prefix_count,
        }
    }
}

/// The content that a scan gives beside row ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanContent {
    Payload,
    /// The values in the index.
    Values,
    Nothing,
    /// The number of rows, and no row ids.
    Count,
    /// The number of rows of each value of the first part that is not fixed, with the values of the
    /// parts up to this one, and no row ids.
    Groups,
}

impl ScanContent {
    pub(crate) const fn payload(wanted: bool) -> Self {
        if wanted { Self::Payload } else { Self::Nothing }
    }
}

/// A lower bound in SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lower {
    None,
    NotNull,
    Included,
    Excluded,
}

/// An upper bound in SQL. All except [`Upper::None`] and [`Upper::Null`] exclude NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upper {
    None,
    Null,
    Included,
    Excluded,
}

/// A range that one statement scans.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a> {
    pub(crate) shape: KeyShape,
    lower: Option<ValueRef<'a>>,
    upper: Option<ValueRef<'a>>,
    after: Option<RowId>,
}

impl<'a> Segment<'a> {
    /// The parameters of the statement, in order.
    pub(crate) fn params(&self, prefix: &'a [Value]) -> impl Iterator<Item = Param<'a>> + Clone {
        let bounds = [self.lower, self.upper].into_iter().flatten();
        let values = prefix.iter().map(Value::as_ref).chain(bounds);
        values.map(Param::Value).chain(self.after.map(Param::id))
    }
}

/// The ranges to scan, in order; at most two.
pub(crate) type Segments<'a> = [Option<Segment<'a>>; 2];

/// The form of a scan for one primary key; `None` if no row can have it.
pub(crate) fn primary_key(
    table: &TableDescriptor,
    key: &[ValueRef<'_>],
    content: ScanContent,
) -> Result<Option<KeyShape>> {
    if key.len() != table.primary_key.len() {
        let message = format!("the key of {} has another number of parts", table.name);
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    if !fits(&table.primary_key, key.iter().copied()) {
        return Ok(None);
    }
    let null_in_prefix = key.iter().any(|value| is_null(*value));
    Ok(Some(KeyShape {
        index: None,
        prefix_count: key.len(),
        null_in_prefix,
        lower: Lower::None,
        upper: Upper::None,
        direction: Direction::Ascending,
        ties: null_in_prefix,
        after: false,
        content,
    }))
}

/// Whether the columns of these fields can hold such values.
fn fits<'v>(fields: &[Field], values: impl Iterator<Item = ValueRef<'v>>) -> bool {
    let columns = fields.iter().map(|field| field.column_type());
    columns
        .zip(values)
        .all(|(column, value)| matches!(fit(column, value), ColumnFit::Exact(_)))
}

/// The ranges of a scan.
pub(crate) fn segments<'a>(
    table: &TableDescriptor,
    scan: &KeyScan<'a>,
    content: ScanContent,
) -> Result<Segments<'a>> {
    let fields = key_fields(table, scan.key)?;
    let Some((fixed, open)) = fields.split_at_checked(scan.prefix.len()) else {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("the prefix of a scan of {} is too long", table.name),
        ));
    };
    if !fits(fixed, scan.prefix.iter().map(Value::as_ref)) {
        return Ok([None, None]);
    }
    let null_in_prefix = scan.prefix.iter().any(|value| is_null(value.as_ref()));
    let shape = KeyShape {
        index: match scan.key {
            Key::Primary => None,
            Key::Index(position) => Some(position),
        },
        prefix_count: scan.prefix.len(),
        null_in_prefix,
        lower: Lower::None,
        upper: Upper::None,
        direction: scan.direction,
        ties: true,
        after: scan.after.is_some(),
        content,
    };
    // The UNIQUE constraint of the main table admits each key without NULL only once.
    let unique = scan.key == Key::Primary && !null_in_prefix;
    let Some(next) = open.first() else {
        let shape = KeyShape {
            ties: !unique,
            ..shape
        };
        return Ok([Some(plain(shape, scan.after)), None]);
    };
    let range = KeyRange {
        shape,
        unique_without_null: unique && open.len() == 1,
        lower: lower_bound(next.column_type(), scan.lower),
        upper: upper_bound(next.column_type(), scan.upper),
        after: scan.after,
    };
    Ok(range.segments())
}

fn key_fields(table: &TableDescriptor, key: Key) -> Result<&[Field]> {
    match key {
        Key::Primary => Ok(&table.primary_key),
        Key::Index(position) => {
            let index = table.indexes.get(position).ok_or_else(|| {
                Error::new(
                    ErrorKind::InvalidArgument,
                    format!("{} has no index {position}", table.name),
                )
            })?;
            Ok(&index.fields)
        }
    }
}

/// The range of the next part, with bounds that fit the column.
struct KeyRange<'a> {
    shape: KeyShape,
    unique_without_null: bool,
    lower: Bound<ValueRef<'a>>,
    upper: Bound<ValueRef<'a>>,
    after: Option<RowId>,
}

impl<'a> KeyRange<'a> {
    fn segments(&self) -> Segments<'a> {
        let null_admitted = match self.lower {
            Bound::Unbounded => true,
            Bound::Included(value) => value.is_null(),
            Bound::Excluded(_) => false,
        };
        match self.upper {
            Bound::Excluded(ValueRef::Null) => return [None, None],
            Bound::Included(ValueRef::Null) => {
                return [null_admitted.then(|| self.nulls()), None];
            }
            _ => {}
        }
        if !null_admitted {
            return [Some(self.values()), None];
        }
        let unbounded = matches!(self.upper, Bound::Unbounded);
        // Without NULL, a unique key has no ties to break. In descending order, that avoids a sort.
        let split = !unbounded
            || (self.unique_without_null && self.shape.direction == Direction::Descending);
        if !split {
            return [Some(plain(self.shape, self.after)), None];
        }
        match self.shape.direction {
            Direction::Ascending => [Some(self.nulls()), Some(self.values())],
            Direction::Descending => [Some(self.values()), Some(self.nulls())],
        }
    }

    fn nulls(&self) -> Segment<'a> {
        let shape = KeyShape {
            upper: Upper::Null,
            ..self.shape
        };
        plain(shape, self.after)
    }

    /// The part of the range above NULL.
    fn values(&self) -> Segment<'a> {
        let (upper_shape, upper) = match self.upper {
            Bound::Unbounded => (Upper::None, None),
            Bound::Included(value) => (Upper::Included, Some(value)),
            Bound::Excluded(value) => (Upper::Excluded, Some(value)),
        };
        let (lower_shape, lower) = match self.lower {
            Bound::Included(value) if !value.is_null() => (Lower::Included, Some(value)),
            Bound::Excluded(value) if !value.is_null() => (Lower::Excluded, Some(value)),
            // An upper bound excludes NULL by itself.
            _ if upper.is_some() => (Lower::None, None),
            _ => (Lower::NotNull, None),
        };
        Segment {
            shape: KeyShape {
                lower: lower_shape,
                upper: upper_shape,
                ties: !self.unique_without_null,
                ..self.shape
            },
            lower,
            upper,
            after: self.after,
        }
    }
}

const fn plain<'a>(shape: KeyShape, after: Option<RowId>) -> Segment<'a> {
    Segment {
        shape,
        lower: None,
        upper: None,
        after,
    }
}

fn is_null(value: ValueRef<'_>) -> bool {
    matches!(value, ValueRef::Null) || matches!(value, ValueRef::Float(float) if float.is_nan())
}

/// The relation of a value to the values that a column can hold.
enum ColumnFit<'a> {
    /// SQLite compares it with the column's values as the total order does.
    Exact(ValueRef<'a>),
    /// The column can't hold the value. Contains the smallest value above it that the column can
    /// hold.
    Below(ValueRef<'a>),
}

fn fit(column: ColumnType, value: ValueRef<'_>) -> ColumnFit<'_> {
    match (column, value) {
        _ if is_null(value) => ColumnFit::Exact(ValueRef::Null),
        (ColumnType::Text, ValueRef::Int(_) | ValueRef::Float(_)) => {
            ColumnFit::Below(ValueRef::Text(""))
        }
        // The unsigned integers that are stored as blobs sort above all numbers.
        (ColumnType::Integer | ColumnType::Real, ValueRef::Text(_)) => {
            ColumnFit::Below(ValueRef::UInt(0))
        }
        (ColumnType::Real, ValueRef::Int(int)) => {
            let float = ValueRef::Float(int as f64);
            match value.order(float) {
                std::cmp::Ordering::Equal => ColumnFit::Exact(float),
                std::cmp::Ordering::Less => ColumnFit::Below(float),
                std::cmp::Ordering::Greater => {
                    ColumnFit::Below(ValueRef::Float((int as f64).next_up()))
                }
            }
        }
        _ => ColumnFit::Exact(value),
    }
}

fn lower_bound<'a>(column: ColumnType, bound: Bound<&'a Value>) -> Bound<ValueRef<'a>> {
    let (value, included) = match bound {
        Bound::Unbounded => return Bound::Unbounded,
        Bound::Included(value) => (value, true),
        Bound::Excluded(value) => (value, false),
    };
    match fit(column, value.as_ref()) {
        ColumnFit::Exact(value) if !included => Bound::Excluded(value),
        ColumnFit::Exact(value) | ColumnFit::Below(value) => Bound::Included(value),
    }
}

fn upper_bound<'a>(column: ColumnType, bound: Bound<&'a Value>) -> Bound<ValueRef<'a>> {
    let (value, included) = match bound {
        Bound::Unbounded => return Bound::Unbounded,
        Bound::Included(value) => (value, true),
        Bound::Excluded(value) => (value, false),
    };
    match fit(column, value.as_ref()) {
        ColumnFit::Exact(value) if included => Bound::Included(value),
        ColumnFit::Exact(value) | ColumnFit::Below(value) => Bound::Excluded(value),
    }
}
