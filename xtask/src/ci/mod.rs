//! `cargo xtask ci`: every check that a change must pass, in one command.
//!
//! Steps run in order. The first that fails ends the run, which prints the command that repeats the
//! step. A step depends on no other step; it only reuses compiled files.

pub mod built;
pub mod long;
pub mod memcheck;
pub mod options;
pub mod quick;
pub mod side_by_side;
pub mod steps;
pub mod system_sqlite;
pub mod times;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::Result;
use crate::ci::built::{Build, Selection};
use crate::ci::times::{Row, Stopwatch, summary};
use crate::workspace;

/// The summary marks a step that takes longer. Split such a step, or make it faster.
pub const STEP_DURATION_MAX: Duration = Duration::from_secs(240);

/// One check, or preparation for one.
pub struct Step {
    /// The name, one or a few words.
    pub name: &'static str,
    /// The work.
    pub work: Work,
}

/// The work of a step.
pub enum Work {
    /// Runs a program, which must succeed.
    Program(Invocation),
    /// Compiles the tests and programs of the workspace.
    Build,
    /// Runs some of these tests and programs, which must succeed. Compiles them if no step has.
    Built(Vec<Selection>),
    /// Calls a task of `cargo xtask`: its name and its function.
    Task(&'static str, fn(&Path) -> Result<()>),
    /// Does nothing, for this reason.
    Skip(String),
}

/// A command line, with variables of the environment.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// The program.
    pub program: String,
    /// The arguments.
    pub arguments: Vec<String>,
    /// Variables that are added to the environment.
    pub environment: Vec<(&'static str, &'static str)>,
}

impl Invocation {
    /// Reads a command line; words are separated by single spaces.
    pub fn new(line: &str) -> Self {
        let mut words = line.split(' ').map(str::to_owned);
        Self {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            environment: Vec::new(),
        }
    }

    /// Adds a variable to the environment.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// The same command as a line for a shell.
    pub fn shell_line(&self) -> String {
        let variables = self.environment.iter();
        let variables = variables.map(|(name, value)| format!("{name}={}", quoted(value)));
        let words: Vec<_> = variables
            .chain([self.program.clone()])
            .chain(self.arguments.iter().map(|word| quoted(word)))
            .collect();
        words.join(" ")
    }

    fn run(&self, root: &Path) -> Result<()> {
        let mut command = match self.program.as_str() {
            "cargo" => workspace::cargo(),
            program => Command::new(program),
        };
        let status = command
            .args(&self.arguments)
            .envs(self.environment.iter().copied())
            .current_dir(root)
            .status()
            .map_err(|error| format!("cannot start `{}`: {error}", self.program))?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("`{}` failed: {status}", self.program).into())
        }
    }
}

/// A word, quoted for a shell if needed.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,%+@".contains(c);
    if word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

impl Step {
    /// A line for a shell that repeats the step, or the reason why the step is skipped.
    pub fn shell_line(&self) -> String {
        match &self.work {
            Work::Program(invocation) => invocation.shell_line(),
            Work::Build => built::COMMAND.to_owned(),
            Work::Built(selections) => {
                let lines = selections.iter().map(|some| some.invocation().shell_line());
                lines.collect::<Vec<_>>().join(" && ")
            }
            Work::Task(name, _) => format!("cargo xtask {name}"),
            Work::Skip(reason) => format!("(skipped: {reason})"),
        }
    }

    /// Runs the step. `build` holds the programs that an earlier step compiled.
    fn run(&self, root: &Path, build: &mut Option<Build>) -> Result<()> {
        match &self.work {
            Work::Program(invocation) => invocation.run(root),
            Work::Build => {
                *build = Some(Build::new(root)?);
                Ok(())
            }
            Work::Built(selections) => {
                let made = match build.take() {
                    Some(made) => made,
                    None => Build::new(root)?,
                };
                side_by_side::run(selections, root, build.insert(made))
            }
            Work::Task(_, task) => task(root),
            Work::Skip(_) => Ok(()),
        }
    }
}

/// Whether a run goes on after a failed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// End the run.
    Stop,
    /// Run the other steps too.
    GoOn,
}

/// Runs the steps. The summary marks a step that takes longer than `longest`.
///
/// # Errors
/// The first step that failed, with the command that repeats it.
pub fn run(
    root: &Path,
    steps: &[Step],
    after_failure: AfterFailure,
    longest: Duration,
) -> Result<()> {
    let watch = Stopwatch::start();
    let mut rows = Vec::new();
    let mut build = None;
    let mut outcome = Ok(());
    for step in steps {
        println!("\n=== {}: {}", step.name, step.shell_line());
        let step_watch = Stopwatch::start();
        let result = step.run(root, &mut build);
        let times = step_watch.read();
        let verdict = match (&step.work, &result) {
            (Work::Skip(_), _) => "skipped",
            (_, Err(_)) => "FAILED",
            (_, Ok(())) if times.wall > longest => "passed, too slow",
            (_, Ok(())) => "passed",
        };
        println!("=== {}: {verdict} in {times}", step.name);
        rows.push(Row {
            step: step.name,
            times,
            verdict,
        });
        if let Err(error) = result {
            let line = step.shell_line();
            let name = step.name;
            let text = format!(
                "{name} failed: {error}\nrepeat it with: {line}\nor go on from it with: --from '{name}'"
            );
            outcome = outcome.and(Err(text.into()));
            if after_failure == AfterFailure::Stop {
                break;
            }
        }
    }
    println!("\n{}", summary(&rows, watch.read()));
    outcome
}

#[cfg(test)]
mod tests {
    use super::{AfterFailure, Invocation, Step, Work, run};
    use std::path::Path;
    use std::time::Duration;

    #[test]
    fn lines_can_be_pasted_into_a_shell() {
        let invocation = Invocation::new("cargo doc --no-deps").with("FLAGS", "-D warnings");
        assert_eq!(
            invocation.shell_line(),
            "FLAGS='-D warnings' cargo doc --no-deps"
        );
        let mut quotes = Invocation::new("cargo test");
        quotes.arguments.push("a.'b(c)'".to_owned());
        assert_eq!(quotes.shell_line(), r"cargo test 'a.'\''b(c)'\'''");
    }

    #[test]
    fn the_first_failure_ends_the_run_and_names_its_command() {
        let step = |name, task| Step {
            name,
            work: Work::Task(name, task),
        };
        let steps = [
            step("one", |_| Ok(())),
            step("two", |_| Err("broken".into())),
            step("three", |_| unreachable!("a step ran after one failed")),
        ];
        let outcome = run(Path::new("."), &steps, AfterFailure::Stop, Duration::MAX);
        let error = outcome.map_err(|error| error.to_string());
        let expected = "two failed: broken\nrepeat it with: cargo xtask two\n\
                        or go on from it with: --from 'two'";
        assert_eq!(error, Err(expected.to_owned()));
    }
}
