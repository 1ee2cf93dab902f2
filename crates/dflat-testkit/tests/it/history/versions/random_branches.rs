//! Random branches, compared with whole copies of their objects.

use std::collections::BTreeMap;
use std::path::Path;

use dflat::{ErrorKind, Object, Workspace};
use dflat_history::tree::Root;
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, ItemChangeRequest, Other, OtherChangeRequest, OtherData};

use super::super::files::{data, file, note_others, open, open_both, rows, sql};
use super::commits::{built, last};

/// The payloads of all objects by their keys.
type Content = BTreeMap<String, Vec<u8>>;

fn content(path: &Path) -> Content {
    let items = rows(path, "item").into_values().map(|payload| {
        let item = Item::from_bytes(&payload).unwrap();
        (format!("item {}", item.id()), payload)
    });
    let others = rows(path, "other").into_values().map(|payload| {
        let other = Other::from_bytes(&payload).unwrap();
        (format!("other {}", other.id()), payload)
    });
    items.chain(others).collect()
}

fn content_of(workspace: &Workspace) -> Content {
    let items = workspace.fetch::<Item>().all().unwrap();
    let items = items
        .iter()
        .map(|item| (format!("item {}", item.id()), item.to_bytes()));
    let others = workspace.fetch::<Other>().all().unwrap();
    let others = others
        .iter()
        .map(|other| (format!("other {}", other.id()), other.to_bytes()));
    items.chain(others).collect()
}

/// Changes some objects, with keys and unique values that move between them.
fn change(workspace: &Workspace, random: &mut Random) {
    let changed = workspace.perform_changes_blocking([Item::TABLE, Other::TABLE], |tx| {
        for _ in 0..1 + random.below(6) {
            let id = format!("{}", random.below(12));
            let outcome = match (random.below(6), tx.get::<Item>(&id)?) {
                (0, Some(item)) => {
                    let request = ItemChangeRequest::deletion(tx, &item)?.unwrap();
                    tx.submit(request).map(drop)
                }
                (1, Some(item)) => {
                    let mut request = ItemChangeRequest::change(tx, &item)?.unwrap();
                    request.id = format!("{}", random.below(12));
                    tx.submit(request).map(drop)
                }
                (2, _) => {
                    let id = i32::try_from(random.below(5)).unwrap();
                    let note = Some("note".repeat(random.below(3)));
                    tx.submit(OtherChangeRequest::upsert(OtherData { id, note }))
                        .map(drop)
                }
                (_, _) => {
                    let mut data = data(id, i32::try_from(random.below(4)).unwrap());
                    data.code = random
                        .one_in(2)
                        .then(|| format!("code {}", random.below(6)));
                    tx.submit(ItemChangeRequest::upsert(data)).map(drop)
                }
            };
            match outcome {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                outcome => outcome?,
            }
        }
        Ok(())
    });
    changed.unwrap();
}

/// A file with branches, beside whole copies of those that are not current.
struct Run {
    workspace: Workspace,
    /// Whether others are versioned, too.
    has_both: bool,
    random: Random,
    copies: BTreeMap<String, Content>,
    current: String,
    checkouts: usize,
}

impl Run {
    fn new(path: &Path, seed: u64, has_both: bool) -> Self {
        let workspace = match has_both {
            true => open_both(path),
            false => open(path),
        };
        workspace
            .perform_changes_blocking([Item::TABLE, Other::TABLE], |tx| {
                tx.submit(OtherChangeRequest::creation(OtherData::default()))?;
                tx.submit(ItemChangeRequest::creation(data("0", 0)))
            })
            .unwrap();
        Self {
            workspace,
            has_both,
            random: Random::new(seed),
            copies: BTreeMap::new(),
            current: "main".to_owned(),
            checkouts: 0,
        }
    }

    /// The stored objects of versioned types.
    fn content(&self, path: &Path) -> Content {
        let mut content = content(path);
        content.retain(|key, _| self.has_both || key.starts_with("item "));
        content
    }

    /// Makes others versioned, too. The commits so far have none of them.
    fn add_others(&mut self, path: &Path) {
        self.workspace = open_both(path);
        self.has_both = true;
        note_others(&self.workspace, 3..4, "versioned");
    }

