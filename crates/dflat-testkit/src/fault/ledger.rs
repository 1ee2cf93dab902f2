//! The basic workload, and the contents that the file must have after each of its commits.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver};

use dflat::{
    CloseOptions, Dictionary, Durability, ErrorKind, Object, Result, TransactionContext, Workspace,
};

use dflat_sqlite::faults::FaultPlan;

use super::device::Device;
use super::passes::Outcome;
use crate::fixture::patience;
use crate::random::Random;
use crate::schema::{Item, ItemChangeRequest, ItemData, Other, OtherChangeRequest, OtherData};

/// How many transactions the workload makes.
const STEPS: u64 = 9;

/// The number of the large transaction, if there is one.
const LARGE: u64 = 3;

/// The size of the large transaction: more than the page cache of the devices that run it.
const LARGE_BYTES: usize = 9 << 18;

/// The row with the number of the commit, written in each transaction.
const COUNTER: i32 = 0;

/// The key in the dictionary whose value is the number of the commit too.
const LAST: &str = "last";

/// The key that maintenance writes.
const MAINTAINED: &str = "maintained";

/// The objects, by key.
type Contents = BTreeMap<String, ItemData>;

/// The contents after each transaction, whether it was committed or not.
#[derive(Debug, Default)]
pub struct Ledger {
    states: BTreeMap<u64, Contents>,
    /// Whether a transaction is too large for SQLite's cache, which writes before the commit.
    pub large: bool,
    /// One in this many transactions requests full durability; 0 for none.
    pub full_every: u64,
    /// The transaction before which the device is healed, so that no later one may fail; 0 for
    /// none.
    pub heals_before: u64,
    /// The kinds of the errors of transactions that failed.
    pub errors: Vec<ErrorKind>,
}

/// A change of the workload.
#[derive(Clone, Debug)]
enum Step {
    Put(Box<ItemData>),
    Delete(String),
}

/// Inserts, updates, deletes, reads by key, index and scan, follows a live query and shuts down.
/// Ignores errors while the device may fail, but fails if a delivery or an outcome is wrong.
///
/// # Errors
/// A wrong delivery or outcome, or an operation that fails on a healed device.
pub fn run_workload(device: &Device, ledger: &mut Ledger) -> Outcome {
    ledger.states.insert(0, Contents::new());
    let Ok(workspace) = device.open() else {
        return Ok(());
    };
    let (received, deliveries) = mpsc::channel();
    let query = workspace.fetch::<Item>().filter(Item::RANK.ge(0));
    let subscription = workspace.subscribe(query, move |result| {
        let _ = received.send(result.map(|items| items.iter().map(Object::to_data).collect()));
    });
    let mut contents = Contents::new();
    let mut follower = Follower::new(deliveries);
    for number in 1..=STEPS {
        let steps = plan(number, &contents, ledger.large);
        let after = applied(&contents, &steps);
        ledger.states.insert(number, after.clone());
        let is_full = ledger.full_every > 0 && number.is_multiple_of(ledger.full_every);
        let is_well = ledger.heals_before > 0 && number >= ledger.heals_before;
        if number == ledger.heals_before {
            device.heal();
        }
        match perform(&workspace, number, steps, is_full)? {
            Ok(()) => {
                device.acknowledge(number);
                contents = after;
                follower.expect(&contents, number)?;
            }
            Err(error) if is_well => {
                return Err(format!("{number} fails on a device that is well: {error}"));
            }
            Err(error) => {
                ledger.errors.push(error.kind());
                follower.expect_no_change(&contents, number)?;
            }
        }
        for found in [
            read(&workspace, &contents),
            read_dictionary(&workspace, device.acknowledged()),
        ] {
            match found {
                Err(error) if is_well => return Err(format!("cannot read a well device: {error}")),
                found => found.unwrap_or(Ok(()))?,
            }
        }
    }
    drop(subscription);
    // An error is reported; a second call must do no harm.
    let _ = workspace.shutdown();
    let _ = workspace.shutdown();
    Ok(())
}

