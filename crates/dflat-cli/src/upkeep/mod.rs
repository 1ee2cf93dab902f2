//! Commands that care for files.

mod check;
mod salvage;
mod space;
mod target;

use std::ops::ControlFlow;
use std::time::Duration;

use dflat_model::Table;
use dflat_sqlite::Progress;
use indicatif::{ProgressBar, ProgressStyle};

pub(crate) use check::{check, repair};
pub(crate) use salvage::salvage;
pub(crate) use space::{backup, compact, purge};

use crate::failure::{Failure, note};
use crate::file::{OpenFile, Types};
use crate::session::Session;

/// Refuses a pack and a server, for a command that knows database files only.
fn refuse_others(file: &OpenFile, verb: &str) -> Result<(), Failure> {
    OpenFile::refuse_server(&file.path, verb)?;
    if file.pack.is_none() {
        return Ok(());
    }
    let path = file.shown();
    Err(Failure::usage(format!(
        "cannot {verb} {path}: it is a pack\nhelp: `dflat verify` checks a pack, and any copy of \
         the file is a copy of the pack"
    )))
}

/// Runs `work` with a bar on standard error, if that is a terminal.
fn with_bar<R>(
    session: &Session,
    unit: &str,
    work: impl FnOnce(&mut dyn FnMut(Progress) -> ControlFlow<()>) -> R,
) -> R {
    let template = format!("{{bar:30}} {{human_pos}} of {{human_len}} {unit}, {{eta}} left");
    let style = ProgressStyle::with_template(&template);
    // A template that cannot be read shows the bar in its own style.
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(0).with_style(style);
    let result = work(&mut |progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        match session.is_interrupted() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    bar.finish_and_clear();
    result
}

/// Runs `work`, whose steps are not known, with the elapsed time on standard error, if that is a
/// terminal.
pub(crate) fn with_spinner<R>(words: &'static str, work: impl FnOnce() -> R) -> R {
    let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
    // A template that cannot be read shows the spinner in its own style.
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    let spinner = ProgressBar::new_spinner()
        .with_style(style)
        .with_message(words);
    spinner.tick();
    spinner.enable_steady_tick(Duration::from_millis(100));
    let result = work();
    spinner.finish_and_clear();
    result
}

/// The tables whose types are described. Names the others.
fn described(types: &Types) -> Vec<Table> {
    let mut tables = Vec::new();
    for known in types.iter() {
        match known.is_bare() {
            true => note(&format!(
                "the table {} is left out, because nothing describes its type",
                known.table.name
            )),
            false => tables.push(known.table.clone()),
        }
    }
    tables
}
