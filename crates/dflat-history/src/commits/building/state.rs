//! The states of first trees that are built in batches.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_engine::engine::Engine;
use dflat_engine::storage::{NamedTable, Snapshot, StepId, WriteTransaction};
use dflat_engine::{Error, ErrorKind, Result};

use crate::bytes::Input;
use crate::chunk::{Address, ChunkStore};
use crate::commits::refs;
use crate::commits::store::FileStore;
use crate::past::Place;
use crate::steps::{BUILDING, building_name};
use crate::tree::{Root, Trees};

/// The state of a tree that is built in batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Building {
    /// The step after which the objects were as the tree has them.
    pub(crate) step: StepId,
    pub(crate) root: Root,
    /// The key up to which the tree has all objects; none if it has all.
    pub(crate) until: Option<Vec<u8>>,
    /// The hash of the descriptor by which objects were hashed.
    pub(crate) descriptor: Address,
}

/// The progress of the first tree of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeBuild {
    /// The name of the table.
    pub table: String,
    /// The number of objects that the tree has.
    pub objects: u64,
    /// Whether it has all objects.
    pub is_done: bool,
}

impl Building {
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut input = Input(bytes);
        let step = StepId(input.array().map(i64::from_le_bytes)?);
        let root = Root::from_address(Address::from_bytes(input.array()?));
        let descriptor = Address::from_bytes(input.array()?);
        let until = match input.byte()? {
            0 if input.0.is_empty() => None,
            1 => Some(input.0.to_vec()),
            _ => return None,
        };
        Some(Self {
            step,
            root,
            until,
            descriptor,
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.step.0.to_le_bytes().to_vec();
        bytes.extend(self.root.address().as_bytes());
        bytes.extend(self.descriptor.as_bytes());
        bytes.push(self.until.is_some().into());
        bytes.extend(self.until.iter().flatten());
        bytes
    }

    /// The place among the steps at which the objects were as the tree has them.
    pub(crate) const fn place(&self) -> Place {
        Place {
            step: Some(self.step),
            commit: None,
            received: Vec::new(),
            named: None,
        }
    }
}

/// The tree of a table that is being built, or was built and is in no commit.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if the state is damaged; otherwise the errors of reading.
pub(crate) fn building(snapshot: &mut dyn Snapshot, table: &str) -> Result<Option<Building>> {
    let bytes = refs::read(snapshot, building_name(table).as_bytes())?;
    let of = bytes.map(|bytes| Building::from_bytes(&bytes).ok_or_else(damaged));
    of.transpose()
}

/// All trees that are being built, by the names of their tables.
///
/// # Errors
/// As [`building`].
pub(crate) fn all_building(snapshot: &mut dyn Snapshot) -> Result<BTreeMap<String, Building>> {
    let (mut found, mut is_damaged) = (BTreeMap::new(), false);
    snapshot.all_named(NamedTable::Refs, None, &mut |row| {
        let table = str::from_utf8(row.name).ok();
        if let Some(table) = table.and_then(|name| name.strip_prefix(BUILDING)) {
            match Building::from_bytes(row.bytes) {
                Some(building) => drop(found.insert(table.to_owned(), building)),
                None => is_damaged = true,
            }
        }
        ControlFlow::Continue(())
    })?;
    match is_damaged {
        true => Err(damaged()),
        false => Ok(found),
    }
}

/// The progress of the first trees that no commit has yet.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if a state or a node is damaged; otherwise the errors of reading.
pub fn tree_builds(engine: &Engine) -> Result<Vec<TreeBuild>> {
    let trees = Trees::new(FileStore::new(engine) as Arc<dyn ChunkStore>);
    let building = engine.read_history(all_building)?.into_iter();
    let builds = building.map(|(table, building)| {
        Ok(TreeBuild {
            table,
            objects: trees.len(&building.root)?,
            is_done: building.until.is_none(),
        })
    });
    builds.collect()
}

/// Stores the state of a tree.
///
/// # Errors
/// The errors of writing.
pub(crate) fn put_building(
    writer: &mut dyn WriteTransaction,
    table: &str,
    building: &Building,
) -> Result<()> {
    let bytes = building.to_bytes();
    writer.put_named(NamedTable::Refs, building_name(table).as_bytes(), &bytes)
}

pub(super) fn damaged() -> Error {
    let message = "cannot read the state of a tree that is being built: its bytes are damaged";
    Error::new(ErrorKind::Corrupt, message)
}
