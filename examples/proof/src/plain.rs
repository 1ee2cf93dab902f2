//! The same program on plain SQLite, as it is done without a store that observes: the update hook
//! reports that something changed, and a thread runs every query again.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use rusqlite::{Connection, Params, params};

use crate::load::{Change, Latencies, Load, Outcome, Result, SHOWN, drive, place, title};

#[derive(Clone, Debug, PartialEq)]
struct Task {
    id: u64,
    rank: i64,
    title: String,
    touched: u64,
}

/// Which changes were made and which are shown, by their number.
#[derive(Default)]
struct Progress {
    made: u64,
    shown: u64,
    is_over: bool,
}

#[derive(Default)]
struct Board {
    progress: Mutex<Progress>,
    changed: Condvar,
    shown: Mutex<Vec<Vec<Task>>>,
}

impl Board {
    fn note(&self, note: impl FnOnce(&mut Progress)) {
        note(&mut self.progress.lock().expect("no thread panics"));
        self.changed.notify_all();
    }

    fn wait(&self, until: impl Fn(&Progress) -> bool) -> u64 {
        let progress = self.progress.lock().expect("no thread panics");
        let waited = self
            .changed
            .wait_while(progress, |progress| !until(progress));
        waited.expect("no thread panics").made
    }
}

pub(crate) fn run(load: &Load, file: &Path) -> Result<Outcome> {
    let mut connection = open(file)?;
    fill(&mut connection, load)?;
    let board = Board::default();
    *board.shown.lock().expect("no thread panics") = vec![Vec::new(); load.boards as usize];
    let latencies = Latencies::new();
    let observer = open(file)?;
    refresh(&observer, load, &board, &latencies)?;
    let touched = Arc::new(AtomicBool::new(false));
    let hook = Arc::clone(&touched);
    connection.update_hook(Some(move |_, _: &str, _: &str, _| {
        hook.store(true, Ordering::Relaxed);
    }))?;
    thread::scope(|scope| {
        let (seen, times) = (&board, &latencies);
        let watching = scope.spawn(move || observe(&observer, load, seen, times));
        let group = |changes: &[Change]| {
            for change in changes {
                make(&mut connection, *change, latencies.stamp())?;
                if touched.swap(false, Ordering::Relaxed) {
                    board.note(|progress| progress.made += 1);
                }
            }
            board.wait(|progress| progress.shown == progress.made);
            Ok(())
        };
        let checker = open(file)?;
        let is_right = |number: u32| {
            let shown = board.shown.lock().expect("no thread panics")[number as usize].clone();
            Ok(shown == top(&checker, number)?)
        };
        let outcome = drive(load, &latencies, group, is_right);
        board.note(|progress| progress.is_over = true);
        watching.join().map_err(|_| "the observer panicked")??;
        outcome
    })
}

/// Runs every query again whenever something has changed.
fn observe(connection: &Connection, load: &Load, board: &Board, times: &Latencies) -> Result<()> {
    loop {
        let made = board.wait(|progress| progress.is_over || progress.made > progress.shown);
        if board.progress.lock().expect("no thread panics").is_over {
            return Ok(());
        }
        refresh(connection, load, board, times)?;
        board.note(|progress| progress.shown = made);
    }
}

fn refresh(connection: &Connection, load: &Load, board: &Board, times: &Latencies) -> Result<()> {
    let snapshot = connection.unchecked_transaction()?;
    for number in 0..load.boards {
        let new = top(&snapshot, number)?;
        let old = &mut board.shown.lock().expect("no thread panics")[number as usize];
        for task in new.iter().filter(|task| !old.contains(task)) {
            times.shown(task.touched);
        }
        if *old != new {
            *old = new;
        }
    }
    Ok(())
}

/// The view of a board.
fn top(connection: &Connection, board: u32) -> Result<Vec<Task>> {
    let mut query = connection.prepare_cached(
        "SELECT id, rank, title, touched FROM task WHERE board = ? AND done = 0
         ORDER BY rank DESC, id LIMIT ?",
    )?;
    let rows = query.query_map(params![board, SHOWN], |row| {
        Ok(Task {
            id: row.get(0)?,
            rank: row.get(1)?,
            title: row.get(2)?,
            touched: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn make(connection: &mut Connection, change: Change, touched: u64) -> Result<()> {
    let transaction = connection.transaction()?;
    match change {
        Change::Add { id, board, rank } => execute(
            &transaction,
            "INSERT INTO task VALUES (?, ?, ?, ?, 0, ?)",
            params![id, board, rank, title(id), touched],
        ),
        Change::Rank { id, rank } => execute(
            &transaction,
            "UPDATE task SET rank = ?, touched = ? WHERE id = ?",
            params![rank, touched, id],
        ),
        Change::Move { id, board } => execute(
            &transaction,
            "UPDATE task SET board = ?, touched = ? WHERE id = ?",
            params![board, touched, id],
        ),
        Change::Toggle { id } => execute(
            &transaction,
            "UPDATE task SET done = NOT done, touched = ? WHERE id = ?",
            params![touched, id],
        ),
        Change::Remove { id } => {
            execute(&transaction, "DELETE FROM task WHERE id = ?", params![id])
        }
    }?;
    Ok(transaction.commit()?)
}

fn execute(connection: &Connection, sql: &str, values: impl Params) -> Result<usize> {
    Ok(connection.prepare_cached(sql)?.execute(values)?)
}

fn open(file: &Path) -> Result<Connection> {
    let connection = Connection::open(file)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 5000;
         CREATE TABLE IF NOT EXISTS task (
             id INTEGER PRIMARY KEY, board INTEGER, rank INTEGER, title TEXT, done INTEGER,
             touched INTEGER);
         CREATE INDEX IF NOT EXISTS task_top ON task (board, done, rank DESC);",
    )?;
    Ok(connection)
}

fn fill(connection: &mut Connection, load: &Load) -> Result<()> {
    let transaction = connection.transaction()?;
    {
        let mut insert = transaction.prepare("INSERT INTO task VALUES (?, ?, ?, ?, 0, 0)")?;
        for id in 0..load.tasks {
            let (board, rank) = place(id, load);
            insert.execute(params![id, board, rank, title(id)])?;
        }
    }
    Ok(transaction.commit()?)
}
