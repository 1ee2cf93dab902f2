//! Commands on one file, one after the other.

mod helper;
mod history;
mod words;

use std::ffi::OsString;
use std::fs;
use std::io::{IsTerminal, Write, stdin, stdout};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use clap::{CommandFactory, FromArgMatches};
use dflat_engine::fetch::Cancellation;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use signal_hook::consts::SIGINT;

use crate::arguments::{Arguments, FileArguments, ShellArguments};
use crate::dispatch;
use crate::display::escaped;
use crate::failure::{self, Failure, Found, Outcome};
use crate::file::{OpenFile, address_of, exists, shown};
use crate::session::Session;
use helper::ShellHelper;
use words::Words;

/// The help of the shell, before the list of commands.
const HELP: &str = "\
Commands stand without `dflat` and without the file: query Task 'done == false' --limit 20

  .help            this help
  .help COMMAND    the help of a command
  .exit, Ctrl-D    ends the shell

Tab completes commands, types, fields, values and keys. A line with an open quote, or with a
backslash at its end, continues on the next line. Ctrl-C ends a running command.
";

/// Runs commands until the end of the input.
pub(crate) fn shell(arguments: &ShellArguments) -> Outcome {
    let path = &arguments.file.path;
    if path.is_dir() {
        let path = path.display();
        return Err(Failure::file(format!("cannot open {path}: it is a folder")));
    }
    let is_interactive = stdin().is_terminal();
    let mut shell = Shell {
        file: FileArguments {
            path: path.clone(),
            schemas: arguments.file.schemas.clone(),
            on: arguments.file.on.clone(),
        },
        reader: None,
        interrupted: interrupted()?,
    };
    // A file that cannot be read is an error before the first command. A new file is none.
    if exists(path) {
        shell.reader()?;
    }
    let mut editor = editor(&shell)?;
    let history = is_interactive.then(history::path).flatten();
    if let Some(history) = &history {
        // Without a history, the shell begins with none.
        let _ = editor.load_history(history);
    }
    let name = match address_of(path) {
        Some(_) => shown(path).into(),
        None => path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy(),
    };
    let prompt = format!("{}> ", escaped(&name));
    loop {
        let line = match editor.readline(&prompt) {
            Ok(line) => line,
            // Ctrl-C at the prompt drops the line.
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return ended(&editor, is_interactive),
            Err(error) => return Err(Failure::file(format!("cannot read a command: {error}"))),
        };
        if line.trim().is_empty() {
            continue;
        }
        if let Some(history) = &history {
            let added = editor.add_history_entry(line.as_str());
            // A history that cannot be written ends no command.
            let _ = added.and_then(|_| editor.append_history(history));
        }
        match shell.run(&line) {
            Step::End => return Ok(Found::Yes),
            Step::Done => {}
            Step::Failed(failure) if is_interactive => {
                failure::show(&failure);
            }
            // A script ends at its first mistake.
            Step::Failed(failure) => return Err(failure),
        }
    }
}

/// The end of the input.
fn ended(editor: &Editor<ShellHelper, FileHistory>, is_interactive: bool) -> Outcome {
    let is_incomplete = editor.helper().is_some_and(ShellHelper::is_incomplete);
    match is_incomplete && !is_interactive {
        true => Err(Failure::usage(
            "the script ends within its last command: a quote is not closed, or a line ends with `\\`",
        )),
        false => Ok(Found::Yes),
    }
}

fn editor(shell: &Shell) -> Result<Editor<ShellHelper, FileHistory>, Failure> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .history_ignore_space(true)
        .build();
    let editor = Editor::with_config(config);
    let mut editor =
        editor.map_err(|error| Failure::file(format!("cannot open the terminal: {error}")))?;
    editor.set_helper(Some(ShellHelper::new(shell.file_words())));
    Ok(editor)
}

/// The flag that Ctrl-C sets.
///
/// The handler of the signal sets the flag, and not a thread that the handler wakes: Ctrl-C may end
/// a command by ending its pager, and a late thread would then interrupt the next command.
fn interrupted() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let set = signal_hook::flag::register(SIGINT, Arc::clone(&interrupted));
    set.map_err(|error| Failure::file(format!("cannot handle Ctrl-C: {error}")))?;
    Ok(interrupted)
}

/// The end of a line.
enum Step {
    Done,
    Failed(Failure),
    /// The shell ends.
    End,
}

/// The last changes of the file and of its log, and their lengths.
type Stamp = Vec<Option<(u64, Option<SystemTime>)>>;

/// A running shell.
struct Shell {
    file: FileArguments,
    /// The file, open for reading, and its state when it was opened.
    reader: Option<(Rc<OpenFile>, Stamp)>,
    /// Whether Ctrl-C was pressed since the running command has begun.
    interrupted: Arc<AtomicBool>,
}

