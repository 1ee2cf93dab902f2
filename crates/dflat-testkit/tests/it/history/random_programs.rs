//! Random changes, undos and redos beside a naive model with whole copies.

use std::collections::BTreeSet;
use std::path::Path;

use dflat::{ErrorKind, Object, Result, TransactionContext, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, ItemChangeRequest, Other, OtherChangeRequest, OtherData};

use super::files::{another, data, file, leads_back, rows};
use super::model::{Copy, Expected, Kind, Model, Scope, copy};

const LABELS: [&str; 3] = ["write", "draw", "move"];

fn state(path: &Path) -> Copy {
    copy(&[("item", rows(path, "item")), ("other", rows(path, "other"))])
}

/// Changes some objects, each at most once.
fn change(tx: &TransactionContext, random: &mut Random) -> Result<()> {
    let mut used = BTreeSet::new();
    for _ in 0..1 + random.below(4) {
        let number = random.below(6);
        if !used.insert(number) {
            continue;
        }
        let value = i32::try_from(random.below(4)).unwrap();
        let id = format!("item {number}");
        let code = random
            .one_in(3)
            .then(|| format!("code {}", random.below(4)));
        let outcome = match (random.below(5), tx.get::<Item>(&id)?) {
            (0, Some(item)) => {
                let request = ItemChangeRequest::deletion(tx, &item)?.unwrap();
                tx.submit(request).map(drop)
            }
            (1, Some(item)) => {
                // The object gets another key.
                let mut request = ItemChangeRequest::change(tx, &item)?.unwrap();
                request.id = format!("item {}", 6 + random.below(3));
                tx.submit(request).map(drop)
            }
            (2, _) => {
                let note = Some("note".repeat(random.below(3)));
                let request = OtherChangeRequest::upsert(OtherData { id: value, note });
                if !used.insert(100 + random.below(1)) {
                    continue;
                }
                tx.submit(request).map(drop)
            }
            _ => {
                let mut data = data(id, value);
                data.code = code;
                tx.submit(ItemChangeRequest::upsert(data)).map(drop)
            }
        };
        match outcome {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

/// The objects of a type in a copy.
fn objects<T: Object>(state: &Copy) -> Vec<T> {
    let rows = state.iter();
    let rows = rows.filter(|((table, _), _)| *table == T::TABLE.name);
    rows.map(|(_, payload)| T::from_bytes(payload).unwrap())
        .collect()
}

/// Whether two objects have one key or one unique value.
fn has_duplicates(state: &Copy) -> bool {
    let others: Vec<Other> = objects(state);
    let keys: BTreeSet<i32> = others.iter().map(Other::id).collect();
    let items: Vec<Item> = objects(state);
    let ids: BTreeSet<&str> = items.iter().map(Item::id).collect();
    let codes: Vec<&str> = items.iter().filter_map(Item::code).collect();
    keys.len() < others.len()
        || ids.len() < items.len()
        || codes.iter().collect::<BTreeSet<_>>().len() < codes.len()
}

struct Run {
    random: Random,
    model: Model,
    mine: Workspace,
    another: Workspace,
    undone: usize,
    redone: usize,
    refused: usize,
    forgotten: u64,
}

impl Run {
    /// Forgets an object that some state has, and the present one has not.
    fn forget(&mut self, path: &Path) {
        let ids = (0..9).map(|number| format!("item {number}"));
        let ids: Vec<String> = ids
            .filter(|id| self.mine.get::<Item>(id.as_str()).unwrap().is_none())
            .collect();
        if ids.is_empty() {
            return;
        }
        let id = self.random.pick(&ids);
        let is_object = |(table, _): &(&str, i64), payload: &[u8]| {
            *table == "item" && Item::from_bytes(payload).unwrap().id() == id
        };
        let history = self.mine.history();
        self.forgotten += history.forget_object::<Item>(id).unwrap().changes;
        self.model.forget(is_object);
        assert_eq!(history.blame::<Item>(id).unwrap(), []);
        assert_eq!(state(path), self.model.state);
        leads_back(path).unwrap();
    }

    /// Checks that all states are those of the model.
    fn check(&self) {
        let steps: Vec<_> = self.mine.history().log().map(Result::unwrap).collect();
        assert_eq!(steps.len(), self.model.states().count());
        for (step, state) in steps.iter().rev().zip(self.model.states()).step_by(5) {
            let at = self.mine.at(step.id).unwrap();
            let items = at.fetch::<Item>().all().unwrap();
            let mut found: Vec<_> = items.iter().map(Object::to_bytes).collect();
            let mut expected: Vec<_> = objects::<Item>(state)
                .iter()
                .map(Object::to_bytes)
                .collect();
            found.sort();
            expected.sort();
            assert_eq!(found, expected);
        }
    }

    fn change(&mut self, path: &Path) {
        let is_mine = !self.random.one_in(4);
        let label = self.random.below(LABELS.len());
        let group = self.random.one_in(3).then(|| self.random.number() % 2);
        let workspace = if is_mine { &self.mine } else { &self.another };
        let random = &mut self.random;
        let performer = workspace.write_first();
        let done = performer.perform_changes_blocking([Item::TABLE, Other::TABLE], |tx| {
            tx.set_label(LABELS[label]);
            if let Some(group) = group {
                tx.set_undo_group(group);
            }
            change(tx, random)
        });
        done.unwrap();
        let kind = if is_mine { Kind::Mine } else { Kind::OfAnother };
        self.model.note(kind, label, group, state(path));
    }

    fn undo_or_redo(&mut self, path: &Path) {
        let scope = Scope {
            table: self
                .random
                .one_in(4)
                .then(|| *self.random.pick(&["item", "other"])),
            label: self
                .random
                .one_in(4)
                .then(|| self.random.below(LABELS.len())),
        };
        let mut history = self.mine.history();
        history = match scope.table {
            Some("item") => history.of::<Item>(),
            Some(_) => history.of::<Other>(),
            None => history,
        };
        if let Some(label) = scope.label {
            history = history.labelled(LABELS[label]);
        }
        let (is_undo, is_rest) = (!self.random.one_in(3), self.random.one_in(2));
        let outcome = match (is_undo, is_rest) {
            (true, false) => history.undo(),
            (true, true) => history.undo_rest(),
            (false, false) => history.redo(),
            (false, true) => history.redo_rest(),
        };
        let expected = match is_undo {
            true => self.model.undo(scope),
            false => self.model.redo(scope),
        };
        let Some(expected) = expected else {
            assert_eq!(outcome.unwrap(), None);
            assert_eq!(state(path), self.model.state);
            return;
        };
        let found = state(path);
        let has_duplicates = has_duplicates(&expected.state);
        match outcome {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::OutOfDate);
                let is_refused = !expected.conflicts.is_empty() || has_duplicates;
                let has_rest = expected.state != self.model.state;
                assert!(
                    is_refused && (!is_rest || !has_rest || has_duplicates),
                    "{error}"
                );
                assert_eq!(found, self.model.state, "{error}");
                self.refused += 1;
            }
            Ok(undone) => {
                let undone = undone.unwrap();
                assert!(is_rest || expected.conflicts.is_empty() && !has_duplicates);
                if !has_duplicates {
                    assert_eq!(
                        found,
                        expected.state,
                        "{scope:?} {undone:?} {:?}",
                        (expected.kind, &expected.named, is_rest, &expected.conflicts)
                    );
                    assert_eq!(undone.conflicts.len(), expected.conflicts.len());
                }
                assert_eq!(undone.label.as_deref(), Some(LABELS[expected.label]));
                assert_eq!(undone.steps.len(), expected.named.len());
                self.note(expected, found);
            }
        }
    }

    fn note(&mut self, expected: Expected, found: Copy) {
        match expected.kind {
            Kind::Undo => self.undone += 1,
            _ => self.redone += 1,
        }
        let Expected {
            kind, label, named, ..
        } = expected;
        self.model.note_named(kind, label, None, named, found);
    }
}

/// Runs random programs. Returns how many steps were undone, redone, refused, and how many changes
/// were forgotten.
fn run(forgets: bool) -> [usize; 4] {
    let (mut undone, mut redone, mut refused, mut forgotten) = (0, 0, 0, 0);
    for seed in 0..12 {
        let (_directory, path) = file();
        let builder = Workspace::builder(&path).versioned::<Item>();
        let mine = builder.versioned::<Other>().open().unwrap();
        // The first write makes the types versioned.
        mine.perform_changes_blocking([Item::TABLE, Other::TABLE], |tx| {
            tx.set_label(LABELS[0]);
            tx.submit(OtherChangeRequest::creation(OtherData::default()))?;
            tx.submit(ItemChangeRequest::creation(data("item 0", 0)))
        })
        .unwrap();
        let mut run = Run {
            random: Random::new(seed),
            model: Model::default(),
            another: another(&path),
            mine,
            undone: 0,
            redone: 0,
            refused: 0,
            forgotten: 0,
        };
        run.model.note(Kind::Mine, 0, None, state(&path));
        let live = run.mine.observe(run.mine.fetch::<Item>()).unwrap();
        let live = live.watch().unwrap();
        for _ in 0..80 {
            if forgets && run.random.one_in(8) {
                run.forget(&path);
                continue;
            }
            match run.random.below(5) {
                0 | 1 => run.change(&path),
                _ => run.undo_or_redo(&path),
            }
        }
        // The last commit may be that of the other program.
        run.mine.refresh().unwrap();
        run.mine.settle().unwrap();
        let shown = live.latest().unwrap().unwrap();
        let stored = run.mine.fetch::<Item>().all().unwrap();
        let bytes = |items: &[Item]| items.iter().map(Object::to_bytes).collect::<Vec<_>>();
        assert_eq!(bytes(&shown), bytes(&stored));
        assert!(run.mine.check([Item::TABLE]).unwrap().problems.is_empty());
        undone += run.undone;
        redone += run.redone;
        refused += run.refused;
        forgotten += usize::try_from(run.forgotten).unwrap();
        run.check();
    }
    [undone, redone, refused, forgotten]
}

#[test]
fn random_changes_undos_and_redos_equal_those_of_whole_copies() {
    bounded(|| {
        let [undone, redone, refused, _] = run(false);
        assert!(
            undone > 100 && redone > 30 && refused > 30,
            "{undone} {redone} {refused}"
        );
    });
}

#[test]
fn random_programs_that_forget_objects_equal_whole_copies_without_them() {
    bounded(|| {
        let [undone, redone, refused, forgotten] = run(true);
        assert!(
            undone > 80 && redone > 20 && refused > 20 && forgotten > 200,
            "{undone} {redone} {refused} {forgotten}"
        );
    });
}
