//! Each transaction on a versioned type appends a step in its own commit.

use dflat::{ErrorKind, Result, TransactionContext, Workspace};
use dflat_model::record::ChangeRecord;
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, ItemChangeRequest, Other, OtherChangeRequest, OtherData};

use super::files::{
    Rows, another, data, delete, file, open, put, rank, rows, sql, steps, without_history,
};
use crate::files::change_log::{records, undo};

/// Changes items and others at random.
fn change(tx: &TransactionContext, random: &mut Random) -> Result<()> {
    for _ in 0..1 + random.below(5) {
        let id = format!("item {}", random.below(8));
        let note = Some("note".repeat(random.below(9)));
        let number = i32::try_from(random.below(1000)).unwrap();
        match (random.below(4), tx.get::<Item>(&id)?) {
            (0, Some(item)) => {
                let request = ItemChangeRequest::deletion(tx, &item)?.unwrap();
                tx.submit(request)?;
            }
            (1, _) => {
                let data = OtherData { id: number, note };
                tx.submit(OtherChangeRequest::upsert(data))?;
            }
            (2, Some(item)) => {
                let mut request = ItemChangeRequest::change(tx, &item)?.unwrap();
                request.nick = note;
                tx.submit(request)?;
            }
            _ => drop(tx.submit(ItemChangeRequest::upsert(data(id, number)))?),
        }
    }
    Ok(())
}

// Promise: storage-format#S46
#[test]
fn steps_lead_from_the_present_state_back_to_each_earlier_one() {
    bounded(|| {
        for seed in 0..6 {
            let (_directory, path) = file();
            let workspace = open(&path);
            let mut random = Random::new(seed);
            let mut states: Vec<Rows> = Vec::new();
            for number in 0..60 {
                let before = rows(&path, "item");
                let done = workspace.perform_changes_blocking([Item::TABLE, Other::TABLE], |tx| {
                    tx.set_label(&number.to_string());
                    change(tx, &mut random)
                });
                done.unwrap();
                if rows(&path, "item") != before {
                    states.push(before);
                }
            }
            let mut state = rows(&path, "item");
            let log: Vec<_> = workspace.history().of::<Item>().log().collect();
            let kept = steps(&path);
            assert_eq!((kept.len(), log.len()), (states.len(), states.len()));
            for ((note, record), step) in kept.iter().rev().zip(log) {
                assert!(note.is_empty());
                let rows = undo(record, &mut state);
                assert_eq!(Some(&state), states.last());
                states.pop();
                let step = step.unwrap();
                let items = step.tables.iter().find(|table| table.name == "item");
                let items = items.unwrap();
                assert_eq!(items.inserted + items.updated + items.deleted, rows as u64);
                let others = step.tables.iter().find(|table| table.name == "other");
                assert!(others.is_none_or(|others| !others.is_kept()));
            }
        }
    });
}

// Promise: storage-format#S46
#[test]
fn step_has_the_bytes_of_the_change_record() {
    bounded(|| {
        let (_directory, path) = file();
        let builder = Workspace::builder(&path).versioned::<Item>();
        let workspace = builder.change_log(true).author("Ann").open().unwrap();
        put(&workspace, "a", 1);
        put(&workspace, "a", 2);
        delete(&workspace, "a");
        let kept: Vec<_> = steps(&path).into_iter().map(|(_, record)| record).collect();
        assert_eq!(kept.len(), 3);
        assert_eq!(kept, records(&path));
        let log = workspace
            .history()
            .log()
            .collect::<Result<Vec<_>>>()
            .unwrap();
        assert!(log.iter().all(|step| step.author.as_deref() == Some("Ann")));
        assert!(log.is_sorted_by(|later, earlier| later.id > earlier.id));
    });
}

#[test]
fn steps_have_states_before_if_records_have_keys_only() {
    bounded(|| {
        let (_directory, path) = file();
        let builder = Workspace::builder(&path).versioned::<Item>();
        let builder = builder.change_log(true).change_log_keys_only(true);
        let workspace = builder.open().unwrap();
        put(&workspace, "a", 1);
        let first = rows(&path, "item");
        put(&workspace, "a", 2);
        let mut state = rows(&path, "item");
        let kept = steps(&path);
        assert_eq!(undo(&kept[1].1, &mut state), 1);
        assert_eq!(state, first);
    });
}

// Promise: storage-format#S46
#[test]
fn transaction_that_is_undone_leaves_no_step() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        let failed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::creation(data("b", 1)))?;
            tx.submit(ItemChangeRequest::creation(data("a", 1)))
                .map(drop)
        });
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::AlreadyExists);
        let nothing = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::upsert(data("a", 1))).map(drop)
        });
        nothing.unwrap();
        assert_eq!(steps(&path).len(), 1);
    });
}

