//! Objects from JSON lines and CSV.

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::path::Path;

use indicatif::ProgressBar;

use super::batch::{Importer, Item};
use super::comma_separated::{self, CommaSeparated};
use super::line::Line;
use super::lines::Input;
use super::position::{Position, Recognized, Stored, cannot_read};
use super::rejects::Rejects;
use crate::arguments::{Format, ImportArguments, MoveFormat, OnConflict};
use crate::confirm::confirm;
use crate::failure::{Failure, Found, Outcome, note};
use crate::file::{OpenFile, exists, shown};
use crate::progress;
use crate::record::report;
use crate::session::Session;

/// The bytes of the payloads of a batch; a batch with more is committed early.
const BATCH_BYTES: usize = 8 << 20;

/// Inserts the objects of an input.
pub(crate) fn import(arguments: &ImportArguments, session: &Session) -> Outcome {
    if !may_replace(arguments, session)? {
        return Ok(Found::Yes);
    }
    let file = OpenFile::write(&arguments.file, arguments.dry_run)?;
    let Beginning {
        source,
        stored,
        position,
        is_new,
    } = beginning(arguments, &file)?;
    let bar = progress::of_bytes(match &source {
        Some(source) => source.input().metadata().ok().map(|found| found.len()),
        None => None,
    });
    if let (true, Some(path)) = (is_new, &arguments.rejects) {
        Rejects::check_new(path)?;
    }
    let mut run = Run {
        input: open_input(
            (arguments, session),
            &file,
            source.as_ref().map(Recognized::input),
            &position,
        )?,
        source,
        rejects: arguments
            .rejects
            .as_ref()
            .map(|path| Rejects::new(path, position.rejects_bytes)),
        importer: Importer {
            file: &file,
            tables: tables(arguments, &file)?,
            on_conflict: arguments.on_conflict,
            may_reject: arguments.rejects.is_some(),
            stored,
        },
        position,
        bar,
    };
    if is_new {
        run.begin()?;
    }
    let batch = arguments.batch.get();
    while run.batch(batch)? {
        session.check()?;
    }
    run.bar.finish_and_clear();
    let counts = run.position.clone();
    drop(run);
    file.close()?;
    report(
        Format::Table,
        arguments.dry_run,
        &[
            ("inserted", counts.inserted),
            ("updated", counts.updated),
            ("unchanged", counts.unchanged),
            ("skipped", counts.skipped),
            ("rejected", counts.rejected),
        ],
    )?;
    Ok(Found::Yes)
}

/// Where an import begins.
struct Beginning {
    source: Option<Recognized>,
    /// The place of the position in the dictionary; `None` for standard input.
    stored: Option<Stored>,
    position: Position,
    /// Whether no interrupted import is continued.
    is_new: bool,
}

/// Opens the input, and looks for the position of an interrupted import.
fn beginning(arguments: &ImportArguments, file: &OpenFile) -> Result<Beginning, Failure> {
    let mut beginning = Beginning {
        source: None,
        stored: None,
        position: Position::default(),
        is_new: true,
    };
    let Some(path) = &arguments.from else {
        return Ok(beginning);
    };
    let input = File::open(path).map_err(|error| cannot_read(path, &error))?;
    let mut source = Recognized::new(input);
    let place = Stored::of(&file.workspace, path, arguments.type_name.as_deref())?;
    if !arguments.restart
        && let Some(found) = place.find(&mut source)?
    {
        if found.line > 0 {
            note(&format!("the import continues after line {}", found.line));
        }
        beginning.position = found;
        beginning.is_new = false;
    }
    beginning.stored = Some(place);
    beginning.source = Some(source);
    Ok(beginning)
}

/// Whether the import may go on: whether it replaces nothing, or the user agrees.
fn may_replace(arguments: &ImportArguments, session: &Session) -> Result<bool, Failure> {
    let path = &arguments.file.path;
    if arguments.on_conflict != OnConflict::Replace || !exists(path) {
        return Ok(true);
    }
    let path = shown(path);
    let question = format!("replace objects of {path} that have the same keys?");
    confirm(session, &question, arguments.yes || arguments.dry_run)
}

/// The tables of the objects.
fn tables(
    arguments: &ImportArguments,
    file: &OpenFile,
) -> Result<Vec<dflat_model::Table>, Failure> {
    match &arguments.type_name {
        Some(name) => Ok(vec![file.types.to_write(name)?.table.clone()]),
        None => {
            let described = file.types.iter().filter(|known| !known.is_bare());
            Ok(described.map(|known| known.table.clone()).collect())
        }
    }
}

