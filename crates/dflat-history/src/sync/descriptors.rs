//! The types that an exchange takes, and their descriptors on both sides.

use dflat_engine::object::verify;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{Field, Table, TableDescriptor};

use super::wire::malformed;

/// The types that are taken from a peer.
#[derive(Debug)]
pub(super) struct Descriptors {
    /// The types as this side has them from now on.
    tables: Vec<Table>,
    /// The types as the peer has them.
    theirs: Vec<Option<Table>>,
}

impl Descriptors {
    /// The types that the receiver has versioned and allows.
    pub(super) fn of(tables: &[Table]) -> Self {
        Self {
            tables: tables.to_vec(),
            theirs: vec![None; tables.len()],
        }
    }

    /// The types as this side has them from now on.
    pub(super) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// A type.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if the type is not allowed.
    pub(super) fn table(&self, name: &str) -> Result<&Table> {
        let found = self.tables.iter().find(|table| table.name == name);
        found.ok_or_else(|| {
            let message = format!(
                "cannot sync a commit with objects of {name:?}: the type is not versioned on this \
                 side, or was not allowed"
            );
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }

    /// Takes the descriptor of a type of the peer. If it [extends](TableDescriptor::extended_by)
    /// that of this side, this side has its fields from now on, and keeps its own indexes.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] for malformed bytes; [`ErrorKind::InvalidArgument`] if one side reads
    /// the bytes of the other differently.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<()> {
        let theirs = TableDescriptor::from_bytes(bytes)
            .map_err(|error| malformed(&format!("the descriptor of a type: {error}")))?;
        self.table(&theirs.name)?;
        let both = self.tables.iter_mut().zip(&mut self.theirs);
        for (ours, known) in both.filter(|(ours, _)| ours.name == theirs.name) {
            let fits =
                is_keyed_alike(ours, &theirs) && (ours.covers(&theirs) || theirs.covers(ours));
            if !fits {
                let message = format!(
                    "cannot sync objects of {}: the schemas of both sides do not fit one another",
                    ours.type_name
                );
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
            if !ours.covers(&theirs)
                && let Some(extended) = ours.extended_by(&theirs)
            {
                *ours = Table::new(extended);
            }
            *known = Some(Table::new(theirs.clone()));
        }
        Ok(())
    }

    /// Checks the bytes of an object, as both sides read them.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if they are malformed, or if the peer has not sent the descriptor.
    pub(super) fn verify(&self, table: &Table, payload: &[u8]) -> Result<()> {
        let both = self.tables.iter().zip(&self.theirs);
        let theirs = both
            .filter(|(ours, _)| ours.name == table.name)
            .find_map(|(_, theirs)| theirs.as_ref());
        let Some(theirs) = theirs else {
            let why = format!("objects of {} without their descriptor", table.type_name);
            return Err(malformed(&why));
        };
        for types in [&table.types, &theirs.types] {
            verify(types, payload).map_err(|_| {
                malformed(&format!("an object of {} is malformed", table.type_name))
            })?;
        }
        Ok(())
    }
}

fn is_keyed_alike(ours: &TableDescriptor, theirs: &TableDescriptor) -> bool {
    let same = |(ours, theirs): (&Field, &Field)| {
        ours.steps == theirs.steps && ours.kind == theirs.kind && ours.default == theirs.default
    };
    ours.primary_key.len() == theirs.primary_key.len()
        && ours
            .primary_key
            .iter()
            .zip(theirs.primary_key.iter())
            .all(same)
}
