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

pub(crate) use explain::explain;
pub(crate) use get::get;
pub(crate) use info::{info, types};
pub(crate) use query::{count, query};
pub(crate) use schema::schema;
pub(crate) use stats::stats;
pub(crate) use watch::watch;

use crate::failure::note;
use crate::file::{FileType, Origin, Types};

/// Says which types nothing describes, and why descriptions in the file cannot be used.
fn note_types(types: &Types) {
    let mut bare = Vec::new();
    for known in types.iter() {
        let name = &known.table.name;
        match &known.origin {
            Origin::Unusable(why) => note(&format!(
                "the description of {name} in the file cannot be used: {why}"
            )),
            Origin::Nothing => bare.push(name.to_string()),
            Origin::File | Origin::Pack | Origin::Server | Origin::Schema(_) => {}
        }
    }
    if !bare.is_empty() {
        let names = bare.join(", ");
        note(&format!(
            "nothing describes {names}: pass a schema with --schema"
        ));
    }
}

/// Says why the fields of a type have no names.
fn note_bare(known: &FileType) {
    let name = &known.table.name;
    note(&format!(
        "nothing describes the type of the table {name}: pass its schema with --schema"
    ));
}