impl Shell {
    /// The words that stand for the file in the arguments of a command.
    fn file_words(&self) -> Vec<OsString> {
        let path = &self.file.path;
        let looks_like_option = path.as_os_str().as_encoded_bytes().starts_with(b"-");
        let path = match looks_like_option {
            true => PathBuf::from(".").join(path),
            false => path.clone(),
        };
        let schemas = self.file.schemas.iter();
        let option = |name: &str, value: &PathBuf| {
            let mut word = OsString::from(name);
            word.push(value);
            word
        };
        let schemas = schemas.map(|schema| option("--schema=", schema));
        let on = self.file.on.iter().map(|pack| option("--on=", pack));
        std::iter::once(path.into_os_string())
            .chain(schemas)
            .chain(on)
            .collect()
    }

    fn run(&mut self, line: &str) -> Step {
        let words = Words::of(line).into_texts();
        match words.first().map(String::as_str) {
            None => Step::Done,
            Some(".exit" | ".quit") => Step::End,
            Some(".help") => of(help(words.get(1).map(String::as_str))),
            Some(word) if word.starts_with('.') => {
                let known = "the commands of the shell are .help and .exit";
                let failure = Failure::usage(format!("there is no `{word}`\nhelp: {known}"));
                Step::Failed(failure)
            }
            Some(_) => self.command(&words),
        }
    }

    fn command(&mut self, words: &[String]) -> Step {
        self.interrupted.store(false, Ordering::Relaxed);
        let given = words::with_file(words, &self.file_words());
        let parsed = Arguments::command()
            .try_get_matches_from(given)
            .and_then(|matches| Arguments::from_arg_matches(&matches));
        let command = match parsed {
            Ok(arguments) => arguments.command,
            Err(error) if !error.use_stderr() => {
                // If the terminal is gone, the help cannot be shown anywhere.
                let _ = error.print();
                return Step::Done;
            }
            Err(error) => {
                let rendered = error.render().to_string();
                let message = rendered.strip_prefix("error: ").unwrap_or(&rendered);
                return Step::Failed(Failure::usage(message.trim_end()));
            }
        };
        let reader = match dispatch::only_reads(&command) {
            true => match self.reader() {
                Ok(reader) => Some(reader),
                Err(failure) => return Step::Failed(failure),
            },
            false => match self.close() {
                Ok(()) => None,
                Err(failure) => return Step::Failed(failure),
            },
        };
        let cancellation = Cancellation::from(Arc::clone(&self.interrupted));
        of(dispatch::run(
            &command,
            &Session::of_shell(cancellation, reader),
        ))
    }

    /// The open file. It is opened again after a change, which may have brought new types.
    fn reader(&mut self) -> Result<Rc<OpenFile>, Failure> {
        let stamp = self.stamp();
        if let Some((reader, before)) = &self.reader
            && *before == stamp
        {
            return Ok(Rc::clone(reader));
        }
        self.close()?;
        let reader = Rc::new(OpenFile::read(&self.file)?);
        self.reader = Some((Rc::clone(&reader), self.stamp()));
        Ok(reader)
    }

    fn close(&mut self) -> Result<(), Failure> {
        let reader = self.reader.take();
        match reader.and_then(|(reader, _)| Rc::into_inner(reader)) {
            Some(reader) => reader.close(),
            None => Ok(()),
        }
    }

    fn stamp(&self) -> Stamp {
        let paths = [self.file.path.clone(), OpenFile::log_of(&self.file.path)];
        let of = |path: &PathBuf| {
            let found = fs::metadata(path).ok()?;
            Some((found.len(), found.modified().ok()))
        };
        paths.iter().map(of).collect()
    }
}

fn of(outcome: Outcome) -> Step {
    match outcome {
        Ok(_) | Err(Failure::OutputClosed) => Step::Done,
        Err(failure) => Step::Failed(failure),
    }
}

/// Prints the help of the shell, or of a command.
fn help(name: Option<&str>) -> Outcome {
    let mut command = Arguments::command();
    let mut out = stdout().lock();
    if let Some(name) = name {
        let Some(found) = command.find_subcommand_mut(name) else {
            return Err(Failure::usage(format!("there is no command `{name}`")));
        };
        write!(out, "{}", found.render_long_help())?;
        writeln!(out, "\nIn the shell, FILE is left out.")?;
        return Ok(Found::Yes);
    }
    writeln!(out, "{HELP}")?;
    for known in command.get_subcommands() {
        let about = known.get_about().map(ToString::to_string);
        let about = about.unwrap_or_default();
        if known.get_name() != "shell" {
            writeln!(out, "  {:<12} {about}", known.get_name())?;
        }
    }
    out.flush()?;
    Ok(Found::Yes)
}