#[test]
fn large_transaction_is_one_step_in_parts() {
    bounded(|| {
        for others in [false, true] {
            let (_directory, path) = file();
            let workspace = open(&path);
            let filled = workspace.perform_changes_blocking([Item::TABLE, Other::TABLE], |tx| {
                tx.set_label("import");
                if others {
                    tx.submit(OtherChangeRequest::creation(OtherData::default()))?;
                }
                (0..6000).try_for_each(|number| {
                    let id = format!("{number:060}");
                    tx.submit(ItemChangeRequest::creation(data(id, number)))
                        .map(drop)
                })
            });
            filled.unwrap();
            put(&workspace, "7", 8);
            assert!(steps(&path).len() > 3);
            let log = workspace
                .history()
                .log()
                .collect::<Result<Vec<_>>>()
                .unwrap();
            assert_eq!(log.len(), 2);
            assert_eq!(log[1].label.as_deref(), Some("import"));
            let counts: Vec<_> = log[1].tables.iter().map(|table| table.inserted).collect();
            assert_eq!(counts.iter().sum::<u64>(), 6000);
            assert_eq!(counts.len(), 1 + usize::from(others));
            let mut state = rows(&path, "item");
            for (_, record) in steps(&path).iter().rev() {
                undo(record, &mut state);
            }
            assert!(state.is_empty());
        }
    });
}

// Promise: storage-format#S47
#[test]
fn file_remembers_which_types_are_versioned() {
    bounded(|| {
        let (_directory, path) = file();
        let plain = Workspace::open(&path).unwrap();
        put(&plain, "a", 1);
        assert!(steps(&path).is_empty());
        // Another workspace of the process has the type versioned from now on.
        let versioned = open(&path);
        put(&plain, "a", 2);
        assert_eq!(steps(&path).len(), 1);
        drop((plain, versioned));
        let later = Workspace::open(&path).unwrap();
        put(&later, "a", 3);
        assert_eq!(steps(&path).len(), 2);
        let log = later.history().labelled("none").log();
        assert_eq!(log.count(), 0);
        // A transaction on another type appends no step.
        let other = later.perform_changes_blocking([Other::TABLE], |tx| {
            tx.submit(OtherChangeRequest::creation(OtherData::default()))
        });
        other.unwrap();
        assert_eq!(steps(&path).len(), 2);
    });
}

// Promise: storage-format#S47
/// Another process may have written to the type before it was versioned, and have it in memory.
#[test]
fn engines_that_knew_the_type_before_learn_that_it_is_versioned() {
    bounded(|| {
        let (_directory, path) = file();
        let (knowing, without) = (another(&path), without_history(&path));
        put(&knowing, "a", 1);
        put(&without, "a", 2);
        put(&open(&path), "a", 3);
        assert_eq!(steps(&path).len(), 1);
        put(&knowing, "a", 4);
        assert_eq!(steps(&path).len(), 2);
        let refused = without.perform_changes_blocking([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::upsert(data("a", 5))).map(drop)
        });
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::NewerSchema);
        assert_eq!(rank(&knowing, "a"), Some(4));
        // After the end of the history, it writes again.
        open(&path).history().forget::<Item>().unwrap();
        put(&without, "a", 6);
        put(&knowing, "a", 7);
        assert_eq!(rank(&without, "a"), Some(7));
    });
}

// Promise: storage-format#S47
#[test]
fn program_without_a_history_reads_a_versioned_type_and_does_not_write_it() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        drop(workspace);
        let without = without_history(&path);
        assert_eq!(rank(&without, "a"), Some(1));
        let refused = without.perform_changes_blocking([Item::TABLE], |tx| {
            let item = tx.get::<Item>("a")?.unwrap();
            let deletion = ItemChangeRequest::deletion(tx, &item)?.unwrap();
            for request in [ItemChangeRequest::upsert(data("a", 2)), deletion] {
                let error = tx.submit(request).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NewerSchema);
                assert!(error.to_string().contains("feature `history`"), "{error}");
            }
            tx.submit(ItemChangeRequest::creation(data("b", 1)))
                .map(drop)
        });
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::NewerSchema);
        assert_eq!(rank(&without, "a"), Some(1));
        assert_eq!(rows(&path, "item").len(), 1);
        let other = without.perform_changes_blocking([Other::TABLE], |tx| {
            tx.submit(OtherChangeRequest::creation(OtherData::default()))
        });
        other.unwrap();
        // The version is that of the next release, which the first release refuses.
        let find = "SELECT substr(descriptor, 1, 1) FROM dflat__schema WHERE name = 'item'";
        let version: Vec<u8> = sql(&path).query_row(find, [], |row| row.get(0)).unwrap();
        assert_eq!(version, [3]);
    });
}

#[test]
fn types_are_not_versioned_where_no_history_is_kept() {
    bounded(|| {
        let (_directory, path) = file();
        let memory = Workspace::in_memory();
        put(&memory, "a", 1);
        assert_eq!(memory.history().log().count(), 0);
        let workspace = open(&path);
        assert_eq!(workspace.history().log().count(), 0);
        assert!(!path.exists());
    });
}

#[test]
fn damaged_step_is_reported_and_ends_the_log() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        for rank in 0..3 {
            put(&workspace, "a", rank);
        }
        for damage in ["record = x'00'", "note = x'09'"] {
            sql(&path)
                .execute(
                    &format!("UPDATE dflat__steps SET {damage} WHERE id = 2"),
                    [],
                )
                .unwrap();
            let log: Vec<_> = workspace.history().log().collect();
            assert_eq!(log.len(), 2);
            let error = log[1].as_ref().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert!(error.to_string().contains("step 2"), "{error}");
            sql(&path)
                .execute("UPDATE dflat__steps SET note = x'' WHERE id = 2", [])
                .unwrap();
        }
        assert!(ChangeRecord::decode(&steps(&path)[0].1).is_ok());
    });
}
