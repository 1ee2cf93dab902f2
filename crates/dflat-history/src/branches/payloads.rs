//! The payloads of some objects in several commits.

use std::collections::{BTreeSet, HashMap};

use dflat_engine::storage::Snapshot;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table};

use crate::chunk::Address;
use crate::commits::{CommitId, Content, place};
use crate::compare::{KeyedStates, states_at};
use crate::past::{Moment, Place};

/// Payloads by their hashes.
#[derive(Debug, Default)]
pub(super) struct Payloads {
    by_hash: HashMap<Address, Vec<u8>>,
}

/// The payloads of some keys, in the present state, and in commits.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if a payload is malformed, or the steps do not fit; otherwise the errors
/// of reading.
pub(super) fn read(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    keys: &BTreeSet<Vec<u8>>,
    commits: &[CommitId],
) -> Result<(Vec<KeyedStates>, Payloads)> {
    let mut wanted = vec![(Moment::Commit(Place::PRESENT), keys)];
    for commit in commits {
        wanted.push((Moment::Commit(place(snapshot, *commit)?), keys));
    }
    let states = states_at(snapshot, table, &wanted)?;
    let content = Content::of(table);
    let mut payloads = Payloads::default();
    for (row_id, payload) in states.iter().flat_map(KeyedStates::values) {
        let row_id = row_id.unwrap_or(RowId(0));
        let hash = Address::of(&content.bytes(row_id, payload)?);
        payloads.by_hash.insert(hash, payload.clone());
    }
    Ok((states, payloads))
}

impl Payloads {
    /// Adds the payloads of virtual objects.
    pub(super) fn add(&mut self, made: &HashMap<Address, Vec<u8>>) {
        let made = made.iter().map(|(hash, payload)| (*hash, payload.clone()));
        self.by_hash.extend(made);
    }

    /// The payload of a hash.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if it is not known.
    pub(super) fn get(&self, table: &Table, hash: Option<Address>) -> Result<Option<&[u8]>> {
        let Some(hash) = hash else {
            return Ok(None);
        };
        match self.by_hash.get(&hash) {
            Some(payload) => Ok(Some(payload)),
            None => Err(misfit(table)),
        }
    }
}

/// The error of steps that do not lead to the objects of a commit.
pub(super) fn misfit(table: &Table) -> Error {
    let message = format!(
        "cannot set objects of {} to those of a commit: the steps do not lead to them; a program \
         has changed objects and kept no history",
        table.type_name
    );
    Error::new(ErrorKind::Corrupt, message)
}
