//! Secondary indexes: their fields, and the objects that they hold.

use std::borrow::Cow;
use std::fmt;

use crate::predicate::write_joined;
use crate::{Comparison, Expression, Field, FieldKind, Predicate, Scalar, Value};

/// The limit on fields of an index.
pub const INDEX_FIELDS_MAX: usize = 16;

/// A secondary index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexDescriptor {
    /// The fields, by whose values the index is ordered; never empty.
    pub fields: Cow<'static, [Field]>,
    /// Whether each combination of values without NULL may occur only once.
    pub unique: bool,
    /// The index has the objects for which this condition is true, or all objects if it is `None`.
    pub condition: Option<IndexCondition>,
}

/// The condition of an index: a predicate of comparisons with values, as plain data that a `static`
/// can have.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexCondition {
    /// A comparison with a value other than NULL; UNKNOWN if the field is NULL.
    Compare {
        /// The field.
        field: Field,
        /// The operator.
        operator: Comparison,
        /// The value.
        value: Value,
    },
    /// Whether the field is NULL.
    IsNull(Field),
    /// Whether the field is not NULL.
    IsNotNull(Field),
    /// True if all conditions are true.
    And(Cow<'static, [Self]>),
    /// True if at least one condition is true.
    Or(Cow<'static, [Self]>),
}

impl IndexDescriptor {
    /// Creates an index of all objects over one field.
    #[must_use]
    pub fn plain(field: Field, unique: bool) -> Self {
        Self {
            fields: Cow::Owned(vec![field]),
            unique,
            condition: None,
        }
    }

    /// Whether the index is over one field of all objects, the kind that Dflat for Swift has too.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.fields.len() == 1 && self.condition.is_none()
    }

    /// The key of the index in names of storage tables, such as `f8` or
    /// `f8_and_f10_by_0c2b4f0dd1f90a3e`. Indexes with the same contents have the same key; names of
    /// fields do not count. The key of a plain index is that of Dflat for Swift, and does not
    /// depend on types and defaults: see [`definition`](Self::definition). The key of any other
    /// index depends on everything that determines the entries of an object.
    #[must_use]
    pub fn storage_key(&self) -> String {
        let keys: Vec<String> = self.fields.iter().map(Field::storage_key).collect();
        let mut key = keys.join("_and_");
        if !self.is_plain() {
            key.push_str(&format!("{KEY_HASH}{:016x}", self.definition()));
        }
        key
    }

    /// A hash of everything that determines the entries of an object: the fields, their types and
    /// defaults, and the condition. Names of fields do not count, nor whether the index is unique.
    #[must_use]
    pub fn definition(&self) -> u64 {
        fnv(&self.without_names().encoded())
    }

    /// The index without the names of its fields, and not unique.
    fn without_names(&self) -> Self {
        Self {
            fields: self.fields.iter().map(without_names).collect(),
            unique: false,
            condition: self.condition.as_ref().map(IndexCondition::without_names),
        }
    }
}

/// The text before the hash in a key with a hash.
pub const KEY_HASH: &str = "_by_";

fn without_names(field: &Field) -> Field {
    Field {
        name: Cow::Borrowed(""),
        ..field.clone()
    }
}

