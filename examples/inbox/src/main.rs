//! An inbox in the terminal: two live lists and a count over a few thousand messages, while the
//! network and the user's keys change them.
//!
//! ```text
//! cargo run -p inbox                 interactive; q ends it
//! cargo run -p inbox -- --headless   plays it through and checks what would be shown
//! cargo run -p inbox -- --file FILE  keeps the messages; a second run on FILE shows the same
//! cargo run -p inbox -- --frame      plays a part, and writes one frame to standard output
//! ```
#![allow(clippy::print_stdout, reason = "the example prints what happens")]

mod mail;
mod network;
mod screen;
mod view;

mod schema {
    dflat::include_schema!("message");
}

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Parser;
use crossterm::event::KeyCode;
use dflat::Workspace;

use mail::{Action, act};
use network::Network;
use screen::{Place, Screen};
use view::{LISTS, Row, View};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// An inbox with two live lists and a count
#[derive(Parser)]
struct Arguments {
    /// Plays without a terminal, and checks what would be shown
    #[arg(long)]
    headless: bool,
    /// Plays without a terminal, and writes the last frame to standard output
    #[arg(long)]
    frame: bool,
    /// How many messages there are at first
    #[arg(long, default_value_t = 5_000, value_name = "N")]
    messages: u64,
    /// The file with the messages; run it twice on one file, and each shows the other's changes
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let folder = tempfile::tempdir()?;
    let new_file = || folder.path().join("inbox.db");
    let path = arguments.file.clone().unwrap_or_else(new_file);
    let workspace = Workspace::open(&path)?;
    if mail::newest(&workspace).first()?.is_none() {
        mail::fill(&workspace, arguments.messages)?;
    }
    if arguments.frame {
        show_frame(&workspace, arguments.messages)?;
    } else if arguments.headless {
        play(&workspace, arguments.messages)?;
        if arguments.file.is_none() {
            follow_another(&workspace, &path, arguments.messages + STEPS)?;
        }
    } else {
        interact(&workspace, arguments.messages)?;
    }
    Ok(workspace.shutdown()?)
}

/// The user at the keyboard.
fn interact(workspace: &Workspace, messages: u64) -> Result<()> {
    let network = Network::start(workspace, messages, Duration::from_millis(100));
    let view = View::new(workspace)?;
    let mut screen = Screen::open()?;
    let mut place = Place::default();
    loop {
        let shown = view.catch_up()?;
        let rows = &shown.lists[place.list];
        place.line = place.line.min(rows.len().saturating_sub(1));
        let is_paused = network.is_paused.load(Ordering::Relaxed);
        screen.draw(&shown, place, is_paused)?;
        let selected = rows.get(place.line).map(|row| row.id);
        drop(shown);
        let does = |action| {
            if let Some(id) = selected {
                act(workspace, action, id).detach();
            }
        };
        match screen.key()? {
            Some(KeyCode::Char('q') | KeyCode::Esc) => break,
            Some(KeyCode::Char('r')) => does(Action::MarkRead),
            Some(KeyCode::Char('s')) => does(Action::Star),
            Some(KeyCode::Char('d')) => does(Action::Delete),
            Some(KeyCode::Char('p')) => network.is_paused.store(!is_paused, Ordering::Relaxed),
            Some(KeyCode::Tab) => place.list = (place.list + 1) % LISTS.len(),
            Some(KeyCode::Up) => place.line = place.line.saturating_sub(1),
            Some(KeyCode::Down) => place.line += 1,
            _ => {}
        }
    }
    Ok(network.stop()?)
}

/// Some steps of the network, and the frame that the user would see then. Every run writes the same
/// frame.
fn show_frame(workspace: &Workspace, messages: u64) -> Result<()> {
    const STEPS: u64 = 60;
    const COLUMNS: u16 = 84;
    let view = View::new(workspace)?;
    for step in 0..STEPS {
        network::change(workspace, messages, step)?;
        workspace.settle()?;
        drop(view.catch_up()?);
    }
    let place = Place { list: 0, line: 2 };
    let shown = view.catch_up()?;
    Ok(screen::draw(
        &mut std::io::stdout(),
        COLUMNS,
        &shown,
        place,
        false,
    )?)
}

/// The steps of a run without a terminal.
const STEPS: u64 = 500;

/// Runs the program a second time on the same file, and shows its changes without any other call.
fn follow_another(workspace: &Workspace, path: &Path, messages: u64) -> Result<()> {
    const PATIENCE: Duration = Duration::from_secs(60);
    let view = View::new(workspace)?;
    let mut another = Command::new(std::env::current_exe()?);
    another.arg("--headless").arg("--file").arg(path);
    another.arg("--messages").arg(messages.to_string());
    assert!(another.stdout(Stdio::null()).status()?.success());
    let start = Instant::now();
    while !shows_latest(workspace, &view)? {
        assert!(start.elapsed() < PATIENCE, "its changes are not shown");
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("a second run on the same file was followed");
    Ok(())
}

/// Five hundred steps of the network, a key between some, and a look at every list.
fn play(workspace: &Workspace, messages: u64) -> Result<()> {
    let view = View::new(workspace)?;
    for step in 0..STEPS {
        network::change(workspace, messages, step)?;
        let row = view.catch_up()?.lists[0].get(3).cloned();
        let keys = [Action::Star, Action::MarkRead, Action::Delete];
        let key = keys[usize::try_from(step)? % keys.len()];
        if step % 10 == 0
            && let Some(row) = row
        {
            act(workspace, key, row.id).wait()?;
        }
        if step % 25 == 0 {
            check(workspace, &view)?;
        }
    }
    check(workspace, &view)?;
    let shown = view.catch_up()?;
    let (deliveries, unread) = (shown.deliveries, shown.unread);
    println!("{STEPS} changes, {deliveries} deliveries shown, {unread} messages unread");
    for (name, rows) in LISTS.iter().zip(&shown.lists) {
        let (count, first) = (rows.len(), rows.first().map(|row| &row.text));
        println!("{name}: {count} rows, the first {first:?}");
    }
    Ok(())
}

/// Checks that the view shows the state of a fresh fetch.
fn check(workspace: &Workspace, view: &View) -> Result<()> {
    workspace.settle()?;
    assert!(shows_latest(workspace, view)?);
    Ok(())
}

/// Compares the view with a fresh fetch.
fn shows_latest(workspace: &Workspace, view: &View) -> Result<bool> {
    let shown = view.catch_up()?;
    let queries = [mail::newest(workspace), mail::starred(workspace)];
    let mut is_same = shown.unread == mail::unread(workspace).count()?;
    for (rows, query) in shown.lists.iter().zip(queries) {
        let fresh: Vec<Row> = query.all()?.iter().map(Row::of).collect();
        is_same &= *rows == fresh;
    }
    Ok(is_same)
}
