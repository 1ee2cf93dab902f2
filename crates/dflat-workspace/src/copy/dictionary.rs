//! Writing the values of the dictionary, a batch in each transaction.

use dflat_engine::dictionary::{TABLE, item_of};
use dflat_engine::engine::{EngineSnapshot, PerformOptions};
use dflat_engine::object::Object;

use super::{Copied, OnConflict, WorkspaceCopy};
use crate::{Error, ErrorKind, Fetch, Result, Source, TransactionContext, Workspace};

/// Writes the values of the snapshot to the target's dictionary. `done` is called after each batch.
pub(super) fn write(
    copy: &WorkspaceCopy,
    (snapshot, to): (&EngineSnapshot, &Workspace),
    copied: &mut Copied,
    done: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<()> {
    let mut rows = Fetch::new(Source::Snapshot(snapshot), TABLE).rows()?;
    loop {
        let batch = rows.by_ref().take(copy.batch_size.get());
        let batch = batch.collect::<Result<Vec<Object>>>()?;
        if batch.is_empty() {
            return Ok(());
        }
        let added =
            to.perform_blocking_retrying([TABLE], PerformOptions::default(), |context| {
                let mut added = Copied::default();
                for row in &batch {
                    put(copy.on_conflict, row, &context, &mut added)?;
                }
                Ok(added)
            })?;
        copied.add(added);
        done(batch.len())?;
    }
}

fn put(
    on_conflict: OnConflict,
    row: &Object,
    context: &TransactionContext,
    copied: &mut Copied,
) -> Result<()> {
    let item = item_of(row)?;
    let space = context.dictionary().namespace(item.namespace);
    let keys = context.keys(&space);
    match (keys.get(item.key)?, on_conflict) {
        (None, _) => {
            keys.set(item.key, Some(&item.value))?;
            copied.inserted += 1;
        }
        (Some(present), OnConflict::Replace) if present == item.value => copied.unchanged += 1,
        (Some(_), OnConflict::Replace) => {
            keys.set(item.key, Some(&item.value))?;
            copied.replaced += 1;
        }
        (Some(_), OnConflict::Keep) => copied.kept += 1,
        (Some(_), OnConflict::Fail) => {
            let message = format!(
                "cannot copy the value of {:?}: the dictionary of the target has the key",
                item.key
            );
            return Err(Error::new(ErrorKind::AlreadyExists, message));
        }
    }
    Ok(())
}
