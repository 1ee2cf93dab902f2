//! A program is killed under load, again and again.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use dflat::{Dictionary, Object, TransactionHandle, Workspace};
use dflat_testkit::random::Random;
use dflat_testkit::schema::{
    Item, ItemChangeRequest, ItemData, Other, OtherChangeRequest, OtherData,
};

/// The variable with the path of the file of the killed program.
const PATH: &str = "DFLAT_KILL_PATH";

/// The variable with the number of kills, if it differs from that of the usual tests.
const KILLS: &str = "DFLAT_KILLS";

/// The number of transactions that are queued at a time.
const QUEUED: usize = 8;

fn open(path: &Path) -> Workspace {
    // Checkpoints are made all the time.
    let builder = Workspace::builder(path).log_bytes_max(64 << 10);
    builder.open().unwrap()
}

fn item(number: u32) -> ItemData {
    let key = number % KEYS;
    ItemData {
        id: format!("item{key}"),
        rank: i32::try_from(number % 5).unwrap(),
        size: i32::try_from(number).unwrap(),
        name: Some(format!("name{}", number % 3)),
        nick: Some("n".repeat((number * 131 % 5000) as usize)),
        code: Some(format!("code{number}")),
        ..ItemData::default()
    }
}

/// The number of keys.
const KEYS: u32 = 40;

/// The key that a transaction deletes.
fn deleted(number: u32) -> String {
    format!("item{}", number * 7 % KEYS)
}

/// The stored items after this many transactions.
fn model(count: u32) -> BTreeMap<String, ItemData> {
    let mut items = BTreeMap::new();
    // Each key was written by one of the last transactions.
    for number in count.saturating_sub(KEYS - 1).max(1)..=count {
        items.remove(&deleted(number));
        let data = item(number);
        items.insert(data.id.clone(), data);
    }
    items
}

/// Performs the transaction with a number, which it writes to a row.
fn perform(workspace: &Workspace, number: u32) -> TransactionHandle<()> {
    let types = [Item::TABLE, Other::TABLE, Dictionary::TABLE];
    workspace.perform_changes(types, move |tx| {
        if let Some(item) = tx.get::<Item>(deleted(number).as_str())?
            && let Some(deletion) = ItemChangeRequest::deletion(tx, &item)?
        {
            tx.submit(deletion)?;
        }
        tx.submit(ItemChangeRequest::upsert(item(number)))?;
        tx.dictionary().set("last", i64::from(number))?;
        let note = Some(number.to_string());
        tx.submit(OtherChangeRequest::upsert(OtherData { id: 0, note }))
            .map(drop)
    })
}

/// The number of the last stored transaction.
fn last(workspace: &Workspace) -> u32 {
    let counter = workspace.get::<Other>(0).unwrap();
    counter.map_or(0, |counter| counter.note().unwrap().parse().unwrap())
}

/// Not a test by itself: the program that the test below starts and kills.
#[test]
fn killed_program() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let workspace = open(Path::new(&path));
    let mut next = last(&workspace) + 1;
    let mut queued = VecDeque::new();
    loop {
        while queued.len() < QUEUED {
            queued.push_back((next, perform(&workspace, next)));
            next += 1;
        }
        let (number, handle) = queued.pop_front().unwrap();
        handle.wait().unwrap();
        // The test harness does not capture this output.
        writeln!(std::io::stdout(), "\nacknowledged {number}").unwrap();
    }
}

// Promise: durability#D1
#[test]
fn killed_program_leaves_all_acknowledged_commits() {
    let kills = std::env::var(KILLS).map_or(20, |text| text.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("killed.db");
    let mut random = Random::new(7);
    for kill in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "faults::kill::killed_program", "--nocapture"])
            .env(PATH, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = 0;
        let mut heard = |lines: &mut dyn Iterator<Item = std::io::Result<String>>| {
            let line = lines.next()?.ok()?;
            if let Some(number) = line.strip_prefix("acknowledged ") {
                acknowledged = number.parse().unwrap();
            }
            Some(())
        };
        // The kill comes at a random moment, usually between two acknowledgements.
        for _ in 0..2 + random.below(120) {
            heard(&mut lines).expect("the program ended by itself");
        }
        std::thread::sleep(Duration::from_micros(random.below(3000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        // The rest of the lines that the program wrote before its end.
        while heard(&mut lines).is_some() {}

        let workspace = open(&path);
        let count = last(&workspace);
        assert!(
            count >= acknowledged,
            "kill {kill}: {count} of {acknowledged}"
        );
        let all = workspace.fetch::<Item>().all().unwrap();
        let found: BTreeMap<String, ItemData> = all
            .iter()
            .map(|item| (item.id().to_owned(), item.to_data()))
            .collect();
        assert!(found == model(count), "kill {kill} at {count}");
        let value = workspace.dictionary().get::<i64>("last").unwrap();
        assert_eq!(value.unwrap_or(0), i64::from(count), "kill {kill}");
        let report = workspace.check([Item::TABLE, Other::TABLE]).unwrap();
        assert!(report.is_sound(), "kill {kill}: {:?}", report.problems);
        workspace.shutdown().unwrap();
    }
}
