//! Two programs on one file, an editor and a viewer. The viewer shows what the editor commits.
//!
//! ```text
//! cargo run -p notes -- view notes.db     shows the notes, and each change
//! cargo run -p notes -- edit notes.db     reads lines such as "3 milk", and "3" to delete
//! cargo run -p notes                      plays both on a new file, and checks what is shown
//! ```
#![allow(clippy::print_stdout, reason = "the example prints what happens")]

mod editor;
mod viewer;

mod schema {
    dflat::include_schema!("note");
}

use std::io::{BufReader, Write};
use std::process::{Command, Stdio};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["edit", path] => editor::run(path, BufReader::new(std::io::stdin())),
        ["view", path] => viewer::run(path, |notes| {
            println!("--\n{notes}");
            true
        }),
        [] => play(),
        _ => Err("usage: notes [edit FILE | view FILE]".into()),
    }
}

/// Runs the editor as another process, and gives it one line after the other: the next when the
/// viewer has shown the effect of the one before.
fn play() -> Result<()> {
    let steps = [
        ("1 milk", "1 milk\n"),
        ("2 bread", "1 milk\n2 bread\n"),
        ("1 oat milk", "1 oat milk\n2 bread\n"),
        ("2", "1 oat milk\n"),
    ];
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("notes.db");
    let path = path.to_str().ok_or("the path is not Unicode")?;
    let mut editor = Command::new(std::env::current_exe()?)
        .args(["edit", path])
        .stdin(Stdio::piped())
        .spawn()?;
    let mut input = editor.stdin.take();
    let mut type_line = |line: Option<&str>| match (line, &mut input) {
        (Some(line), Some(input)) => writeln!(input, "{line}").is_ok(),
        _ => {
            // The editor ends when its input does.
            input = None;
            false
        }
    };
    let mut steps = steps.into_iter();
    let mut wanted = "";
    viewer::run(path, |notes| {
        // The viewer may find a commit before all of it is wanted, but never a wrong state.
        assert_eq!(notes, wanted);
        print!("--\n{notes}");
        let step = steps.next();
        wanted = step.map_or("", |(_, wanted)| wanted);
        type_line(step.map(|(line, _)| line))
    })?;
    assert!(editor.wait()?.success() && steps.len() == 0);
    Ok(())
}
