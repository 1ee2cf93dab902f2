//! A live query in the terminal.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use anstyle::{AnsiColor, Style};
use dflat_engine::engine::Subject;
use dflat_engine::object::Object;
use dflat_engine::observe::{DeliveryOptions, Event, ResultUpdate, Subscription};
use dflat_workspace::Result as EngineResult;

use super::result::{query_of, selected};
use crate::arguments::{Format, WatchArguments};
use crate::display::{Alignment, has_colours};
use crate::failure::{Failure, Found, Outcome, note};
use crate::file::{FileType, OpenFile};
use crate::object::{Column, columns, row};
use crate::record::{Cell, RecordWriter};
use crate::session::Session;

/// A kind of change, its mark for people, and its colour.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    mark: &'static str,
    colour: Option<AnsiColor>,
}

const PRESENT: Kind = kind("present", " ", None);
const INSERTED: Kind = kind("inserted", "+", Some(AnsiColor::Green));
const UPDATED: Kind = kind("updated", "~", Some(AnsiColor::Yellow));
const MOVED: Kind = kind("moved", ">", Some(AnsiColor::Cyan));
const DELETED: Kind = kind("deleted", "-", Some(AnsiColor::Red));

const fn kind(name: &'static str, mark: &'static str, colour: Option<AnsiColor>) -> Kind {
    Kind { name, mark, colour }
}

/// Prints the result of a query, and its changes with each commit.
pub(crate) fn watch(arguments: &WatchArguments, session: &Session) -> Outcome {
    let file = OpenFile::follow(&arguments.condition.file)?;
    let known = file.types.to_write(&arguments.condition.type_name)?;
    let query = query_of(known, &arguments.condition, Some(&arguments.window))?;
    let selection = arguments.select.as_deref();
    let selection = selection.map(|text| selected(&known.table, text));
    let columns = selection
        .transpose()?
        .unwrap_or_else(|| columns(&known.table));
    let subject = Subject::Result {
        query: query.into(),
        known: None,
    };
    let (subscription, deliveries) = subscribe(&file, known, subject)?;
    let printed = print((arguments, session), known, (&columns, &deliveries));
    // Present if the subscription could not begin.
    let error = subscription.error();
    // Order: a callback that waits for the receiver would make the cancellation wait.
    drop(deliveries);
    subscription.cancel();
    printed?;
    drop(subscription);
    file.close()?;
    if let Some(error) = error {
        return Err(error.into());
    }
    Ok(Found::Yes)
}

type Delivery = EngineResult<Box<ResultUpdate>>;

fn subscribe(
    file: &OpenFile,
    known: &FileType,
    subject: Subject,
) -> Result<(Subscription, Receiver<Delivery>), Failure> {
    // If the output is slower than the commits, the callback waits here, and the library merges the
    // changes that follow.
    let (sender, deliveries) = sync_channel(1);
    let function = move |event: Event| {
        if let Event::Result(update) = event {
            // The receiver is gone when the command ends.
            let _ = sender.send(update);
        }
    };
    let options = DeliveryOptions {
        executor: None,
        capacity: 1,
    };
    let engine = file.workspace.engine();
    let subscription = engine.observe(&known.table, subject, options, Box::new(function))?;
    Ok((subscription, deliveries))
}

fn print(
    (arguments, session): (&WatchArguments, &Session),
    known: &FileType,
    (columns, deliveries): (&[Column], &Receiver<Delivery>),
) -> Result<(), Failure> {
    let format = arguments.format.get();
    let first = match format {
        Format::Table => "",
        Format::Jsonl | Format::Csv => "change",
    };
    let first = (first.to_owned(), Alignment::Left);
    let names = columns
        .iter()
        .map(|column| (column.name(), column.alignment()));
    let names = std::iter::once(first).chain(names).collect();
    let mut writer = RecordWriter::new(format, session.stream(), names)?;
    let mut before: Option<Arc<Vec<Object>>> = None;
    let mut left = arguments.deliveries;
    while left != Some(0) {
        let Some(delivery) = session.next(deliveries) else {
            // A command that has printed nothing may begin anew.
            match before.is_some() {
                true => break,
                false => return Ok(()),
            }
        };
        let update = match delivery {
            Ok(update) => update,
            Err(error) => {
                note(&error.to_string());
                continue;
            }
        };
        let after = Arc::clone(&update.fetched.objects);
        for (kind, object) in changes(&update, before.as_deref()) {
            let mark = match format {
                Format::Table => kind.mark,
                Format::Jsonl | Format::Csv => kind.name,
            };
            let mut cells = vec![Cell::Text(mark.to_owned())];
            cells.extend(row(&known.table, &object, columns)?);
            let style = kind.colour.filter(|_| has_colours());
            let style = style.map_or_else(Style::new, |colour| colour.on_default());
            writer.styled_row(&cells, style)?;
        }
        writer.flush()?;
        before = Some(after);
        left = left.map(|left| left - 1);
    }
    writer.end()
}

/// The changes of a delivery, deletions first. Those of the first one are all objects.
fn changes(update: &ResultUpdate, before: Option<&Vec<Object>>) -> Vec<(Kind, Object)> {
    let after = &update.fetched.objects;
    let Some(before) = before else {
        let objects = after.iter().cloned();
        return objects.map(|object| (PRESENT, object)).collect();
    };
    let difference = &update.difference;
    let at = |list: &[Object], position: usize| list.get(position).cloned();
    let deleted = difference.deleted().iter();
    let deleted = deleted.filter_map(|position| Some((DELETED, at(before, position)?)));
    let inserted = difference.inserted().iter();
    let inserted = inserted.filter_map(|position| Some((INSERTED, at(after, position)?)));
    let places: Vec<usize> = difference.moved().iter().map(|moved| moved.to).collect();
    let updated = difference.updated().iter();
    let updated = updated.filter_map(|position| {
        let kind = if places.contains(&position) {
            MOVED
        } else {
            UPDATED
        };
        Some((kind, at(after, position)?))
    });
    let moved = places.iter().copied();
    let moved = moved
        .filter(|position| !difference.updated().contains(*position))
        .filter_map(|position| Some((MOVED, at(after, position)?)));
    deleted
        .chain(inserted)
        .chain(updated)
        .chain(moved)
        .collect()
}
