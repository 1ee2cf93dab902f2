//! Deletions.

use dflat_condition::{Parameters, predicate};
use dflat_model::Query;
use dflat_workspace::Operation;

use super::{perform, report};
use crate::arguments::DeleteArguments;
use crate::confirm::confirm;
use crate::failure::{Failure, Found, Outcome, note};
use crate::file::{FileType, OpenFile};
use crate::object::{keys, parts_of};
use crate::session::Session;

/// Deletes objects.
pub(crate) fn delete(arguments: &DeleteArguments, session: &Session) -> Outcome {
    let file = OpenFile::write_existing(&arguments.file, arguments.write.dry_run)?;
    let known = file.types.to_write(&arguments.type_name)?;
    let (deleted, missing) = match &arguments.condition {
        Some(condition) => (
            by_condition((arguments, session), &file, known, condition)?,
            0,
        ),
        None => by_key((arguments, session), &file, known)?,
    };
    file.close()?;
    report(&arguments.write, &[("deleted", deleted)])?;
    Ok(match missing {
        0 => Found::Yes,
        _ => Found::No,
    })
}

/// Deletes the objects that meet a condition, and returns their number.
fn by_condition(
    (arguments, session): (&DeleteArguments, &Session),
    file: &OpenFile,
    known: &FileType,
    condition: &str,
) -> Result<u64, Failure> {
    let table = &known.table;
    let predicate = predicate(condition, table, &Parameters::new())
        .map_err(|error| Failure::of_condition(&error, condition))?;
    let query = Query {
        predicate: Some(predicate),
        ..Query::default()
    };
    let mut fetch = session.fetch(file.source(), table);
    fetch.query = query.clone();
    let count = fetch.count()? as u64;
    if count == 0 || !asked((arguments, session), known, count)? {
        return Ok(0);
    }
    let deleted = perform(&file.workspace, table, |context| {
        context.delete_where(table, query.clone())
    })?;
    Ok(deleted as u64)
}

/// Deletes objects, and returns their number and that of the keys without an object.
fn by_key(
    (arguments, session): (&DeleteArguments, &Session),
    file: &OpenFile,
    known: &FileType,
) -> Result<(u64, u64), Failure> {
    let table = &known.table;
    let keys = keys(table, &arguments.keys)?;
    let parts = parts_of(&keys);
    let found = file.source().get_many(table, &parts)?;
    let given = arguments.keys.chunks(table.primary_key.len());
    for (key, _) in given.zip(&found).filter(|(_, object)| object.is_none()) {
        let (name, key) = (&table.type_name, key.join(", "));
        note(&format!("there is no {name} with the key {key}"));
    }
    let count = found.iter().flatten().count() as u64;
    let missing = found.len() as u64 - count;
    if count == 0 || !asked((arguments, session), known, count)? {
        return Ok((0, missing));
    }
    let deleted = perform(&file.workspace, table, |context| {
        let mut deleted = 0;
        for key in &parts {
            if let Some(object) = context.source().get(table, key)? {
                context.submit(table, Operation::Delete { base: &object }, None)?;
                deleted += 1;
            }
        }
        Ok(deleted)
    })?;
    Ok((deleted, missing))
}

fn asked(
    (arguments, session): (&DeleteArguments, &Session),
    known: &FileType,
    count: u64,
) -> Result<bool, Failure> {
    let objects = if count == 1 { "object" } else { "objects" };
    let name = &known.table.type_name;
    let question = format!("delete {count} {objects} of {name}?");
    confirm(session, &question, arguments.yes || arguments.write.dry_run)
}