/// Writes to the dictionary in the background, gives space back, checks, purges, suspends,
/// compacts, repairs, backs up and closes to one small file; ignores all errors. None of it may
/// change the stored objects. Returns whether the dictionary reported that its value was written;
/// [`is_maintained`] must then find the value.
///
/// # Errors
/// An error if the stored objects have changed.
pub fn run_maintenance(device: &Device, ledger: &Ledger) -> std::result::Result<bool, String> {
    let Ok(workspace) = device.open() else {
        return Ok(false);
    };
    let set = workspace.dictionary().set(MAINTAINED, true);
    let is_maintained = set.and_then(|()| workspace.dictionary().synchronize());
    let contents = &ledger.states[&device.acknowledged()];
    for work in [
        |workspace: &Workspace| workspace.reclaim(2).map(drop),
        |workspace: &Workspace| workspace.check([Item::TABLE, Other::TABLE]).map(drop),
        |workspace: &Workspace| workspace.purge().map(drop),
        |workspace: &Workspace| {
            workspace.suspend()?;
            workspace.resume();
            Ok(())
        },
        Workspace::compact,
        |workspace: &Workspace| workspace.repair([Item::TABLE, Other::TABLE]).map(drop),
    ] {
        let _ = work(&workspace);
        read(&workspace, contents).unwrap_or(Ok(()))?;
    }
    // If the copy exists, it is complete.
    let copy = device.path().with_extension("copy");
    if workspace.backup(&copy).is_ok() {
        let found = check(&copy, ledger)?;
        if found != device.acknowledged() {
            return Err(format!("the copy is of commit {found}"));
        }
    } else if copy.exists() {
        return Err("there is a copy of a backup that failed".to_owned());
    }
    // Closing to one file switches it from a log to a rollback journal.
    let _ = workspace.shutdown_with(CloseOptions {
        truncate: true,
        vacuum: true,
    });
    Ok(is_maintained.is_ok())
}

/// Whether a file has the value that maintenance wrote to the dictionary.
///
/// # Errors
/// An error if the file can't be read.
pub fn is_maintained(path: &std::path::Path) -> std::result::Result<bool, String> {
    let workspace = Workspace::open(path).map_err(|error| error.to_string())?;
    let value = workspace.dictionary().get::<bool>(MAINTAINED);
    Ok(value.map_err(|error| error.to_string())? == Some(true))
}

/// Runs a transaction, and waits for it with a timeout.
fn perform(
    workspace: &Workspace,
    number: u64,
    steps: Vec<Step>,
    is_full: bool,
) -> std::result::Result<Result<()>, String> {
    let (done, completed) = mpsc::channel();
    let types = [Item::TABLE, Other::TABLE, Dictionary::TABLE];
    let handle = workspace.perform_changes(types, move |tx| {
        for (position, step) in steps.iter().enumerate() {
            // Full durability is requested before the first change or after it.
            if is_full && position == usize::from(number.is_multiple_of(2)) {
                tx.set_durability(Durability::Full);
            }
            // Every other handler ignores the error of a failed change, which must make no
            // difference.
            match submit(tx, step)? {
                Err(error) if number.is_multiple_of(2) => return Err(error),
                _ => {}
            }
        }
        let counter = OtherData {
            id: COUNTER,
            note: Some(number.to_string()),
        };
        tx.submit(OtherChangeRequest::upsert(counter))?;
        tx.dictionary().set(LAST, number)
    });
    handle.on_completion(move |outcome| {
        let _ = done.send(outcome);
    });
    completed
        .recv_timeout(patience())
        .map_err(|_| format!("transaction {number} did not complete"))
}

