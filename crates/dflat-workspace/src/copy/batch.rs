//! Writing the objects of one table, a batch in each transaction.

use dflat_engine::engine::{EngineSnapshot, PerformOptions};
use dflat_engine::object::Object;
use dflat_engine::transaction::{Change, Outcome};
use dflat_model::Table;

use super::{BATCH_BYTES, Copied, OnConflict, WorkspaceCopy};
use crate::{ErrorKind, Fetch, Result, Source, TransactionContext, Workspace};

/// Writes the objects of a table of the snapshot to the target, in the order in which they were
/// inserted. `done` is called after each batch.
pub(super) fn write(
    copy: &WorkspaceCopy,
    table: &Table,
    (snapshot, to): (&EngineSnapshot, &Workspace),
    copied: &mut Copied,
    done: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<()> {
    let mut objects = Fetch::new(Source::Snapshot(snapshot), table.clone()).rows()?;
    loop {
        let batch = next_batch(&mut objects, copy.batch_size.get())?;
        if batch.is_empty() {
            return Ok(());
        }
        let options = PerformOptions { write_first: true };
        let added = to.perform_blocking([table.clone()], options, |context| {
            put(copy, table, &batch, &context)
        })?;
        copied.add(added);
        done(batch.len())?;
    }
}

/// The next objects.
fn next_batch(
    objects: &mut dyn Iterator<Item = Result<Object>>,
    size_max: usize,
) -> Result<Vec<Object>> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < size_max && bytes < BATCH_BYTES {
        let Some(object) = objects.next().transpose()? else {
            break;
        };
        bytes += object.payload().len();
        batch.push(object);
    }
    Ok(batch)
}

fn put(
    copy: &WorkspaceCopy,
    table: &Table,
    batch: &[Object],
    context: &TransactionContext,
) -> Result<Copied> {
    let changes = batch.iter().map(|object| {
        let payload = object.payload();
        match copy.on_conflict {
            OnConflict::Replace => Change::Restore { payload },
            OnConflict::Keep | OnConflict::Fail => Change::Create { payload },
        }
    });
    let mut copied = Copied::default();
    for outcome in context.transaction().submit_many(table, changes) {
        match outcome {
            Ok(Outcome::Inserted(_)) => copied.inserted += 1,
            Ok(Outcome::Identity(_)) => copied.unchanged += 1,
            Ok(_) => copied.replaced += 1,
            Err(error)
                if error.kind() == ErrorKind::AlreadyExists
                    && copy.on_conflict == OnConflict::Keep =>
            {
                copied.kept += 1;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(copied)
}
