//! A table for tests.

use std::borrow::Cow;

use dflat_model::{Field, FieldKind, Scalar, Table, TableDescriptor, Value};

/// A table whose rows have a number as key.
pub(crate) fn table() -> Table {
    Table::new(TableDescriptor {
        name: Cow::Borrowed("page"),
        type_name: Cow::Borrowed("Page"),
        auto_key: None,
        primary_key: Cow::Owned(vec![Field {
            name: Cow::Borrowed("id"),
            steps: Cow::Borrowed(&[]),
            kind: FieldKind::Scalar(Scalar::I64),
            default: Value::Int(0),
        }]),
        indexes: Cow::Borrowed(&[]),
        types: Cow::Borrowed(&[]),
    })
}
