//! Random programs, among them such that prevent notes, beside whole copies of each state.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dflat::history::{Change, CommitId, Note, StepId};
use dflat::{ErrorKind, Object, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, ItemChangeRequest};
use rusqlite::params;

use super::super::files::{another, data, file, open, payload, put, rows, sql};
use super::super::operation::difference;
use super::super::versions::commits::{built, last};
use super::prevention::{PREVENTIONS, insert, remove, update};

const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// The ranks of the items by their keys.
type Items = BTreeMap<String, i32>;

type Payload = Option<Vec<u8>>;

#[derive(Default, Debug)]
struct Counts {
    known: usize,
    lost: usize,
    whole: usize,
    undone: usize,
    refused: usize,
    compared: usize,
}

struct Run {
    path: PathBuf,
    mine: Workspace,
    other: Workspace,
    random: Random,
    /// The items after each step.
    steps: BTreeMap<StepId, Items>,
    commits: Vec<(CommitId, Items)>,
    /// The rows that strangers have changed last: as they were before, and as they were left.
    of_strangers: BTreeMap<i64, (Payload, Payload)>,
    counts: Counts,
}

fn stored(path: &Path) -> Items {
    let payloads = rows(path, "item").into_values();
    let items = payloads.map(|payload| Item::from_bytes(&payload).unwrap());
    items
        .map(|item| (item.id().to_owned(), item.rank()))
        .collect()
}

fn items(found: impl IntoIterator<Item = Item>) -> Items {
    let items = found.into_iter();
    items
        .map(|item| (item.id().to_owned(), item.rank()))
        .collect()
}

