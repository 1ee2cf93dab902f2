//! Branches.

use std::io::Write;

use dflat_history::branches::{checkout, create, delete};
use dflat_history::commits::{branches, head, remotes};
use dflat_history::steps::notice;

use super::version::{names_branch, shown};
use super::{history, refuse_server};
use crate::arguments::BranchArguments;
use crate::display::Alignment;
use crate::failure::{Failure, Found, Outcome};
use crate::file::OpenFile;
use crate::record::{Cell, RecordWriter, report};
use crate::session::Session;

/// Prints the branches, or creates, checks out or deletes one.
pub(crate) fn branch(arguments: &BranchArguments, session: &Session) -> Outcome {
    let Some(name) = &arguments.name else {
        return list(arguments, session);
    };
    if !arguments.checkout && !arguments.delete {
        refuse_name(name)?;
    }
    let file = OpenFile::write_existing(&arguments.file, arguments.write.dry_run)?;
    let tables = history(&file)?;
    let engine = file.workspace.engine();
    let counts = if arguments.delete {
        delete(engine, &tables, name)?;
        ("deleted", 1)
    } else {
        notice(engine, &tables)?;
        match arguments.checkout {
            true => ("changed", checkout(engine, &tables, name)?.changed),
            false => create(engine, &tables, name).map(|_| ("created", 1))?,
        }
    };
    file.close()?;
    let write = &arguments.write;
    report(write.format.get(), write.dry_run, &[counts])?;
    Ok(Found::Yes)
}

/// Refuses the name of a new branch that other commands take for a step or a commit.
fn refuse_name(name: &str) -> Result<(), Failure> {
    match names_branch(name) {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "cannot create the branch {name}: a number names a step, and a name that begins with \
             `@` names a commit"
        ))),
    }
}

fn list(arguments: &BranchArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.file)?;
    refuse_server(&file)?;
    let engine = file.workspace.engine();
    let current = engine.read_history(head)?.branch;
    let mut out = session.out();
    let columns = ["branch", "commit", "current"];
    let columns = columns.map(|name| (name.to_owned(), Alignment::Left));
    let format = arguments.write.format.get();
    let mut writer = RecordWriter::new(format, &mut out, columns.to_vec())?;
    let all = engine.read_history(|snapshot| {
        let mut all = branches(snapshot)?;
        all.extend(remotes(snapshot)?);
        Ok(all)
    })?;
    for branch in all {
        let is_current = branch.name == current;
        writer.row(&[
            Cell::Text(branch.name),
            Cell::Text(shown(&branch.commit)),
            Cell::of(&is_current),
        ])?;
    }
    writer.end()?;
    out.flush()?;
    file.close()?;
    Ok(Found::Yes)
}
