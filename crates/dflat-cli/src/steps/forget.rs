//! Objects that the whole history forgets.

use dflat_history::garbage::forget_object;

use super::versioned;
use crate::arguments::ForgetArguments;
use crate::confirm::confirm;
use crate::failure::{Failure, Found, Outcome};
use crate::file::OpenFile;
use crate::object::{keys, parts_of};
use crate::record::report;
use crate::session::Session;

/// Deletes objects from the whole history.
pub(crate) fn forget(arguments: &ForgetArguments, session: &Session) -> Outcome {
    let file = OpenFile::write_existing(&arguments.file, arguments.write.dry_run)?;
    let tables = versioned(&file)?;
    let table = &file.types.to_write(&arguments.type_name)?.table;
    let keys = keys(table, &arguments.keys)?;
    let parts = parts_of(&keys);
    let found = file.source().get_many(table, &parts)?;
    let given = arguments.keys.chunks(table.primary_key.len());
    if let Some((key, _)) = given.zip(&found).find(|(_, object)| object.is_some()) {
        let (name, key) = (&table.type_name, key.join(", "));
        return Err(Failure::usage(format!(
            "the object {key} of {name} exists\nhelp: delete it first, by `dflat delete`"
        )));
    }
    let (count, name) = (keys.len() as u64, &table.type_name);
    let objects = if count == 1 { "object" } else { "objects" };
    let question = format!("delete {count} {objects} of {name} from the whole history?");
    let yes = arguments.yes || arguments.write.dry_run;
    let (mut changes, mut commits) = (0, 0);
    let is_asked = confirm(session, &question, yes)?;
    if is_asked {
        for key in &parts {
            session.check()?;
            let forgotten = forget_object(file.workspace.engine(), &tables, table, key)?;
            changes += forgotten.changes;
            commits += forgotten.commits;
        }
    }
    file.close()?;
    let counts = [
        ("forgotten", if is_asked { count } else { 0 }),
        ("changes", changes),
        ("commits", commits),
    ];
    report(
        arguments.write.format.get(),
        arguments.write.dry_run,
        &counts,
    )?;
    Ok(Found::Yes)
}
