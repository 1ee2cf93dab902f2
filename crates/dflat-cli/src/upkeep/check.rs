//! Damage, found and repaired.

use dflat_sqlite::{Problem, ProblemKind};
use dflat_workspace::CheckReport;

use super::{described, refuse_others, with_bar};
use crate::arguments::{CheckArguments, Format, RepairArguments};
use crate::display::Alignment;
use crate::failure::{Failure, Found, Outcome};
use crate::file::OpenFile;
use crate::record::{Cell, RecordWriter, report};
use crate::session::Session;

/// Checks a file.
pub(crate) fn check(arguments: &CheckArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.file)?;
    refuse_others(&file, "check")?;
    let tables = described(&file.types);
    let found = with_bar(session, "objects", |progress| {
        file.workspace.check(tables, progress)
    })?;
    file.close()?;
    let format = arguments.format.get();
    print_problems(&found, format, session)?;
    if format == Format::Table {
        let counts = [
            ("objects checked", found.rows),
            ("pages checked", found.pages),
            ("problems", found.problems_count),
        ];
        report(format, false, &counts)?;
    }
    sound(&found)
}

/// Repairs a file.
pub(crate) fn repair(arguments: &RepairArguments, session: &Session) -> Outcome {
    OpenFile::refuse_server(&arguments.file.path, "repair")?;
    let file = OpenFile::write_existing(&arguments.file, arguments.write.dry_run)?;
    let tables = described(&file.types);
    let done = with_bar(session, "objects", |progress| {
        file.workspace.repair(tables, progress)
    })?;
    file.close()?;
    let counts = [
        ("problems before", done.before.problems_count),
        ("rows moved", done.unreadable.len() as u64),
        ("problems after", done.after.problems_count),
    ];
    report(
        arguments.write.format.get(),
        arguments.write.dry_run,
        &counts,
    )?;
    sound(&done.after)
}

fn sound(found: &CheckReport) -> Outcome {
    match found.problems_count {
        0 => Ok(Found::Yes),
        1 => Err(Failure::file("the file has a problem")),
        count => Err(Failure::file(format!("the file has {count} problems"))),
    }
}

fn print_problems(found: &CheckReport, format: Format, session: &Session) -> Result<(), Failure> {
    let columns = ["problem", "table", "row", "message"];
    let columns = columns.map(|name| (name.to_owned(), Alignment::Left));
    let mut writer = RecordWriter::new(format, session.out(), columns.to_vec())?;
    for problem in &found.problems {
        let Problem {
            table,
            row_id,
            message,
            ..
        } = problem;
        let text = |text: &Option<String>| text.clone().map_or(Cell::Missing, Cell::Text);
        writer.row(&[
            Cell::Text(kind(problem.kind).to_owned()),
            text(table),
            row_id.map_or(Cell::Missing, |row_id| Cell::of(&row_id.0)),
            Cell::Text(message.clone()),
        ])?;
    }
    writer.end()
}

const fn kind(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Pages => "pages",
        ProblemKind::Payload => "object",
        ProblemKind::Key => "key",
        ProblemKind::MissingKey => "missing key",
        ProblemKind::Index => "index",
        ProblemKind::Orphan => "orphan",
        ProblemKind::Description => "description",
        _ => "other",
    }
}
