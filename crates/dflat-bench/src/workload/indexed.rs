//! Types with one, three and five indexes.

use std::fmt::Debug;

use dflat::{Field, Object, Sure};

use super::{Catalogued, CataloguedData, Listed, ListedData, Ranked, RankedData, number};

/// The number of tags.
const TAGS: usize = 100;

/// A field that an index holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// An integer.
    Rank,
    /// A string that a hundredth of the objects share.
    Tag,
    /// An integer that no two objects share.
    Code,
}

impl Column {
    /// The field of this name in the schema.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "rank" => Some(Self::Rank),
            "tag" => Some(Self::Tag),
            "code" => Some(Self::Code),
            _ => None,
        }
    }
}

/// The value of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnValue<'a> {
    /// The value of an integer.
    Int(i64),
    /// The value of a string.
    Text(&'a str),
}

/// A type of the workload with indexes.
pub trait Indexed: for<'k> Object<Key<'k> = &'k str, Data: Debug + PartialEq> {
    /// The object `i` of `count`. No two have the same rank, and ranks are in no order.
    fn data(i: usize, count: usize) -> Self::Data;

    /// Changes the value of every field that an index holds. All ranks remain below `count`.
    fn change(data: &mut Self::Data, count: usize);

    /// The primary key of an owned value.
    fn title_of(data: &Self::Data) -> &str;

    /// The query field of the rank.
    fn rank_field() -> Field<Self, i32, Sure>;

    /// The value of a field; 0 if the type does not have the field.
    fn value(data: &Self::Data, column: Column) -> ColumnValue<'_>;

    /// Whether an object has an entry in the indexes that have a condition.
    fn is_open(data: &Self::Data) -> bool;
}

/// The rank of an object: each number below `count` is given once, because 7919 is a prime.
fn rank(i: usize, count: usize) -> i32 {
    number(i * 7919 % count)
}

/// Another rank below `count`, far from this one.
fn other_rank(rank: i32, count: usize) -> i32 {
    let count = number(count.max(1));
    (rank + count / 2) % count
}

/// A code that no other object has while all objects are changed one after the other.
fn other_code(code: i64, count: usize) -> i64 {
    code + i64::try_from(count).unwrap_or(i64::MAX / 2)
}

fn tag(i: usize) -> String {
    format!("tag{}", i % TAGS)
}

/// Another tag, which the same number of objects share.
fn other_tag(tag: Option<&str>) -> String {
    let tag = tag.unwrap_or_default();
    match tag.strip_prefix("other ") {
        Some(tag) => tag.to_owned(),
        None => format!("other {tag}"),
    }
}

impl Indexed for Ranked {
    fn data(i: usize, count: usize) -> RankedData {
        RankedData {
            title: format!("title{i}"),
            rank: rank(i, count),
            text: Some(format!("text{i}")),
        }
    }

    fn change(data: &mut RankedData, count: usize) {
        data.rank = other_rank(data.rank, count);
    }

    fn title_of(data: &RankedData) -> &str {
        &data.title
    }

    fn rank_field() -> Field<Self, i32, Sure> {
        Self::RANK
    }

    fn value(data: &RankedData, column: Column) -> ColumnValue<'_> {
        ColumnValue::Int(match column {
            Column::Rank => i64::from(data.rank),
            Column::Tag | Column::Code => 0,
        })
    }

    fn is_open(_: &RankedData) -> bool {
        true
    }
}

macro_rules! indexed {
    ($type:ident, $data:ident { $($field:ident: $value:expr),* }, $is_open:expr) => {
        impl Indexed for $type {
            fn data(i: usize, count: usize) -> $data {
                $data {
                    title: format!("title{i}"),
                    rank: rank(i, count),
                    tag: Some(tag(i)),
                    code: i64::from(number(i)),
                    $($field: ($value)(i),)*
                    text: Some(format!("text{i}")),
                }
            }

            fn change(data: &mut $data, count: usize) {
                data.rank = other_rank(data.rank, count);
                data.code = other_code(data.code, count);
                data.tag = Some(other_tag(data.tag.as_deref()));
            }

            fn title_of(data: &$data) -> &str {
                &data.title
            }

            fn rank_field() -> Field<Self, i32, Sure> {
                Self::RANK
            }

            fn value(data: &$data, column: Column) -> ColumnValue<'_> {
                match column {
                    Column::Rank => ColumnValue::Int(i64::from(data.rank)),
                    Column::Tag => ColumnValue::Text(data.tag.as_deref().unwrap_or_default()),
                    Column::Code => ColumnValue::Int(data.code),
                }
            }

            fn is_open(data: &$data) -> bool {
                ($is_open)(data)
            }
        }
    };
}

indexed!(Listed, ListedData {}, |_: &ListedData| true);
indexed!(
    Catalogued,
    CataloguedData {
        open: |i| i % 2 == 0
    },
    |data: &CataloguedData| data.open
);
