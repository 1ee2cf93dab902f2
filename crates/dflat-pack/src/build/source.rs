//! The types of a pack that is built, and objects made ready to be written.

use dflat_engine::object::{Knowledge, canonical};
use dflat_engine::transaction::{Derived, derive};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{Table, Value, key};

/// The largest object, in bytes: a block has the ends of its objects as numbers of four bytes.
const OBJECT_BYTES_MAX: usize = 1 << 31;

/// The largest number of types.
const TYPES_MAX: usize = 1 << 16;

/// A type of the pack.
#[derive(Debug)]
pub(crate) struct SourceType {
    pub(crate) table: Table,
    /// The encoded descriptor.
    pub(super) descriptor: Vec<u8>,
    knowledge: Knowledge,
}

/// An object that is ready to be written.
pub(crate) struct Ready {
    /// The number of its type and its key, encoded: objects are written in the order of these.
    pub(crate) key: Vec<u8>,
    pub(crate) payload: Vec<u8>,
    pub(super) derived: Derived,
}

/// The bytes of a type's number in front of a key.
pub(crate) const TYPE_BYTES: usize = 2;

/// The types by the name of their table, each once.
pub(crate) fn types(tables: impl IntoIterator<Item = Table>) -> Result<Vec<SourceType>> {
    let source = |table: Table| SourceType {
        descriptor: table.to_bytes(),
        knowledge: Knowledge::of(&table.types),
        table,
    };
    let mut types: Vec<SourceType> = tables.into_iter().map(source).collect();
    types.sort_by(|a, b| a.table.name.cmp(&b.table.name));
    types.dedup_by(|a, b| a.descriptor == b.descriptor);
    let twice = types.windows(2).find_map(|pair| match pair {
        [a, b] if a.table.name == b.table.name => Some(a),
        _ => None,
    });
    if let Some(twice) = twice {
        let name = &twice.table.type_name;
        let message = format!("cannot build a pack: {name} has two descriptors that differ");
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    if types.len() > TYPES_MAX {
        let count = types.len();
        let message = format!("cannot build a pack: {count} types are more than {TYPES_MAX}");
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    Ok(types)
}

impl SourceType {
    /// Verifies a payload of any encoder, and makes it canonical.
    pub(crate) fn ready(&self, number: usize, payload: &[u8]) -> Result<Ready> {
        let table = &self.table;
        let refused = |kind, why: &str| {
            let message = format!("cannot add a {} to a pack: {why}", table.type_name);
            Error::new(kind, message)
        };
        // The object is read through the descriptor from now on, so this must know all its values.
        derive(table, payload)
            .map_err(|error| error.context(format_args!("cannot add to a pack")))?;
        let covers = self.knowledge.covers(&table.types, payload);
        if !covers.unwrap_or(false) {
            let why = "it has values that newer code wrote, which the given descriptor lacks";
            return Err(refused(ErrorKind::NewerSchema, why));
        }
        let payload = canonical(table, payload)
            .map_err(|_| refused(ErrorKind::InvalidArgument, "it is too large"))?;
        if payload.len() > OBJECT_BYTES_MAX {
            return Err(refused(ErrorKind::InvalidArgument, "it is too large"));
        }
        self.stored(number, payload)
    }

    /// An object whose payload is canonical already.
    pub(super) fn stored(&self, number: usize, payload: Vec<u8>) -> Result<Ready> {
        let derived = derive(&self.table, &payload)?;
        if let Some(part) = derived.key.iter().position(|value| *value == Value::Null) {
            let name = &self.table.type_name;
            let field = self.table.primary_key.get(part);
            let field = field.map_or("", |field| &*field.name);
            let message = format!(
                "cannot add a {name} to a pack: the field `{field}` of its key has no value, or is \
                 NaN, so no look-up could find the object"
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let mut key = (number as u16).to_be_bytes().to_vec();
        key::append_all(derived.key.iter().map(Value::as_ref), &mut key);
        Ok(Ready {
            key,
            payload,
            derived,
        })
    }

    /// The error of two objects with one key.
    pub(super) fn exists_twice(&self, key: &[Value]) -> Error {
        let key: Vec<String> = key.iter().map(ToString::to_string).collect();
        let message = format!(
            "cannot build a pack: two objects of {} have the key {}",
            self.table.type_name,
            key.join(", ")
        );
        Error::new(ErrorKind::AlreadyExists, message)
    }
}