/// The 64-bit FNV-1a hash.
fn fnv(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

impl IndexCondition {
    /// Converts the condition to a predicate.
    #[must_use]
    pub fn to_predicate(&self) -> Predicate {
        let all = |parts: &[Self]| parts.iter().map(Self::to_predicate).collect();
        match self {
            Self::Compare {
                field,
                operator,
                value,
            } => Predicate::Compare {
                left: Expression::Field(field.clone()),
                operator: *operator,
                right: Expression::Literal(value.clone()),
            },
            Self::IsNull(field) => Predicate::IsNull(Expression::Field(field.clone())),
            Self::IsNotNull(field) => Predicate::IsNull(Expression::Field(field.clone())).negate(),
            Self::And(parts) => Predicate::And(all(parts)),
            Self::Or(parts) => Predicate::Or(all(parts)),
        }
    }

    /// Whether the condition uses one of these fields.
    pub fn mentions(&self, is: &dyn Fn(&Field) -> bool) -> bool {
        match self {
            Self::Compare { field, .. } | Self::IsNull(field) | Self::IsNotNull(field) => is(field),
            Self::And(parts) | Self::Or(parts) => parts.iter().any(|part| part.mentions(is)),
        }
    }

    fn without_names(&self) -> Self {
        let all = |parts: &[Self]| parts.iter().map(Self::without_names).collect();
        match self {
            Self::Compare {
                field,
                operator,
                value,
            } => Self::Compare {
                field: without_names(field),
                operator: *operator,
                value: value.clone(),
            },
            Self::IsNull(field) => Self::IsNull(without_names(field)),
            Self::IsNotNull(field) => Self::IsNotNull(without_names(field)),
            Self::And(parts) => Self::And(all(parts)),
            Self::Or(parts) => Self::Or(all(parts)),
        }
    }
}

/// Writes the index as a schema declares it: `list_id, due where done == false`.
impl fmt::Display for IndexDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_joined(f, &self.fields, ", ")?;
        match &self.condition {
            Some(condition) => write!(f, " where {condition}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for IndexCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare {
                field,
                operator,
                value,
            } => {
                write!(f, "{field} {operator} ")?;
                match (field.kind, value) {
                    (FieldKind::Scalar(Scalar::Bool), Value::Int(value)) => (*value != 0).fmt(f),
                    _ => value.fmt(f),
                }
            }
            Self::IsNull(field) => write!(f, "{field} is null"),
            Self::IsNotNull(field) => write!(f, "{field} is not null"),
            Self::And(parts) => write_parts(f, parts, " and "),
            Self::Or(parts) => write_parts(f, parts, " or "),
        }
    }
}

fn write_parts(f: &mut fmt::Formatter<'_>, parts: &[IndexCondition], by: &str) -> fmt::Result {
    for (position, part) in parts.iter().enumerate() {
        if position > 0 {
            f.write_str(by)?;
        }
        match part {
            IndexCondition::And(_) | IndexCondition::Or(_) => write!(f, "({part})")?,
            _ => write!(f, "{part}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Step;

    fn field(name: &'static str, voffset: u16, scalar: Scalar) -> Field {
        Field {
            name: Cow::Borrowed(name),
            steps: Cow::Owned(vec![Step::Field(voffset)]),
            kind: FieldKind::Scalar(scalar),
            default: Value::Int(0),
        }
    }

    fn open() -> IndexDescriptor {
        IndexDescriptor {
            fields: Cow::Owned(vec![field("due", 10, Scalar::I64)]),
            unique: false,
            condition: Some(IndexCondition::And(Cow::Owned(vec![
                IndexCondition::Compare {
                    field: field("done", 6, Scalar::Bool),
                    operator: Comparison::Equal,
                    value: Value::Int(0),
                },
                IndexCondition::Or(Cow::Owned(vec![
                    IndexCondition::IsNull(field("list", 8, Scalar::I64)),
                    IndexCondition::IsNotNull(field("due", 10, Scalar::I64)),
                ])),
            ]))),
        }
    }

    #[test]
    fn the_key_of_an_index_does_not_depend_on_names() {
        let plain = IndexDescriptor::plain(field("due", 10, Scalar::I64), true);
        assert_eq!(
            (plain.storage_key().as_str(), plain.is_plain()),
            ("f10", true)
        );
        let index = open();
        assert!(!index.is_plain());
        assert_eq!(
            index.to_string(),
            "due where done == false and (list is null or due is not null)"
        );
        let key = index.storage_key();
        // This hash is in files.
        assert_eq!(key, "f10_by_c7caaa2292166187");
        let mut renamed = index.clone();
        renamed.fields.to_mut()[0].name = Cow::Borrowed("until");
        assert_eq!(renamed.storage_key(), key);
        let mut unique = index.clone();
        unique.unique = true;
        assert_eq!(unique.storage_key(), key);
        let mut changed = index.clone();
        changed.fields.to_mut()[0].default = Value::Int(5);
        assert_ne!(changed.storage_key(), key);
        let mut other = index;
        if let Some(IndexCondition::And(parts)) = &mut other.condition
            && let IndexCondition::Compare { value, .. } = &mut parts.to_mut()[0]
        {
            *value = Value::Int(1);
        }
        assert_ne!(other.storage_key(), key);
    }

    #[test]
    fn a_condition_is_a_predicate() {
        let predicate = open().condition.map(|condition| condition.to_predicate());
        assert_eq!(
            predicate.map(|predicate| predicate.to_string()).as_deref(),
            Some("(done == 0 && (list is null || !(due is null)))")
        );
    }
}