impl Run {
    /// Changes some items in a transaction.
    fn change(&mut self) {
        let count = 1 + self.random.below(2);
        let ids: Vec<&str> = (0..count).map(|_| *self.random.pick(&IDS)).collect();
        let deletes = self.random.one_in(4);
        let rank = self.random.below(100) as i32;
        let before = rows(&self.path, "item");
        let workspace = match self.random.one_in(4) {
            true => &self.other,
            false => &self.mine,
        };
        let changed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            for id in &ids {
                let request = match (tx.get::<Item>(*id)?, deletes) {
                    (Some(item), true) => ItemChangeRequest::deletion(tx, &item)?,
                    (None, true) => None,
                    (_, false) => Some(ItemChangeRequest::upsert(data(*id, rank))),
                };
                if let Some(request) = request {
                    tx.submit(request)?;
                }
            }
            Ok(())
        });
        changed.unwrap();
        for row_id in difference(&before, &rows(&self.path, "item")) {
            self.of_strangers.remove(&row_id);
        }
    }

    fn undo(&mut self) {
        let history = self.mine.history();
        let undone = match self.random.below(4) {
            0 => history.undo_rest(),
            1 => history.redo(),
            _ => history.undo(),
        };
        match undone {
            Ok(undone) => self.counts.undone += usize::from(undone.is_some()),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::OutOfDate, "{error}");
                self.counts.refused += 1;
            }
        }
    }

    fn commit(&mut self) {
        let id = self.mine.history().commit("a").unwrap();
        assert_eq!(last(&self.mine).root("item"), built::<Item>(&self.path));
        self.commits.push((id, stored(&self.path)));
    }

    /// Changes an item by plain SQL, with a note or without.
    fn stranger(&mut self) {
        let id = *self.random.pick(&IDS);
        let rank = 1000 + self.random.below(1000) as i32;
        let before = rows(&self.path, "item");
        let is_there = stored(&self.path).contains_key(id);
        let deletes = is_there && self.random.one_in(3);
        if self.random.one_in(3) {
            let statement = match (is_there, deletes) {
                (_, true) => format!("DELETE FROM item WHERE __pk0 = '{id}' AND ?1 NOTNULL"),
                (true, false) => format!("UPDATE item SET p = ?1 WHERE __pk0 = '{id}'"),
                (false, _) => format!("INSERT INTO item (__pk0, p) VALUES ('{id}', ?1)"),
            };
            let written = sql(&self.path).execute(&statement, params![payload(id, rank)]);
            assert_eq!(written, Ok(1));
        } else {
            let prevention = *self.random.pick(&PREVENTIONS);
            match (is_there, deletes) {
                (_, true) => remove(&self.path, prevention, id),
                (true, false) => update(&self.path, prevention, id, rank),
                (false, _) => insert(&self.path, prevention, id, rank),
            }
        }
        let after = rows(&self.path, "item");
        for row_id in difference(&before, &after) {
            let (before, left) = (before.get(&row_id).cloned(), after.get(&row_id).cloned());
            let of_strangers = self.of_strangers.entry(row_id);
            let (before, _) = of_strangers.or_insert((before, None)).clone();
            // Strangers that have changed a row back have changed nothing.
            match before == left {
                true => self.of_strangers.remove(&row_id),
                false => self.of_strangers.insert(row_id, (before, left)),
            };
        }
    }

    /// Notes the states after the steps that an operation has made, if it has found these items.
    fn note(&mut self, before: &Items) {
        let known = self.steps.keys().next_back().copied();
        let log = self.mine.history().log().map(|step| step.unwrap());
        let new: Vec<_> = log.take_while(|step| Some(step.id) > known).collect();
        let now = stored(&self.path);
        let present = rows(&self.path, "item");
        for (row_id, (_, left)) in &self.of_strangers {
            let found = present.get(row_id);
            assert_eq!(
                found,
                left.as_ref(),
                "row {row_id} of a stranger was overwritten"
            );
        }
        for step in new.iter().rev() {
            let is_first = step.note == Note::Unknown && new.len() > 1;
            let items = if is_first { before } else { &now };
            self.steps.insert(step.id, items.clone());
        }
        let latest = self.steps.values().next_back();
        assert!(
            latest.is_none_or(|items| *items == now),
            "a change has no step"
        );
    }

    /// Checks that a read of an earlier state gives the state, or an error.
    fn check_at(&mut self, at: &Workspace, expected: &Items) {
        for id in IDS {
            match at.get::<Item>(id) {
                Ok(item) => {
                    let rank = item.map(|item| item.rank());
                    assert_eq!(rank.as_ref(), expected.get(id), "{id}");
                    self.counts.known += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
                    self.counts.lost += 1;
                }
            }
        }
        match at.fetch::<Item>().all() {
            Ok(found) => {
                assert_eq!(items(found.iter().cloned()), *expected);
                self.counts.whole += 1;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
        }
    }

    fn check(&mut self) {
        let steps: Vec<_> = self.steps.clone().into_iter().collect();
        for (id, expected) in steps.iter().step_by(3) {
            let at = self.mine.at(*id).unwrap();
            self.check_at(&at, expected);
        }
        let commits = self.commits.clone();
        for (id, expected) in &commits {
            let at = self.mine.at(*id).unwrap();
            self.check_at(&at, expected);
        }
        for pair in commits.windows(2).chain(commits.windows(3)) {
            let (from, to) = (&pair[0], &pair[pair.len() - 1]);
            self.check_difference((from.0.into(), &from.1), (to.0.into(), &to.1));
        }
        for pair in steps.windows(4).step_by(5) {
            let (from, to) = (&pair[0], &pair[3]);
            self.check_difference((from.0.into(), &from.1), (to.0.into(), &to.1));
        }
    }

    /// Checks that a difference is that of the copies, or an error.
    fn check_difference(
        &mut self,
        (from, before): (dflat::history::Version, &Items),
        (to, after): (dflat::history::Version, &Items),
    ) {
        let found = self.mine.history().diff::<Item>(from, to);
        let found = found.and_then(|changes| {
            changes
                .map(|change| {
                    change.map(|change| match change {
                        Change::Inserted(item) => (item.id().to_owned(), (None, Some(item.rank()))),
                        Change::Deleted(item) => (item.id().to_owned(), (Some(item.rank()), None)),
                        Change::Updated { before, after, .. } => (
                            after.id().to_owned(),
                            (Some(before.rank()), Some(after.rank())),
                        ),
                        change => panic!("{change:?}"),
                    })
                })
                .collect::<dflat::Result<BTreeMap<_, _>>>()
        });
        let ids = before.keys().chain(after.keys());
        let expected = ids.map(|id| {
            (
                id.clone(),
                (before.get(id).copied(), after.get(id).copied()),
            )
        });
        let expected: BTreeMap<_, _> = expected.filter(|(_, (a, b))| a != b).collect();
        match found {
            Ok(found) => {
                assert_eq!(found, expected);
                self.counts.compared += 1;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
        }
    }
}

/// Runs random programs, with commits or without.
fn run(seeds: std::ops::Range<u64>, commits: bool) -> Counts {
    let mut counts = Counts::default();
    for seed in seeds {
        let (_directory, path) = file();
        let mut run = Run {
            mine: open(&path),
            other: another(&path),
            path,
            random: Random::new(seed),
            steps: BTreeMap::new(),
            commits: Vec::new(),
            of_strangers: BTreeMap::new(),
            counts,
        };
        put(&run.mine, "a", 0);
        run.note(&Items::new());
        for _ in 0..60 {
            while run.random.one_in(6) && !rows(&run.path, "item").is_empty() {
                run.stranger();
            }
            let before = stored(&run.path);
            match run.random.below(6) {
                0..=2 => run.change(),
                3 if commits => run.commit(),
                _ => run.undo(),
            }
            run.note(&before);
        }
        run.check();
        counts = run.counts;
    }
    counts
}

// Promise: storage-format#S58
#[test]
fn random_programs_without_notes_never_give_a_wrong_state() {
    bounded(|| {
        let counts = run(0..12, true);
        assert!(counts.known > 1500 && counts.lost > 100, "{counts:?}");
        assert!(counts.whole > 50 && counts.compared > 50, "{counts:?}");
        assert!(counts.undone > 50 && counts.refused > 20, "{counts:?}");
    });
}

// Promise: storage-format#S58
#[test]
fn random_programs_without_notes_and_commits_never_give_a_wrong_state() {
    bounded(|| {
        let counts = run(100..110, false);
        assert!(counts.known > 300 && counts.lost > 100, "{counts:?}");
        assert!(counts.undone > 30 && counts.refused > 10, "{counts:?}");
    });
}
