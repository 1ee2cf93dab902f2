//! Look-ups of keys of one integer in mapped files.

use dflat_engine::object::{TableView, whole_value};
use dflat_model::key::IntegerKey;
use dflat_model::{Field, FieldKind, Scalar, Step, Table, ValueRef};

/// The place of the key in each object of a type whose key is one integer of the root table.
#[derive(Clone, Copy, Debug)]
pub(in crate::read) struct IntegerField {
    voffset: u16,
    scalar: Scalar,
    default: i128,
}

impl IntegerField {
    /// `None` if the key of the type is no such integer.
    pub(in crate::read) fn of(table: &Table) -> Option<Self> {
        let [field] = &*table.primary_key else {
            return None;
        };
        let Field { steps, kind, .. } = field;
        let ([Step::Field(voffset)], FieldKind::Scalar(scalar)) = (&**steps, kind) else {
            return None;
        };
        let is_whole = !matches!(scalar, Scalar::F32 | Scalar::F64);
        let default = integer(field.default.as_ref()).filter(|_| is_whole)?;
        Some(Self {
            voffset: *voffset,
            scalar: *scalar,
            default,
        })
    }

    /// The key of an object; `None` if it is damaged.
    #[inline]
    pub(in crate::read) fn read(&self, payload: &[u8]) -> Option<i128> {
        let root = TableView::root(payload).ok()?;
        match root.structure_from(self.voffset, 0).ok()? {
            Some(bytes) => whole_value(self.scalar, bytes),
            None => Some(self.default),
        }
    }
}

/// A key of one integer, and its number; `None` if these values are no such key.
#[inline]
pub(in crate::read) fn integer_of(values: &[ValueRef<'_>]) -> Option<(IntegerKey, i128)> {
    match values {
        [value] => IntegerKey::of(*value).zip(integer(*value)),
        _ => None,
    }
}

/// The number of a value; `None` if it is no integer.
#[inline]
pub(in crate::read) fn integer(value: ValueRef<'_>) -> Option<i128> {
    match value {
        ValueRef::Int(value) => Some(value.into()),
        ValueRef::UInt(value) => Some(value.into()),
        _ => None,
    }
}
