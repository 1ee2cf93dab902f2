//! Copies of files, and their space.

use crate::arguments::{
    BackupArguments, CompactArguments, Format, FormatArguments, PurgeArguments, WriteArguments,
};
use crate::failure::{Failure, Found, Outcome};
use crate::file::OpenFile;
use crate::record::report;

/// Copies a file.
pub(crate) fn backup(arguments: &BackupArguments) -> Outcome {
    let file = OpenFile::read(&arguments.file)?;
    super::with_bar("pages", |progress| {
        file.workspace.backup(&arguments.to, progress)
    })?;
    let pages = file.workspace.pages()?.pages;
    file.close()?;
    report(Format::Table, false, &[("pages copied", pages)])?;
    Ok(Found::Yes)
}

/// Writes a file anew.
pub(crate) fn compact(arguments: &CompactArguments) -> Outcome {
    let file = open(&arguments.file, &arguments.write)?;
    let before = file.workspace.pages()?.pages;
    file.workspace.compact()?;
    end(file, before, &arguments.write)
}

/// Removes the bytes of deleted objects.
pub(crate) fn purge(arguments: &PurgeArguments) -> Outcome {
    let file = open(&arguments.file, &arguments.write)?;
    let before = file.workspace.pages()?.pages;
    file.workspace.purge()?;
    end(file, before, &arguments.write)
}

/// Opens a file that exists.
fn open(
    arguments: &crate::arguments::FileArguments,
    write: &WriteArguments,
) -> Result<OpenFile, Failure> {
    if !arguments.path.exists() {
        let path = arguments.path.display();
        return Err(Failure::file(format!(
            "cannot open {path}: there is no such file"
        )));
    }
    OpenFile::write(arguments, write.dry_run)
}

/// Reports the pages before and after.
fn end(file: OpenFile, before: u64, write: &WriteArguments) -> Outcome {
    let after = file.workspace.pages()?.pages;
    file.close()?;
    let format: &FormatArguments = &write.format;
    let counts = [("pages before", before), ("pages after", after)];
    report(format.get(), write.dry_run, &counts)?;
    Ok(Found::Yes)
}
