//! Runs programs of tests side by side.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::Result;
use crate::ci::built::{Build, Program, Selection};
use crate::ci::times::Stopwatch;

/// So many programs run at the same time: one of them may wait for a disk, a server or a child
/// while the other one uses the processors.
const AT_ONCE: usize = 2;

/// The time for output that comes after the end of a program.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A test that takes so many seconds hangs. Alone, it would have half of the time.
const PATIENCE: &str = "60";

/// Runs the selected programs, two at a time. Prints the output of each as a whole.
///
/// # Errors
/// An error if no program is selected, or if a program cannot be started or fails; programs that
/// have not begun do not run then.
pub fn run(selections: &[Selection], root: &Path, build: &Build) -> Result<()> {
    let selected = |selection| {
        let programs = build.programs.iter();
        programs.filter_map(move |program| {
            Selection::selects(selection, program).then_some((selection, program))
        })
    };
    let programs: Vec<_> = selections.iter().flat_map(selected).collect();
    if let [(selection, program)] = programs[..] {
        println!("--- {} {}", program.package, program.target);
        return judge(program, selection.command(root, program).status()?);
    }
    if programs.is_empty() {
        return Err("the build made no such program".into());
    }
    let waiting = Mutex::new(programs.into_iter());
    let failure = Mutex::new(None);
    let next = || {
        let has_failed = failure.lock().is_ok_and(|failure| failure.is_some());
        let mut waiting = waiting.lock().ok()?;
        waiting.next().filter(|_| !has_failed)
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((selection, program)) = next() {
                    let mut command = selection.command(root, program);
                    command.env("DFLAT_PATIENCE_SECONDS", PATIENCE);
                    if let Err(error) = shown(command, program)
                        && let Ok(mut failure) = failure.lock()
                    {
                        failure.get_or_insert(error.to_string());
                    }
                }
            });
        }
    });
    let failure = failure.into_inner().unwrap_or_default();
    failure.map_or(Ok(()), |failure| Err(failure.into()))
}

/// Runs a program, and prints its output when it has ended.
fn shown(mut command: Command, program: &Program) -> Result<()> {
    println!("--- {} {} begins", program.package, program.target);
    let watch = Stopwatch::start();
    let (mut output, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.stdin(Stdio::null()).spawn()?;
    // The pipe ends when no process can write to it any more.
    drop(command);
    let (pieces, arrived) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = output.read(&mut buffer) {
            let piece = buffer.get(..count).unwrap_or_default().to_vec();
            if pieces.send(piece).is_err() {
                return;
            }
        }
    });
    let status = child.wait()?;
    let wall = watch.read().wall.as_secs_f64();
    let mut out = io::stdout().lock();
    let (package, target) = (&program.package, &program.target);
    writeln!(out, "--- {package} {target}: {wall:.1} s")?;
    // A child that the program has left behind may keep the pipe open.
    while let Ok(piece) = arrived.recv_timeout(LAST_WORDS) {
        out.write_all(&piece)?;
    }
    drop(out);
    judge(program, status)
}

/// The outcome of a program that has ended.
fn judge(program: &Program, status: ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    let (package, target) = (&program.package, &program.target);
    Err(format!("`{target}` of `{package}` failed: {status}").into())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::time::Instant;

    use super::*;
    use crate::ci::built::Kind;

    fn tests(package: Option<&'static str>) -> Selection {
        Selection {
            kind: Kind::Tests,
            package,
            excluded: Vec::new(),
            arguments: "",
            environment: Vec::new(),
        }
    }

    /// A program that serves as a test.
    fn made(package: &str, path: PathBuf) -> Program {
        Program {
            package: package.to_owned(),
            version: String::new(),
            target: "it".to_owned(),
            is_test: true,
            path,
            folder: ".".into(),
        }
    }

    fn outcome(
        selections: &[Selection],
        programs: Vec<Program>,
    ) -> std::result::Result<(), String> {
        let build = Build { programs };
        run(selections, Path::new("."), &build).map_err(|error| error.to_string())
    }

    #[test]
    fn a_selection_that_runs_nothing_fails() {
        let outcome = outcome(&[tests(None)], Vec::new());
        assert_eq!(outcome, Err("the build made no such program".to_owned()));
    }

    #[test]
    fn a_program_that_fails_fails_the_run() {
        let programs = || {
            let of = |name: &str| made(name, format!("/bin/{name}").into());
            ["true", "false", "true"].map(of).into()
        };
        assert_eq!(outcome(&[tests(Some("true"))], programs()), Ok(()));
        let both = [tests(Some("true")), tests(Some("false"))];
        for selections in [&[tests(None)][..], &both] {
            let failure = outcome(selections, programs()).unwrap_err();
            assert!(failure.starts_with("`it` of `false` failed"), "{failure}");
        }
    }

    /// A child that a test has left behind keeps its output open.
    #[test]
    fn a_program_that_leaves_a_child_behind_ends_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("leaves");
        fs::write(&path, "#!/bin/sh\nsleep 60 &\nexit 1\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        let began = Instant::now();
        let programs = ["a", "b"].map(|name| made(name, path.clone())).into();
        assert!(outcome(&[tests(None)], programs).is_err());
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}
