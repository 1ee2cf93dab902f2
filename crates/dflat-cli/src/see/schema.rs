//! The types of a file as a schema.

use std::io::Write;

use dflat_schema::schema_text;

use super::note_bare;
use crate::arguments::SchemaArguments;
use crate::failure::{Failure, Found, Outcome};
use crate::file::FileType;
use crate::session::Session;

/// Prints the text of a schema.
pub(crate) fn schema(arguments: &SchemaArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.file)?;
    let chosen = file.types.chosen(&arguments.types)?;
    let (bare, described): (Vec<&FileType>, Vec<&FileType>) =
        chosen.into_iter().partition(|known| known.is_bare());
    bare.iter().for_each(|known| note_bare(known));
    if described.is_empty() {
        return Err(Failure::file("cannot write a schema: no type is described"));
    }
    let tables: Vec<_> = described.iter().map(|known| &*known.table).collect();
    let text = schema_text(&tables).map_err(|why| {
        let help = match tables.len() {
            1 => "",
            _ => "\nhelp: name one of the types",
        };
        Failure::file(format!("cannot write a schema: {why}{help}"))
    })?;
    let mut out = session.out();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    file.close()?;
    Ok(Found::Yes)
}
