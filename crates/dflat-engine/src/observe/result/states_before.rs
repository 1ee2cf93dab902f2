//! The states of rows before they were changed, as a result has them.

use crate::change_set::{RowChange, TableChanges};
use crate::object::Object;

/// Changed rows whose states before are not known, with the states that a result has. `objects` are
/// all objects of the result. A row that neither is nor was in the table is left out.
pub(in super::super) fn with_states_before(
    changes: &TableChanges,
    objects: &[Object],
) -> TableChanges {
    let mut known = changes.clone();
    for object in objects {
        let row_id = object.row_id();
        let row = known.rows.binary_search_by_key(&row_id, |(id, _)| *id);
        if let Some((_, change)) = row.ok().and_then(|row| known.rows.get_mut(row)) {
            change.before = Some(object.clone());
        }
    }
    let is_change = |change: &RowChange| change.before.is_some() || change.after.is_some();
    known.rows.retain(|(_, change)| is_change(change));
    known
}
