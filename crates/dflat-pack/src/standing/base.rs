//! The table of the file that names the pack and has the hidden objects.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::SystemTime;

use dflat_engine::storage::{RowWrite, ScanPlan, Snapshot, Source, WriteError, WriteTransaction};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{
    Element, Field, FieldKind, FieldLayout, RowId, Scalar, Shape, Step, Table, TableDescriptor,
    TableLayout, TypeDescriptor, Value, ValueRef,
};

use super::hidden::{ChunkRow, Hidden};
use crate::digest::Digest;
use crate::read::Pack;

/// The table of the file. A row has the name of a table and the number of a chunk as its key; the
/// row with an empty name has the digest of the pack.
pub(super) const TABLE: Table = {
    static DESCRIPTOR: TableDescriptor = TableDescriptor {
        name: Cow::Borrowed("dflat__base"),
        type_name: Cow::Borrowed("dflat__base"),
        auto_key: None,
        primary_key: Cow::Borrowed(&[
            Field {
                name: Cow::Borrowed("name"),
                steps: Cow::Borrowed(&[Step::Field(4)]),
                kind: FieldKind::Text,
                default: Value::Null,
            },
            Field {
                name: Cow::Borrowed("chunk"),
                steps: Cow::Borrowed(&[Step::Field(6)]),
                kind: FieldKind::Scalar(Scalar::I64),
                default: Value::Int(0),
            },
        ]),
        indexes: Cow::Borrowed(&[]),
        types: Cow::Borrowed(&[TypeDescriptor::Table(TableLayout {
            name: Cow::Borrowed("dflat__base"),
            end: 8,
            fields: Cow::Borrowed(&[
                FieldLayout {
                    name: Cow::Borrowed("name"),
                    voffset: 4,
                    shape: Shape::Single(Element::Text),
                    default: Value::Null,
                    required: false,
                },
                FieldLayout {
                    name: Cow::Borrowed("chunk"),
                    voffset: 6,
                    shape: Shape::Single(Element::Scalar(Scalar::I64)),
                    default: Value::Int(0),
                    required: false,
                },
            ]),
        })]),
    };
    Table::from_static(&DESCRIPTOR)
};

/// The key of the row with the digest.
const BASE_KEY: [ValueRef<'static>; 2] = [ValueRef::Text(""), ValueRef::Int(0)];

/// A state of the table.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Changes with each change of the table. `None` if the file does not name a pack yet.
    pub(super) generation: Option<u64>,
    pub(super) base_row: Option<RowId>,
    pub(super) hidden: Arc<Hidden>,
}

/// Reads the table, or takes the state that is known, if it is the same.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] if the file stands on another pack, or on none although it has
/// objects of the pack's types; [`ErrorKind::Corrupt`] if the table is damaged; otherwise the
/// errors of reading the file.
pub(super) fn read(file: &mut dyn Snapshot, pack: &Pack, known: Option<&State>) -> Result<State> {
    let mut found = None;
    let plan = ScanPlan {
        table: &TABLE,
        source: Source::PrimaryKey(&BASE_KEY),
        payload: true,
    };
    file.scan(&plan, &mut |row| {
        found = Some((row.row_id, row.payload.to_vec()));
        ControlFlow::Break(())
    })?;
    let Some((base_row, payload)) = found else {
        check_unused(file, pack)?;
        return Ok(State {
            generation: None,
            base_row: None,
            hidden: Arc::default(),
        });
    };
    let parts = payload.split_first_chunk();
    let parts = parts.and_then(|(digest, rest)| Some((Digest(*digest), rest.try_into().ok()?)));
    let (digest, generation) = parts.ok_or_else(damaged)?;
    if digest != pack.digest() {
        let message = format!(
            "cannot stand on the pack {}: the file stands on the pack {digest}",
            pack.digest()
        );
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    let generation = Some(u64::from_le_bytes(generation));
    if let Some(known) = known.filter(|known| known.generation == generation) {
        return Ok(known.clone());
    }
    Ok(State {
        generation,
        base_row: Some(base_row),
        hidden: Arc::new(read_hidden(file, pack, base_row)?),
    })
}

fn read_hidden(file: &mut dyn Snapshot, pack: &Pack, base_row: RowId) -> Result<Hidden> {
    let rows_of = |table: &str| {
        let found = pack.types().iter().find(|ty| ty.table().name == table);
        found.map(|ty| ty.len())
    };
    let mut hidden = Hidden::default();
    let mut is_damaged = false;
    let plan = ScanPlan {
        table: &TABLE,
        source: Source::Rows,
        payload: true,
    };
    file.scan(&plan, &mut |row| {
        match ChunkRow::from_bytes(row.payload, rows_of) {
            _ if row.row_id == base_row => {}
            Some(chunk) => hidden.put(row.row_id, &chunk),
            None => is_damaged = true,
        }
        ControlFlow::Continue(())
    })?;
    match is_damaged {
        false => Ok(hidden),
        true => Err(damaged()),
    }
}

/// Fails if a file that names no pack has objects of the pack's types.
fn check_unused(file: &mut dyn Snapshot, pack: &Pack) -> Result<()> {
    for ty in pack.types() {
        let mut is_empty = true;
        let plan = ScanPlan {
            table: ty.table(),
            source: Source::Rows,
            payload: false,
        };
        file.scan(&plan, &mut |_| {
            is_empty = false;
            ControlFlow::Break(())
        })?;
        if !is_empty {
            let message = format!(
                "cannot stand on the pack {}: the file has objects of {} that were stored without \
                 the pack; import the pack instead",
                pack.digest(),
                ty.table().type_name
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
    }
    Ok(())
}

#[cold]
fn damaged() -> Error {
    let message = "cannot read the changes of a pack: the table dflat__base is damaged";
    Error::new(ErrorKind::Corrupt, message)
}

/// Writes what was changed, and the digest.
pub(super) fn write(
    file: &mut dyn WriteTransaction,
    pack: &Pack,
    hidden: &mut Hidden,
    base_row: Option<RowId>,
    generation: u64,
) -> Result<RowId> {
    file.create(&TABLE)?;
    hidden.write_changed(|stored_as, row| {
        let chunk = i64::try_from(row.number).unwrap_or(i64::MAX);
        let key = [ValueRef::Text(row.table), ValueRef::Int(chunk)];
        put(file, stored_as, &key, &row.to_bytes())
    })?;
    let mut payload = pack.digest().0.to_vec();
    payload.extend_from_slice(&generation.to_le_bytes());
    put(file, base_row, &BASE_KEY, &payload)
}

/// Puts a row of the table.
fn put(
    file: &mut dyn WriteTransaction,
    stored_as: Option<RowId>,
    key: &[ValueRef<'_>],
    payload: &[u8],
) -> Result<RowId> {
    let row = RowWrite {
        key: stored_as.is_none().then_some(key),
        payload,
        entries: &[],
    };
    let written = match stored_as {
        Some(row_id) => file.update(&TABLE, row_id, &row).map(|()| row_id),
        None => file.insert(&TABLE, &row),
    };
    written.map_err(|error| match error {
        WriteError::Failed(error) => error,
        WriteError::Conflict(_) => damaged(),
    })
}

/// A number that is larger than that of the state before. No other change of that state has it, as
/// good as certainly: 32 bits count, and 32 bits are random.
pub(super) fn next_generation(before: Option<u64>) -> u64 {
    let random = RandomState::new().hash_one(SystemTime::now()) >> 32;
    let count = (before.unwrap_or(0) >> 32).wrapping_add(1);
    count << 32 | random
}
