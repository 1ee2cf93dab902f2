//! Copies of files, and their space.

use super::target::Target;
use super::{refuse_others, with_spinner};
use crate::arguments::{BackupArguments, CompactArguments, PurgeArguments, WriteArguments};
use crate::confirm::confirm;
use crate::failure::{Found, Outcome, note};
use crate::file::OpenFile;
use crate::record::report;
use crate::session::Session;

/// Copies a file.
pub(crate) fn backup(arguments: &BackupArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.file)?;
    refuse_others(&file, "back up")?;
    let target = Target::new(&arguments.to, &arguments.copy)?;
    let mut copied = 0;
    super::with_bar(session, "pages", |progress| {
        let mut counted = |step: dflat_sqlite::Progress| {
            copied = step.total;
            progress(step)
        };
        file.workspace.backup(&target.path, &mut counted)
    })?;
    file.close()?;
    target.report(&arguments.copy, &[("pages copied", copied)])?;
    Ok(Found::Yes)
}

/// Writes a file anew.
pub(crate) fn compact(arguments: &CompactArguments, session: &Session) -> Outcome {
    OpenFile::refuse_server(&arguments.file.path, "compact")?;
    let file = OpenFile::write_existing(&arguments.file, arguments.write.dry_run)?;
    let path = file.shown();
    let question = format!("write {path} anew, without the bytes of deleted objects?");
    if !confirm(session, &question, arguments.yes || arguments.write.dry_run)? {
        return Ok(Found::Yes);
    }
    let before = file.workspace.pages()?.pages;
    with_spinner("writing the file anew", || file.workspace.compact())?;
    end(file, before, &arguments.write)
}

/// Removes the bytes of deleted objects.
pub(crate) fn purge(arguments: &PurgeArguments, session: &Session) -> Outcome {
    OpenFile::refuse_server(&arguments.file.path, "purge")?;
    let file = OpenFile::write_existing(&arguments.file, arguments.write.dry_run)?;
    let path = file.shown();
    let question = format!("remove the bytes of deleted objects from {path}?");
    if !confirm(session, &question, arguments.yes || arguments.write.dry_run)? {
        return Ok(Found::Yes);
    }
    let before = file.workspace.pages()?.pages;
    let purged = with_spinner("removing bytes", || file.workspace.purge())?;
    for table in &purged.versioned {
        note(&format!(
            "the history of {} keeps earlier states and deleted objects; a purge does not touch it",
            file.type_name(table)
        ));
    }
    end(file, before, &arguments.write)
}

/// Reports the pages before and after.
fn end(file: OpenFile, before: u64, write: &WriteArguments) -> Outcome {
    let after = file.workspace.pages()?.pages;
    file.close()?;
    let counts = [("pages before", before), ("pages after", after)];
    report(write.format.get(), write.dry_run, &counts)?;
    Ok(Found::Yes)
}
