//! Plain data of the Dflat object database: descriptors, values, keys, predicates, queries, and
//! records of changes.
//!
//! The schema compiler and the engine both depend on this crate. It compares, prints and encodes
//! its data, and has no dependencies. The public interface of Dflat is the crate `dflat`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod coverage;
mod descriptor;
mod encoding;
mod expression;
mod extension;
mod field;
mod id;
mod index;
pub mod key;
mod predicate;
mod query;
pub mod record;
mod resolve;
mod scalar;
mod value;

pub use descriptor::{
    AutoKey, Element, EnumLayout, EnumValueLayout, FieldLayout, MemberLayout, ROOT_TYPE, Shape,
    StructFieldLayout, StructLayout, Table, TableDescriptor, TableLayout, TypeDescriptor, TypeId,
    UnionLayout,
};
pub use encoding::{
    BYTES_MAX, DESCRIPTOR_VERSION, DecodeError, ENCODING_VERSION, NESTING_MAX, VERSIONED_DESCRIPTOR,
};
pub use expression::{Arithmetic, Domain, Expression};
pub use field::{ColumnType, Field, FieldKind, Step, VectorField, VectorMember};
pub use id::{CommitSeq, RowId};
pub use index::{INDEX_FIELDS_MAX, IndexCondition, IndexDescriptor, KEY_HASH};
pub use predicate::{Comparison, Predicate, TextTest};
pub use query::{Cursor, Direction, Nulls, Order, Query};
pub use scalar::Scalar;
pub use value::{Value, ValueRef};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
