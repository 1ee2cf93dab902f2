//! The plan of a query.

use std::io::Write;

use super::result::query_of;
use crate::arguments::{ExplainArguments, Format};
use crate::display::{Alignment, escaped};
use crate::failure::{Found, Outcome};
use crate::record::{Cell, RecordWriter};
use crate::session::Session;

/// Prints the plan of a query.
pub(crate) fn explain(arguments: &ExplainArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.condition.file)?;
    let known = file.types.get(&arguments.condition.type_name)?;
    let mut fetch = session.fetch(file.source(), &known.table);
    fetch.query = query_of(known, &arguments.condition, Some(&arguments.window))?;
    let plan = fetch.explain()?;
    let mut out = session.out();
    match arguments.format.get() {
        Format::Table => writeln!(out, "{}", escaped(&plan.to_string()))?,
        format => {
            let names = [
                "reads",
                "check",
                "sorts",
                "sorts_within",
                "keeps",
                "foreign_rows",
            ];
            let columns = names.map(|name| (name.to_owned(), Alignment::Left));
            let mut writer = RecordWriter::new(format, &mut out, columns.to_vec())?;
            let text = |text: Option<String>| text.map_or(Cell::Missing, Cell::Text);
            writer.row(&[
                Cell::Text(plan.access.to_string()),
                text(plan.check),
                Cell::of(&plan.sorts),
                text((!plan.sorts_within.is_empty()).then(|| plan.sorts_within.join(", "))),
                plan.keeps.map_or(Cell::Missing, |keeps| Cell::of(&keeps)),
                Cell::of(&plan.foreign_rows),
            ])?;
            writer.end()?;
        }
    }
    out.flush()?;
    file.close()?;
    Ok(Found::Yes)
}
