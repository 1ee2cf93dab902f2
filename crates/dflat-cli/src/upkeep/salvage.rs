//! The readable objects of a damaged file.

use super::target::Target;
use super::{described, with_bar};
use crate::arguments::SalvageArguments;
use crate::failure::{Failure, Found, Outcome, note};
use crate::file::{OpenFile, Types};
use crate::session::Session;

/// Saves objects.
pub(crate) fn salvage(arguments: &SalvageArguments, session: &Session) -> Outcome {
    OpenFile::refuse_server(&arguments.file.path, "salvage")?;
    let types = match OpenFile::types_of_damaged(&arguments.file) {
        Ok(types) => types,
        Err(Failure::Message { message, .. }) if !arguments.file.schemas.is_empty() => {
            note(&format!(
                "the types are those of the schemas alone: {message}"
            ));
            Types::of_schemas(&arguments.file.schemas)?
        }
        Err(failure) => return Err(failure),
    };
    let tables = described(&types);
    let target = Target::new(&arguments.to, &arguments.copy)?;
    let from = &arguments.file.path;
    let saved = with_bar(session, "rows", |progress| {
        dflat_workspace::salvage(from, &target.path, tables, progress)
    })?;
    let counts = [
        ("saved", saved.saved),
        ("unreadable", saved.unreadable),
        ("lost", saved.lost),
    ];
    target.report(&arguments.copy, &counts)?;
    Ok(Found::Yes)
}
