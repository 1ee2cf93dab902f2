//! Objects from one file or server to another.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use dflat_workspace::{CopyPhase, WorkspaceCopy};

use crate::arguments::{CopyArguments, FileArguments, OnConflict};
use crate::confirm::confirm;
use crate::failure::{Failure, Found, Outcome};
use crate::file::{OpenFile, exists, is_same_file, shown};
use crate::progress;
use crate::record::report;
use crate::session::Session;

/// The largest number of objects of a transaction.
const BATCH_SIZE: NonZeroUsize = NonZeroUsize::new(10_000).expect("it is not 0");

/// Copies objects.
pub(crate) fn copy(arguments: &CopyArguments, session: &Session) -> Outcome {
    let source = &arguments.file.path;
    if is_same_file(source, &arguments.to) {
        let (source, target) = (shown(source), shown(&arguments.to));
        let message = format!("cannot copy {source} to {target}: they are the same file");
        return Err(Failure::usage(message));
    }
    let from = session.read(&arguments.file)?;
    let chosen = from.types.chosen(&arguments.types)?;
    let mut tables = Vec::new();
    for known in chosen {
        tables.push(from.types.to_write(&known.table.name)?.table.clone());
    }
    let (path, write) = (shown(&arguments.to), &arguments.write);
    let question = format!("replace objects of {path} that have the same keys?");
    let destroys = arguments.on_conflict == OnConflict::Replace && exists(&arguments.to);
    if destroys && !confirm(session, &question, arguments.yes || write.dry_run)? {
        return Ok(Found::Yes);
    }
    let to = OpenFile::write(&FileArguments::of(arguments.to.clone()), write.dry_run)?;
    let mut copy = WorkspaceCopy::new(tables);
    copy.set_batch_size(BATCH_SIZE);
    copy.set_on_conflict(match arguments.on_conflict {
        OnConflict::Fail => dflat_workspace::OnConflict::Fail,
        OnConflict::Skip => dflat_workspace::OnConflict::Keep,
        OnConflict::Replace => dflat_workspace::OnConflict::Replace,
    });
    // An object that was skipped may have other values.
    copy.set_compares(arguments.compare || arguments.on_conflict != OnConflict::Skip);
    if arguments.dictionary {
        copy.add_dictionary();
    }
    let bar = progress::of_objects(|| Ok(0))?;
    let copied = copy.run(&from.workspace, &to.workspace, &mut |state| {
        if state.phase == CopyPhase::Comparing {
            bar.set_message("comparing");
        }
        bar.set_length(state.total);
        bar.set_position(state.done);
        match session.is_interrupted() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    bar.finish_and_clear();
    let copied = copied?;
    from.close()?;
    to.close()?;
    let counts = [
        ("inserted", copied.inserted),
        ("updated", copied.replaced),
        ("unchanged", copied.unchanged),
        ("skipped", copied.kept),
    ];
    report(write.format.get(), write.dry_run, &counts)?;
    Ok(Found::Yes)
}