    fn go_on(&mut self, path: &Path) {
        let name = format!("branch {}", self.random.below(4));
        let is_other = self.current != name;
        let history = self.workspace.history();
        match self.random.below(8) {
            0 if is_other => {
                let outcome = history.branch(&name).map(drop);
                let now = self.content(path);
                match outcome {
                    Ok(()) => assert_eq!(self.copies.insert(name, now.clone()), None),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::AlreadyExists),
                }
                self.copies.insert(self.current.clone(), now);
            }
            1 if is_other && self.random.one_in(3) => {
                let deleted = history.delete_branch(&name);
                assert_eq!(deleted.is_ok(), self.copies.remove(&name).is_some());
            }
            2 | 3 => {
                let is_main = self.random.one_in(4);
                self.checkout(path, if is_main { "main".to_owned() } else { name });
            }
            4 => drop(history.undo_rest()),
            5 => {
                let delete = "DELETE FROM item WHERE rowid % 9 = 4";
                sql(path).execute(delete, []).unwrap();
            }
            _ => change(&self.workspace, &mut self.random),
        }
        let current = self.workspace.history().current_branch();
        assert_eq!(current.unwrap(), self.current);
    }

    fn checkout(&mut self, path: &Path, name: String) {
        let before = self.content(path);
        let done = match self.workspace.history().checkout(&name) {
            Ok(done) => done,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NotFound);
                assert!(!self.copies.contains_key(&name));
                assert_eq!(self.content(path), before);
                return;
            }
        };
        let left = std::mem::replace(&mut self.current, name);
        self.copies.insert(left, before.clone());
        let after = self.content(path);
        assert_eq!(after, self.copies[&self.current]);
        let mut keys: Vec<_> = before.keys().chain(after.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| before.get(*key) != after.get(*key));
        // A row whose object got another key may be set once.
        assert!(done.changed <= keys.len() as u64);
        assert_eq!(done.changed == 0, keys.is_empty());
        self.checkouts += usize::from(done.changed > 0);
        let commit = last(&self.workspace);
        let root = |name: &str| {
            let mut tables = commit.tables.iter();
            tables.find(|table| table.name == name).map(|of| of.root)
        };
        assert_eq!(root("item"), Some(built::<Item>(path)));
        if self.has_both {
            let of_others = root("other").unwrap_or(Root::EMPTY);
            assert_eq!(of_others, built::<Other>(path));
        }
    }

    /// Checks the branches that are not current, and the indexes.
    fn check(&self) {
        let branches = self.workspace.history().branches().unwrap();
        for branch in branches.iter().filter(|branch| branch.name != self.current) {
            let past = self.workspace.at_branch(&branch.name).unwrap();
            assert_eq!(content_of(&past), self.copies[&branch.name]);
        }
        let mut copies = self.copies.keys();
        assert!(copies.all(|name| branches.iter().any(|branch| branch.name == *name)));
        let tables = [Item::TABLE, Other::TABLE];
        assert!(self.workspace.check(tables).unwrap().problems.is_empty());
    }
}

#[test]
fn random_branches_equal_whole_copies_of_them() {
    bounded(|| {
        let mut checkouts = 0;
        for seed in 0..6 {
            let (_directory, path) = file();
            let mut run = Run::new(&path, seed, true);
            let live = run
                .workspace
                .observe(run.workspace.fetch::<Item>())
                .unwrap();
            let live = live.watch().unwrap();
            (0..80).for_each(|_| run.go_on(&path));
            run.check();
            run.workspace.settle().unwrap();
            let shown = live.latest().unwrap().unwrap();
            let stored = run.workspace.fetch::<Item>().all().unwrap();
            let bytes = |items: &[Item]| items.iter().map(Object::to_bytes).collect::<Vec<_>>();
            assert_eq!(bytes(&shown), bytes(&stored));
            checkouts += run.checkouts;
        }
        assert!(checkouts > 30, "{checkouts}");
    });
}

#[test]
fn random_branches_from_before_a_type_was_versioned_have_none_of_its_objects() {
    bounded(|| {
        let (mut checkouts, mut old) = (0, 0);
        for seed in 0..6 {
            let (_directory, path) = file();
            let mut run = Run::new(&path, seed, false);
            (0..30).for_each(|_| run.go_on(&path));
            run.add_others(&path);
            old += run.copies.len();
            run.check();
            (0..50).for_each(|_| run.go_on(&path));
            run.check();
            checkouts += run.checkouts;
        }
        assert!(checkouts > 30 && old > 6, "{checkouts}, {old}");
    });
}
