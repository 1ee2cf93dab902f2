//! Insertions, and replacements by key.

use dflat_engine::transaction::Outcome as Submitted;
use dflat_workspace::Operation;

use super::input::payloads;
use super::{perform, report};
use crate::arguments::{InputArguments, InsertArguments, UpsertArguments};
use crate::failure::{Found, Outcome};
use crate::file::OpenFile;
use crate::session::Session;

/// Inserts objects.
pub(crate) fn insert(arguments: &InsertArguments, session: &Session) -> Outcome {
    submit(&arguments.input, session, |payload| Operation::Create {
        payload,
    })
}

/// Inserts objects, or replaces them.
pub(crate) fn upsert(arguments: &UpsertArguments, session: &Session) -> Outcome {
    submit(&arguments.input, session, |payload| Operation::Upsert {
        payload,
    })
}

fn submit(
    arguments: &InputArguments,
    session: &Session,
    operation: fn(&[u8]) -> Operation<'_>,
) -> Outcome {
    let file = OpenFile::write(&arguments.file, arguments.write.dry_run)?;
    let known = file.types.to_write(&arguments.type_name)?;
    let table = &known.table;
    let payloads = payloads(arguments, table, session)?;
    if payloads.is_empty() {
        // A transaction would make the table.
        file.close()?;
        report(&arguments.write, &[("inserted", 0)])?;
        return Ok(Found::Yes);
    }
    let counts = perform(&file.workspace, table, |context| {
        let (mut inserted, mut updated, mut unchanged) = (0, 0, 0);
        for payload in &payloads {
            match context.submit(table, operation(payload), None)? {
                Submitted::Inserted(_) => inserted += 1,
                Submitted::Updated(_) | Submitted::Deleted(_) => updated += 1,
                Submitted::Identity(_) => unchanged += 1,
            }
        }
        Ok([
            ("inserted", inserted),
            ("updated", updated),
            ("unchanged", unchanged),
        ])
    })?;
    file.close()?;
    report(&arguments.write, &counts)?;
    Ok(Found::Yes)
}