/// Makes a change. The outer error is that of looking the object up, the inner one that of changing
/// it.
fn submit(tx: &TransactionContext, step: &Step) -> Result<Result<()>> {
    let submitted = match step {
        Step::Put(data) => match tx.get::<Item>(&data.id)? {
            None => tx.submit(ItemChangeRequest::creation((**data).clone())),
            Some(item) => {
                let Some(mut change) = ItemChangeRequest::change(tx, &item)? else {
                    return Ok(Ok(()));
                };
                *change = (**data).clone();
                tx.submit(change)
            }
        },
        Step::Delete(id) => {
            let Some(item) = tx.get::<Item>(id)? else {
                return Ok(Ok(()));
            };
            let Some(deletion) = ItemChangeRequest::deletion(tx, &item)? else {
                return Ok(Ok(()));
            };
            tx.submit(deletion)
        }
    };
    Ok(submitted.map(drop))
}

/// The changes of a transaction, computed from its number and the contents.
fn plan(number: u64, contents: &Contents, large: bool) -> Vec<Step> {
    let mut random = Random::new(number);
    let mut steps = Vec::new();
    if number > LARGE {
        // The large values are deleted, so that later reads need not read them.
        let large = contents.values().filter(|data| is_large(data));
        steps.extend(large.map(|data| Step::Delete(data.id.clone())));
    }
    for n in 0..3 {
        let key = format!("{}{n}", ["a", "b", "c"][random.below(3)]);
        let large = large && n == 0 && number == LARGE;
        if contents.contains_key(&key) && random.one_in(3) && !large {
            steps.push(Step::Delete(key));
            continue;
        }
        let long = match large {
            true => LARGE_BYTES,
            false if random.one_in(4) => 9000,
            false => 40,
        };
        steps.push(Step::Put(Box::new(ItemData {
            rank: i32::try_from(random.below(5)).unwrap(),
            size: i32::try_from(number).unwrap(),
            name: Some(format!("name{}", random.below(3))),
            nick: Some("x".repeat(long)),
            code: Some(format!("{key}-{number}")),
            id: key,
            ..ItemData::default()
        })));
    }
    steps
}

fn is_large(data: &ItemData) -> bool {
    data.nick
        .as_ref()
        .is_some_and(|nick| nick.len() == LARGE_BYTES)
}

fn applied(contents: &Contents, steps: &[Step]) -> Contents {
    let mut contents = contents.clone();
    for step in steps {
        match step {
            Step::Put(data) => drop(contents.insert(data.id.clone(), (**data).clone())),
            Step::Delete(id) => drop(contents.remove(id)),
        }
    }
    contents
}

/// Reads in every way, and compares. The outer error is that of reading.
fn read(workspace: &Workspace, contents: &Contents) -> Result<Outcome> {
    let all = workspace.fetch::<Item>().all()?;
    let found: Contents = all
        .iter()
        .map(|item| (item.id().to_owned(), item.to_data()))
        .collect();
    if found != *contents || all.len() != contents.len() {
        return Ok(Err(differ("a scan", contents, &found)));
    }
    for rank in 0..5 {
        let ranked = workspace
            .fetch::<Item>()
            .filter(Item::RANK.eq(rank))
            .all()?;
        let found = ranked
            .iter()
            .map(|item| (item.id().to_owned(), item.to_data()));
        let found: Contents = found.collect();
        let mut expected = contents.clone();
        expected.retain(|_, data| data.rank == rank);
        if found != expected {
            return Ok(Err(differ(
                &format!("the index at rank {rank}"),
                &expected,
                &found,
            )));
        }
    }
    for (id, data) in contents {
        let by_key = workspace.get::<Item>(id)?;
        let code = data.code.clone().unwrap_or_default();
        let by_code = workspace
            .fetch::<Item>()
            .filter(Item::CODE.eq(code))
            .all()?;
        if by_key.map(|item| item.to_data()).as_ref() != Some(data) || by_code.len() != 1 {
            return Ok(Err(format!("{id} is not found by its key or code")));
        }
    }
    Ok(Ok(()))
}

/// Compares the value in the dictionary with the number of the last commit. The outer error is
/// that of reading.
fn read_dictionary(workspace: &Workspace, number: u64) -> Result<Outcome> {
    let last = workspace.dictionary().get::<u64>(LAST)?.unwrap_or(0);
    Ok(if last == number {
        Ok(())
    } else {
        Err(format!(
            "the dictionary names {last}, and {number} was the last"
        ))
    })
}

