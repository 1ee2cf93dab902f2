//! Exchanges with another file.

use std::io;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use dflat_engine::engine::Engine;
use dflat_history::branches::{Merged, ObjectConflict};
use dflat_history::commits::{CommitId, head};
use dflat_history::steps::notice;
use dflat_history::sync::{Duplex, Remote, Server, Stream, SyncLimits};
use dflat_model::Table;
use dflat_workspace::ErrorKind;

use super::merge::{merge_keeping, print};
use super::version::shown;
use super::versioned;
use crate::arguments::{FileArguments, SyncArguments};
use crate::failure::{Failure, Found, Outcome, note};
use crate::file::{self, OpenFile, exists, is_same_file};
use crate::record::report;
use crate::session::Session;

/// The other side of an exchange.
enum Other {
    /// A file, its types, and whether it accepts commits that have lost objects.
    File(Box<OpenFile>, Vec<Table>, bool),
    /// A program that runs `dflat serve`.
    Program(Program),
}

/// A running program, and its standard output and input as a connection.
struct Program {
    child: Child,
    stream: Duplex<ChildStdout, ChildStdin>,
}

impl Other {
    fn open(arguments: &SyncArguments) -> Result<Self, Failure> {
        let Some(path) = &arguments.other else {
            let command = arguments.through.as_deref().unwrap_or_default();
            return Program::run(command).map(Self::Program);
        };
        let file = FileArguments::of(path.clone());
        let file = OpenFile::write(&file, arguments.write.dry_run)?;
        let tables = versioned(&file)?;
        notice(file.workspace.engine(), &tables)?;
        Ok(Self::File(
            Box::new(file),
            tables,
            arguments.accept_forgotten,
        ))
    }

    /// Asks the other side.
    fn ask<R>(
        &mut self,
        ask: impl FnOnce(&mut dyn Stream) -> dflat_workspace::Result<R>,
    ) -> dflat_workspace::Result<R> {
        match self {
            Self::Program(program) => ask(&mut program.stream),
            Self::File(file, tables, accepts_forgotten) => {
                let server = Server {
                    engine: file.workspace.engine(),
                    tables,
                    allowed: tables,
                    takes_pushes: true,
                    accepts_forgotten: *accepts_forgotten,
                    limits: SyncLimits::default(),
                };
                server.serve_here(ask)
            }
        }
    }

    fn close(self) -> Result<(), Failure> {
        match self {
            Self::File(file, ..) => file.close(),
            Self::Program(program) => program.end(),
        }
    }
}

impl Program {
    fn run(command: &str) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::file(format!("cannot run {command}: {error}"));
        let (shell, flag) = match cfg!(windows) {
            true => ("cmd", "/C"),
            false => ("sh", "-c"),
        };
        let mut child = Command::new(shell)
            .args([flag, command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let missing = || failed(io::Error::from(io::ErrorKind::BrokenPipe));
        let writer = child.stdin.take().ok_or_else(missing)?;
        let reader = child.stdout.take().ok_or_else(missing)?;
        let stream = Duplex { reader, writer };
        Ok(Self { child, stream })
    }

    /// Ends the program's input, and waits for its end.
    fn end(self) -> Result<(), Failure> {
        let Self { mut child, stream } = self;
        drop(stream);
        let ended = child.wait();
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure::file(format!("the command ended with {status}"))),
            Err(error) => Err(Failure::file(format!(
                "cannot wait for the command: {error}"
            ))),
        }
    }
}

/// The outcome of an exchange.
enum Synced {
    Conflicts(Vec<ObjectConflict>),
    /// The last commit, and what was done.
    Done(CommitId, [(&'static str, u64); 3]),
}

/// Receives the commits of another file, merges them, and sends the result.
pub(crate) fn sync(arguments: &SyncArguments, session: &Session) -> Outcome {
    let write = &arguments.write;
    if write.dry_run && arguments.through.is_some() {
        let message = "cannot make a dry run through a command: it would change the other file";
        return Err(Failure::usage(message));
    }
    if let Some(other) = &arguments.other {
        refuse_itself(&arguments.file.path, other)?;
        // One of two files may be new.
        if !exists(other) {
            OpenFile::check_exists(&arguments.file.path)?;
        }
    }
    let file = OpenFile::write(&arguments.file, write.dry_run)?;
    let mut tables = versioned(&file)?;
    notice(file.workspace.engine(), &tables)?;
    let mut other = Other::open(arguments)?;
    if let Other::File(there, of_other, _) = &mut other {
        share_types(&file, &mut tables, of_other)?;
        share_types(there, of_other, &tables)?;
    }
    let synced = exchange(arguments, &file, &tables, &mut other);
    let ended = other.close();
    let synced = synced.and_then(|synced| ended.map(|()| synced))?;
    file.close()?;
    match synced {
        Synced::Conflicts(conflicts) => {
            print(write.format.get(), session, &conflicts, arguments.keep)?;
            Ok(Found::No)
        }
        Synced::Done(commit, counts) => {
            note(&format!("the current branch is at {}", shown(&commit)));
            report(write.format.get(), write.dry_run, &counts)?;
            Ok(Found::Yes)
        }
    }
}

fn refuse_itself(path: &Path, other: &Path) -> Result<(), Failure> {
    match is_same_file(path, other) {
        false => Ok(()),
        true => {
            let [path, other] = [path, other].map(file::shown);
            let message = format!("cannot sync {path} with {other}: they are the same file");
            Err(Failure::usage(message))
        }
    }
}

/// Has a file without types take those of another one.
fn share_types(file: &OpenFile, tables: &mut Vec<Table>, known: &[Table]) -> Result<(), Failure> {
    let engine = file.workspace.engine();
    let Some(history) = engine.history() else {
        return Ok(());
    };
    if file.workspace.stored_tables()?.is_empty() {
        for table in known {
            history.want(table, true);
            tables.push(table.clone());
        }
        engine.ask_for_versioned();
    }
    Ok(())
}

fn exchange(
    arguments: &SyncArguments,
    file: &OpenFile,
    tables: &[Table],
    other: &mut Other,
) -> Result<Synced, Failure> {
    let engine = file.workspace.engine();
    let name = arguments.remote_name();
    let remote = Remote {
        engine,
        tables,
        allowed: tables,
        name: &name,
        accepts_forgotten: arguments.accept_forgotten,
        limits: SyncLimits::default(),
    };
    let head = |engine: &Engine| engine.read_history(head);
    let branch = head(engine)?.branch;
    let (mut received, mut changed) = (0, 0);
    if !arguments.push {
        match other.ask(|stream| remote.pull(stream, &branch)) {
            // The other file is new, or has not the branch.
            Err(error) if error.kind() == ErrorKind::NotFound && !arguments.pull => {}
            Err(error) => return Err(error.into()),
            Ok(pulled) => {
                received = pulled.commits as u64;
                let of_remote = format!("{name}/{branch}");
                match merge_keeping(engine, tables, (&of_remote, arguments.keep))? {
                    Merged::Conflicts(conflicts) => return Ok(Synced::Conflicts(conflicts)),
                    Merged::Forward { changed: count, .. }
                    | Merged::Commit { changed: count, .. } => changed = count,
                    _ => {}
                }
            }
        }
    }
    let sent = match arguments.pull {
        true => 0,
        false => other.ask(|stream| remote.push(stream, &branch))?.commits as u64,
    };
    let Some(commit) = head(engine)?.commit else {
        return Err(Failure::usage(
            "there is nothing to sync: no type is versioned",
        ));
    };
    let counts = [("received", received), ("sent", sent), ("changed", changed)];
    Ok(Synced::Done(commit, counts))
}
