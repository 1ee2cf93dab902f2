//! A writer in a process of its own that is killed again and again, and live queries in this
//! process that follow its commits.

use std::collections::{HashSet, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use dflat::{Fetch, FetchedResult, Subscription, Update, Workspace};

use crate::load::{Change, Load, Numbers, Result};
use crate::ours::{fill, make, top};
use crate::schema::Task;

/// The load of the writer, whatever the load of the other programs is.
const LOAD: Load = Load {
    tasks: 5_000,
    boards: 20,
    time: Duration::ZERO,
};
/// The transaction with the number `n` adds the task `ADDED + n`.
const ADDED: u64 = 1 << 32;
/// The number of transactions that the writer queues.
const QUEUED: usize = 8;
/// The time after which a live result that differs from a fresh fetch is a mismatch.
const PATIENCE: Duration = Duration::from_secs(30);

/// The name of the writer as a program of its own.
pub(crate) const WRITER: &str = "writer";

/// The counts of all kills.
#[derive(Debug, Default)]
pub(crate) struct Kills {
    pub kills: u32,
    /// The transactions whose commit the writer reported.
    pub acknowledged: u64,
    /// The transactions of these whose task is not stored.
    pub lost: usize,
    /// The deliveries to the live queries.
    pub deliveries: usize,
    pub compared: usize,
    pub mismatches: usize,
    /// The commits of the writer that were delivered one by one.
    pub followed: u64,
    /// How often the live queries were read again instead.
    pub renewals: u64,
}

/// The writer: it makes transactions until it is killed, and reports each commit.
pub(crate) fn write(file: &Path) -> Result<()> {
    let workspace = Workspace::open(file)?;
    let last = workspace.fetch::<Task>().max(Task::ID)?.unwrap_or(0);
    let mut next = last.saturating_sub(ADDED) + 1;
    let mut queued = VecDeque::new();
    loop {
        while queued.len() < QUEUED {
            let number = next;
            // One process writes, so no other one can commit between a read and a change.
            let perform = workspace.perform_changes([Task::TABLE], move |tx| {
                let changes = changes(number).into_iter();
                changes
                    .into_iter()
                    .try_for_each(|change| make(tx, change, number))
            });
            queued.push_back((number, perform));
            next += 1;
        }
        if let Some((number, handle)) = queued.pop_front() {
            handle.wait()?;
            writeln!(std::io::stdout(), "{number}")?;
        }
    }
}

/// The changes of the transaction with this number: a new task, and a change of another.
fn changes(number: u64) -> [Change; 2] {
    let mut numbers = Numbers::new(number);
    let mut board = || numbers.below(LOAD.boards.into()) as u32;
    let (first, second) = (board(), board());
    let rank = numbers.below(1 << 30) as i64;
    let id = numbers.below(LOAD.tasks);
    let added = Change::Add {
        id: ADDED + number,
        board: first,
        rank,
    };
    let change = match numbers.below(8) {
        0 => Change::Remove { id },
        1 | 2 => Change::Toggle { id },
        3 | 4 => Change::Move { id, board: second },
        _ => Change::Rank { id, rank },
    };
    [added, change]
}

/// Starts the writer and kills it at a random moment, `kills` times. After each kill, every live
/// result is compared with a fetch.
pub(crate) fn run(file: &Path, kills: u32) -> Result<Kills> {
    let workspace = Workspace::open(file)?;
    fill(&workspace, &LOAD)?;
    let boards = (0..LOAD.boards).map(|board| Board::new(&workspace, board));
    let boards: Vec<Board> = boards.collect::<Result<_>>()?;
    let mut numbers = Numbers::new(13);
    let mut counts = Kills::default();
    for _ in 0..kills {
        counts.acknowledged = kill_a_writer(file, &mut numbers)?.max(counts.acknowledged);
        counts.kills += 1;
        let added = workspace.fetch::<Task>().filter(Task::ID.gt(ADDED)).all()?;
        let added: HashSet<u64> = added.iter().map(Task::id).collect();
        let is_lost = |number: &u64| !added.contains(&(ADDED + number));
        counts.lost += (1..=counts.acknowledged).filter(is_lost).count();
        let end = Instant::now() + PATIENCE;
        for board in &boards {
            counts.compared += 1;
            counts.mismatches += usize::from(!board.becomes_right(&workspace, end)?);
        }
    }
    workspace.refresh()?;
    workspace.settle()?;
    for board in boards {
        board.subscription.cancel();
        let shown = board.shown.lock().expect("no thread panics");
        counts.deliveries += shown.deliveries;
        counts.mismatches += shown.mismatches;
    }
    let stats = workspace.stats();
    (counts.followed, counts.renewals) = (stats.followed_commits, stats.renewals);
    workspace.shutdown()?;
    Ok(counts)
}

/// Returns the number of the last transaction that the writer reported.
fn kill_a_writer(file: &Path, numbers: &mut Numbers) -> Result<u64> {
    let mut writer = Command::new(std::env::current_exe()?);
    writer.args(["--side", WRITER]).arg(file);
    let mut writer = Killed(writer.stdout(Stdio::piped()).spawn()?);
    let output = writer.0.stdout.take().ok_or("the writer has no output")?;
    let mut lines = BufReader::new(output).lines();
    let mut last = 0;
    for _ in 0..=numbers.below(100) {
        last = lines.next().ok_or("the writer ended by itself")??.parse()?;
    }
    thread::sleep(Duration::from_micros(numbers.below(3_000)));
    drop(writer);
    // The rest of the lines that the writer wrote before its end.
    for line in lines.map_while(std::result::Result::ok) {
        last = line.parse()?;
    }
    Ok(last)
}

/// A process that is killed when it is dropped, also if this program fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // A process that has ended cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The view of a board, as the deliveries made it.
struct Board {
    board: u32,
    shown: Arc<Mutex<Shown>>,
    subscription: Subscription,
}

#[derive(Default)]
struct Shown {
    /// The list of tasks that the differences lead to.
    list: Vec<Task>,
    result: Option<FetchedResult<Task>>,
    deliveries: usize,
    /// The number of differences that did not lead to the delivered result.
    mismatches: usize,
}

impl Board {
    fn new(workspace: &Workspace, board: u32) -> Result<Self> {
        let shown = Arc::<Mutex<Shown>>::default();
        let changed = Arc::clone(&shown);
        let tasks: Fetch<'_, Task> = top(workspace, board);
        let subscription = workspace.subscribe(tasks, move |update| {
            if let Ok(update) = update {
                changed.lock().expect("no thread panics").take_over(update);
            }
        })?;
        Ok(Self {
            board,
            shown,
            subscription,
        })
    }

    /// Whether the view equals a fetch before `end`.
    fn becomes_right(&self, workspace: &Workspace, end: Instant) -> Result<bool> {
        loop {
            let fresh = top(workspace, self.board).all()?;
            if self.shown.lock().expect("no thread panics").result.as_ref() == Some(&fresh) {
                return Ok(true);
            }
            if Instant::now() > end {
                return Ok(false);
            }
            thread::sleep(Duration::from_micros(200));
        }
    }
}

impl Shown {
    fn take_over(&mut self, update: Update<FetchedResult<Task>>) {
        let result = update.result();
        if self.result.is_none() {
            self.list = result.to_vec();
        } else {
            let take = |at: usize| result[at].clone();
            update.difference().apply(&mut self.list, take);
        }
        self.mismatches += usize::from(self.list != result.to_vec());
        self.deliveries += 1;
        self.result = Some(update.into_result());
    }
}
