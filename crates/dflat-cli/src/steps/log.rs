//! The steps, one by one.

use std::io::Write;

use dflat_history::commits::{self, Commit, CommitLog};
use dflat_history::steps::{Author, Backwards, Note, Scope, Step, StepId, TableStep};
use serde_json::json;

use super::{refuse_server, version, versioned, without_history};
use crate::arguments::{Format, LogArguments};
use crate::display::{Alignment, time};
use crate::failure::{Found, Outcome, note};
use crate::file::OpenFile;
use crate::record::{Cell, RecordWriter};
use crate::session::{Reading, Session};

/// Prints the steps, or the commits.
pub(crate) fn log(arguments: &LogArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.file)?;
    refuse_server(&file)?;
    if arguments.commits {
        return commits(arguments, session, file);
    }
    let table = match &arguments.type_name {
        Some(name) => Some(file.types.get(name)?.table.name.to_string()),
        None => None,
    };
    let scope = Scope {
        author: Author::Everyone,
        table,
        label: arguments.label.clone(),
    };
    let mut out = session.out();
    let format = arguments.format.get();
    let columns = [
        ("step", Alignment::Right),
        ("time", Alignment::Left),
        ("author", Alignment::Left),
        ("label", Alignment::Left),
        ("origin", Alignment::Left),
        ("changes", Alignment::Left),
    ];
    let columns = columns.map(|(name, side)| (name.to_owned(), side));
    let mut writer = RecordWriter::new(format, &mut out, columns.to_vec())?;
    let mut source = file.workspace.engine();
    let (mut steps, mut count) = (Backwards::below(None), 0);
    while arguments.limit.is_none_or(|limit| count < limit)
        && let Some(stored) = steps.next(&mut source)?
    {
        session.check()?;
        let step = stored.step()?;
        if scope.takes(&step) {
            count += 1;
            writer.row(&cells(&file, &step, format))?;
        }
    }
    writer.end()?;
    out.flush()?;
    if count == 0 && versioned(&file)?.is_empty() {
        note(&without_history(&file));
    }
    file.close()?;
    Ok(Found::Yes)
}

/// Prints the commits of the current branch.
fn commits(arguments: &LogArguments, session: &Session, file: Reading) -> Outcome {
    let engine = file.workspace.engine();
    let head = engine.read_history(commits::head)?;
    let mut out = session.out();
    let columns = [
        ("commit", Alignment::Left),
        ("time", Alignment::Left),
        ("author", Alignment::Left),
        ("label", Alignment::Left),
        ("steps", Alignment::Right),
        ("parents", Alignment::Left),
        ("objects", Alignment::Left),
    ];
    let columns = columns.map(|(name, side)| (name.to_owned(), side));
    let format = arguments.format.get();
    let mut writer = RecordWriter::new(format, &mut out, columns.to_vec())?;
    let (mut log, mut count) = (CommitLog::of(head.commit), 0);
    while arguments.limit.is_none_or(|limit| count < limit)
        && let Some(commit) = log.next(engine)?
    {
        session.check()?;
        count += 1;
        writer.row(&commit_cells(&file, &commit))?;
    }
    writer.end()?;
    out.flush()?;
    file.close()?;
    Ok(Found::Yes)
}

fn commit_cells(file: &OpenFile, commit: &Commit) -> [Cell; 7] {
    let text = |text: &Option<String>| text.clone().map_or(Cell::Missing, Cell::Text);
    let parents = commit.parents.iter().map(version::shown);
    let objects = commit.tables.iter().map(|table| {
        let forgotten = match (table.is_forgotten, table.has_forgotten_objects) {
            (true, _) => " (forgotten)",
            (false, true) => " (some forgotten)",
            (false, false) => "",
        };
        format!(
            "{} {}{forgotten}",
            file.type_name(&table.name),
            table.objects
        )
    });
    [
        Cell::Text(version::shown(&commit.id)),
        Cell::Text(time(commit.time)),
        text(&commit.author),
        text(&commit.label),
        Cell::of(&commit.steps),
        Cell::Text(parents.collect::<Vec<_>>().join(" ")),
        Cell::Text(objects.collect::<Vec<_>>().join(", ")),
    ]
}

fn cells(file: &OpenFile, step: &Step, format: Format) -> [Cell; 6] {
    let text = |text: &Option<String>| text.clone().map_or(Cell::Missing, Cell::Text);
    let changes = match format {
        Format::Jsonl => Cell::of(
            &step
                .tables
                .iter()
                .map(|t| of_table(file, t))
                .collect::<Vec<_>>(),
        ),
        Format::Table | Format::Csv => Cell::Text(shown(file, step)),
    };
    [
        Cell::of(&step.id.0),
        Cell::Text(time(step.time)),
        text(&step.author),
        text(&step.label),
        Cell::Text(origin(&step.note)),
        changes,
    ]
}

/// How the step came about.
fn origin(note: &Note) -> String {
    let named = |steps: &[StepId]| {
        let numbers: Vec<String> = steps.iter().map(|step| step.0.to_string()).collect();
        numbers.join(", ")
    };
    match note {
        Note::Undo(steps) => format!("undo of {}", named(steps)),
        Note::Redo(steps) => format!("redo of {}", named(steps)),
        Note::Unknown => "unknown".to_owned(),
        Note::Checkout(commit) => format!("checkout of {}", version::shown(commit)),
        Note::Merge(commit) => format!("merge {}", version::shown(commit)),
        _ => "change".to_owned(),
    }
}

fn of_table(file: &OpenFile, table: &TableStep) -> serde_json::Value {
    json!({
        "type": file.type_name(&table.name),
        "inserted": table.inserted,
        "updated": table.updated,
        "deleted": table.deleted,
        "has_unnoted": table.has_unnoted,
    })
}

fn shown(file: &OpenFile, step: &Step) -> String {
    let tables = step.tables.iter().map(|table| {
        let counts = [
            ('+', table.inserted),
            ('~', table.updated),
            ('-', table.deleted),
        ];
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        let counts = counts.map(|(mark, count)| format!("{mark}{count}"));
        let more = table.has_unnoted.then(|| "and perhaps more".to_owned());
        let counts: Vec<String> = counts.chain(more).collect();
        let counts = match table.is_kept() {
            true => counts.join(" "),
            false => "not in the history".to_owned(),
        };
        format!("{} {counts}", file.type_name(&table.name))
    });
    tables.collect::<Vec<_>>().join(", ")
}
