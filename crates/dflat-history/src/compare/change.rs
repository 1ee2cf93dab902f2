//! A change of one object.

use dflat_model::RowId;

/// A change of one object between two states. An object that a received commit has changed may have
/// the row id 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectChange {
    /// The key.
    pub key: Vec<u8>,
    /// The row id and the payload in the first state; `None` if the object was inserted.
    pub before: Option<(RowId, Vec<u8>)>,
    /// The same in the second state; `None` if it was deleted.
    pub after: Option<(RowId, Vec<u8>)>,
}

impl ObjectChange {
    pub(super) fn bytes(&self) -> usize {
        let states = [&self.before, &self.after].into_iter().flatten();
        self.key.len() + states.map(|(_, payload)| payload.len()).sum::<usize>()
    }
}
