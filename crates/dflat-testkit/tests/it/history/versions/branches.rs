//! Branches, compared with whole copies of their objects.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use dflat::history::Note;
use dflat::{ErrorKind, Object, SubscribedObject, Workspace};
use dflat_history::tree::Root;
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, ItemChangeRequest, Other, OtherChangeRequest, OtherData};

use super::super::files::{data, delete, file, note_others, open, open_both, put, rank, rows, sql};
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

#[test]
fn checkout_is_one_transaction_of_the_difference() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let history = workspace.history();
        for id in ["a", "b", "c"] {
            put(&workspace, id, 1);
        }
        let kept = workspace.get::<Item>("b").unwrap().unwrap();
        history.branch("draft").unwrap();
        assert_eq!(history.checkout("draft").unwrap().changed, 0);
        delete(&workspace, "a");
        put(&workspace, "b", 2);
        put(&workspace, "d", 2);
        workspace.settle().unwrap();
        let deliveries = Arc::new(Mutex::new(Vec::new()));
        let results = workspace.subscribe(workspace.fetch::<Item>(), {
            let deliveries = Arc::clone(&deliveries);
            move |items| {
                let items = items.unwrap();
                let items = items.iter().map(|item| (item.id().to_owned(), item.rank()));
                deliveries
                    .lock()
                    .unwrap()
                    .push(items.collect::<BTreeMap<_, _>>());
            }
        });
        let results = results.unwrap();
        let ranks = Arc::new(Mutex::new(Vec::new()));
        let object = workspace.subscribe(&kept, {
            let ranks = Arc::clone(&ranks);
            move |item| {
                let rank = match item {
                    SubscribedObject::Updated(item) => Some(item.rank()),
                    _ => None,
                };
                ranks.lock().unwrap().push(rank);
            }
        });
        let object = object.unwrap();
        workspace.settle().unwrap();
        let before = (
            deliveries.lock().unwrap().len(),
            ranks.lock().unwrap().len(),
        );
        let done = history.checkout("main").unwrap();
        assert_eq!(done.changed, 3);
        workspace.settle().unwrap();
        let seen = deliveries.lock().unwrap().split_off(before.0);
        let main = [("a", 1), ("b", 1), ("c", 1)];
        let main: BTreeMap<_, _> = main.map(|(id, rank)| (id.to_owned(), rank)).into();
        assert_eq!(seen, [main]);
        assert_eq!(ranks.lock().unwrap().split_off(before.1), [Some(1)]);
        let step = history.log().next().unwrap().unwrap();
        assert_eq!(step.note, Note::Checkout(done.commit));
        let table = &step.tables[0];
        assert_eq!((table.inserted, table.updated, table.deleted), (1, 1, 1));
        drop((results, object));
        // The deleted object is back in its row.
        let a = workspace.get::<Item>("a").unwrap().unwrap();
        assert!(a.row_id() < kept.row_id());
    });
}

#[test]
fn undo_ends_at_a_checkout() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let history = workspace.history();
        put(&workspace, "a", 1);
        history.branch("draft").unwrap();
        put(&workspace, "b", 1);
        history.checkout("draft").unwrap();
        assert_eq!(history.undo().unwrap(), None);
        put(&workspace, "c", 1);
        assert_eq!(history.undo().unwrap().unwrap().changed, 1);
        assert_eq!(history.undo().unwrap(), None);
        history.checkout("main").unwrap();
        assert_eq!(history.redo().unwrap(), None);
        assert_eq!(
            (rank(&workspace, "a"), rank(&workspace, "b")),
            (Some(1), Some(1))
        );
        assert_eq!(rank(&workspace, "c"), None);
    });
}

#[test]
fn branches_are_listed_refused_and_deleted() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let history = workspace.history();
        assert_eq!(history.branches().unwrap(), []);
        assert_eq!(history.current_branch().unwrap(), "main");
        let kind = |error: dflat::Error| error.kind();
        assert_eq!(
            history.checkout("main").map_err(kind),
            Err(ErrorKind::NotFound)
        );
        put(&workspace, "a", 1);
        let id = history.branch("draft").unwrap();
        let names: Vec<_> = history.branches().unwrap();
        let names: Vec<_> = names
            .iter()
            .map(|branch| (&*branch.name, branch.commit))
            .collect();
        assert_eq!(names, [("draft", id), ("main", id)]);
        let long = "x".repeat(256);
        for name in ["", "a\nb", &long] {
            assert_eq!(
                history.branch(name).map_err(kind),
                Err(ErrorKind::InvalidArgument)
            );
        }
        assert_eq!(
            history.branch("draft").map_err(kind),
            Err(ErrorKind::AlreadyExists)
        );
        assert_eq!(
            history.delete_branch("main").map_err(kind),
            Err(ErrorKind::InvalidArgument)
        );
        assert_eq!(
            history.delete_branch("none").map_err(kind),
            Err(ErrorKind::NotFound)
        );
        let absent = workspace.at_branch("none").map(drop).map_err(kind);
        assert_eq!(absent, Err(ErrorKind::NotFound));
        history.delete_branch("draft").unwrap();
        assert_eq!(
            history.checkout("draft").map_err(kind),
            Err(ErrorKind::NotFound)
        );
        // The commit of a deleted branch stays.
        assert_eq!(
            workspace.at(id).unwrap().fetch::<Item>().count().unwrap(),
            1
        );
        let inside = workspace.perform_changes_blocking([Item::TABLE], |_| {
            assert_eq!(
                history.checkout("main").map_err(kind),
                Err(ErrorKind::WouldDeadlock)
            );
            Ok(())
        });
        inside.unwrap();
        workspace.shutdown().unwrap();
        let workspace = open(&path);
        assert_eq!(workspace.history().current_branch().unwrap(), "main");
    });
}

#[test]
fn branch_is_remembered_and_changes_before_a_checkout_are_committed() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        workspace.history().branch("draft").unwrap();
        workspace.history().checkout("draft").unwrap();
        put(&workspace, "a", 2);
        workspace.shutdown().unwrap();
        let workspace = open(&path);
        assert_eq!(workspace.history().current_branch().unwrap(), "draft");
        let done = workspace.history().checkout("main").unwrap();
        assert_eq!(rank(&workspace, "a"), Some(1));
        assert_eq!(rank(&workspace.at(done.before).unwrap(), "a"), Some(2));
        assert_eq!(rank(&workspace.at_branch("draft").unwrap(), "a"), Some(2));
        // Changes after a checkout are changes of the branch alone.
        put(&workspace, "a", 3);
        workspace.history().commit("third").unwrap();
        assert_eq!(last(&workspace).parents, [done.commit]);
        assert_eq!(last(&workspace).steps, 1);
        workspace.history().checkout("draft").unwrap();
        assert_eq!(rank(&workspace, "a"), Some(2));
    });
}