fn open_input(
    (arguments, session): (&ImportArguments, &Session),
    file: &OpenFile,
    source: Option<&File>,
    position: &Position,
) -> Result<Input, Failure> {
    let is_csv = |path: &Path| path.extension().is_some_and(|extension| extension == "csv");
    let format = arguments.format.unwrap_or_else(|| {
        match !arguments.json && arguments.from.as_deref().is_some_and(is_csv) {
            true => MoveFormat::Csv,
            false => MoveFormat::Jsonl,
        }
    });
    let failed = |error: std::io::Error| Failure::file(format!("cannot read the input: {error}"));
    let stdin = || session.stdin("pass a file with --from");
    let source = source.map(File::try_clone).transpose().map_err(failed)?;
    let table = match &arguments.type_name {
        Some(name) => Some(file.types.to_write(name)?.table.clone()),
        None => None,
    };
    match (format, table) {
        (MoveFormat::Csv, None) => Err(Failure::usage("comma-separated values need one type")),
        (MoveFormat::Csv, Some(table)) => {
            let input = match source {
                Some(source) => comma_separated::Input::File(source),
                None => comma_separated::Input::Stream(Box::new(stdin()?)),
            };
            let place = (position.byte, position.line);
            CommaSeparated::open(input, table, place).map(Input::CommaSeparated)
        }
        (MoveFormat::Jsonl, table) => Ok(Input::Lines {
            reader: match source {
                Some(mut source) => {
                    source
                        .seek(SeekFrom::Start(position.byte))
                        .map_err(failed)?;
                    Box::new(BufReader::with_capacity(1 << 16, source))
                }
                None => Box::new(BufReader::new(stdin()?)),
            },
            table,
            byte: position.byte,
            line: position.line,
        }),
    }
}

/// A running import.
struct Run<'f> {
    input: Input,
    /// The file of the input, by which it is recognized; `None` for standard input.
    source: Option<Recognized>,
    rejects: Option<Rejects>,
    importer: Importer<'f>,
    position: Position,
    bar: ProgressBar,
}

impl Run<'_> {
    /// Stores the position before the first line, so that the file of rejects that the first batch
    /// writes is known to be that of this import.
    fn begin(&mut self) -> Result<(), Failure> {
        if self.rejects.is_none() || self.importer.stored.is_none() {
            return Ok(());
        }
        let source = &mut self.source;
        let begun = self
            .importer
            .commit(&[], &Position::default(), false, &mut |committed| {
                source
                    .as_mut()
                    .map_or(Ok(()), |source| source.note(&mut committed.position))
            })?;
        self.position = begun.position;
        Ok(())
    }

    /// Imports a batch. Returns false after the last one.
    fn batch(&mut self, count: usize) -> Result<bool, Failure> {
        let mut items: Vec<Item> = Vec::new();
        let (mut read, mut bytes, mut is_last) = (0, 0, false);
        while read < count && bytes < BATCH_BYTES {
            let Some(line) = self.input.next(&self.importer.file.types)? else {
                is_last = true;
                break;
            };
            read += 1;
            bytes += line.text.len();
            let Line {
                number,
                text,
                object,
            } = line;
            match (object, &mut self.rejects) {
                (Ok((table, payload)), _) => items.push(Item {
                    line: Some(number),
                    text,
                    table,
                    payload,
                }),
                (Err(reason), Some(rejects)) => {
                    rejects.add(number, &reason, &text)?;
                    self.position.rejected += 1;
                }
                (Err(reason), None) => {
                    return Err(Failure::usage(format!("line {number}: {reason}")));
                }
            }
        }
        (self.position.byte, self.position.line) = self.input.place();
        let (rejects, source) = (&mut self.rejects, &mut self.source);
        // Order: rejects are on the device before the commit, so that none is lost.
        let committed =
            self.importer
                .commit(&items, &self.position, is_last, &mut |committed| {
                    if let Some(rejects) = rejects {
                        for (index, reason) in &committed.rejected {
                            if let Some(item) = items.get(*index) {
                                rejects.add(item.line.unwrap_or_default(), reason, &item.text)?;
                            }
                        }
                        committed.position.rejects_bytes = rejects.write()?;
                    }
                    match source {
                        Some(source) if !is_last => source.note(&mut committed.position),
                        _ => Ok(()),
                    }
                })?;
        self.position = committed.position;
        self.bar.set_position(self.position.byte);
        Ok(!is_last)
    }
}