fn differ(by: &str, expected: &Contents, found: &Contents) -> String {
    let short = |contents: &Contents| -> Vec<String> {
        let each = contents.values();
        each.map(|data| format!("{}:{}:{}", data.id, data.rank, data.size))
            .collect()
    };
    format!(
        "{by} finds {:?} instead of {:?}",
        short(found),
        short(expected)
    )
}

/// A subscriber and its deliveries.
struct Follower {
    deliveries: Receiver<Result<Vec<ItemData>>>,
    /// Whether an error was delivered, after which the result may be unknown.
    lost: bool,
    last: Contents,
}

impl Follower {
    fn new(deliveries: Receiver<Result<Vec<ItemData>>>) -> Self {
        Self {
            deliveries,
            lost: false,
            last: Contents::new(),
        }
    }

    /// Deliveries come before the completion, so all of them are there now.
    fn catch_up(&mut self) {
        for received in self.deliveries.try_iter() {
            match received {
                Ok(items) => {
                    self.last = items
                        .into_iter()
                        .map(|data| (data.id.clone(), data))
                        .collect();
                    self.lost = false;
                }
                Err(_) => self.lost = true,
            }
        }
    }

    fn expect(&mut self, contents: &Contents, number: u64) -> Outcome {
        self.catch_up();
        if self.lost || self.last == *contents {
            return Ok(());
        }
        Err(differ(
            &format!("the subscriber after {number}"),
            contents,
            &self.last,
        ))
    }

    /// Commit `number` failed, so no delivery may show it. If an error was delivered before, the
    /// result may be read again now, and it must be that of the last commit.
    fn expect_no_change(&mut self, contents: &Contents, number: u64) -> Outcome {
        let was_lost = self.lost;
        let before = self.last.clone();
        self.catch_up();
        let is_recovered = was_lost && self.last == *contents;
        if self.last == before || is_recovered {
            return Ok(());
        }
        Err(differ(
            &format!("the subscriber after {number}, which failed,"),
            contents,
            &self.last,
        ))
    }
}

/// Opens the file on a device without faults, compares it with the ledger at the commit whose
/// number the file has, and writes to it. Returns the commit's number.
///
/// # Errors
/// An error if the file can't be opened, read or written, or has contents that no commit left.
pub fn check(path: &std::path::Path, ledger: &Ledger) -> std::result::Result<u64, String> {
    // A plan without faults, which skips the waits for the device.
    let well = FaultPlan::attach(path).map_err(|error| error.to_string())?;
    well.skip_syncs();
    let opened = Workspace::builder(path).io_stats(true).open();
    let workspace = opened.map_err(|error| format!("cannot open: {error}"))?;
    let counter = workspace
        .get::<Other>(COUNTER)
        .map_err(|error| format!("cannot read the counter: {error}"))?;
    let number = counter.map_or(Ok(0), |counter| counter.note().unwrap_or_default().parse());
    let number: u64 = number.map_err(|error| format!("the counter is damaged: {error}"))?;
    let Some(contents) = ledger.states.get(&number) else {
        return Err(format!(
            "the counter names {number}, which was never written"
        ));
    };
    let found = read(&workspace, contents).map_err(|error| format!("cannot read: {error}"))?;
    found.map_err(|lost| format!("at commit {number}, {lost}"))?;
    let found = read_dictionary(&workspace, number);
    found.map_err(|error| format!("cannot read the dictionary: {error}"))??;
    let next = STEPS + 1;
    let steps = plan(next, contents, false);
    let after = applied(contents, &steps);
    perform(&workspace, next, steps, false)?.map_err(|error| format!("cannot write: {error}"))?;
    let found = read(&workspace, &after);
    let found = found.map_err(|error| format!("cannot read after a write: {error}"))?;
    found.map_err(|lost| format!("after a write, {lost}"))?;
    workspace
        .shutdown()
        .map_err(|error| format!("cannot shut down: {error}"))?;
    Ok(number)
}
