//! Commands that read.

mod explain;
mod get;
mod info;
mod measure;
mod query;
mod result;
mod schema;
mod stats;
mod watch;

use std::io::{self, BufWriter, StdoutLock};

pub(crate) use explain::explain;
pub(crate) use get::get;
pub(crate) use info::{info, types};
pub(crate) use query::{count, query};
pub(crate) use schema::schema;
pub(crate) use stats::stats;
pub(crate) use watch::watch;

use crate::failure::note;
use crate::file::FileType;

/// Standard output, with a buffer.
fn output() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// Says why the fields of a type have no names.
fn note_bare(known: &FileType) {
    let name = &known.table.name;
    note(&format!(
        "nothing describes the type of the table {name}: pass its schema with --schema"
    ));
}
