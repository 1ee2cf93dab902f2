//! The changes of received commits in many parts.

use std::collections::BTreeSet;

use dflat::history::{Commit, CommitId};
use dflat::{ErrorKind, Object};
use dflat_engine::engine::Engine;
use dflat_history::commits::store_commit;
use dflat_history::compare::objects_at;
use dflat_history::received::put_part;
use dflat_model::{Table, ValueRef, key};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, Other};

use super::super::super::files::{file, note_others, open_both, put};
use super::copying::{commits, copy, engine, parts, write};

/// Stores a commit with its parts.
fn store(engine: &Engine, commit: &Commit, parts: &[Vec<u8>]) {
    let stored = write(engine, |writer| {
        for (part, number) in parts.iter().zip(0..) {
            put_part(writer, commit.id, number, part)?;
        }
        store_commit(writer, commit)
    });
    stored.unwrap();
}

/// The payload of one object of a commit.
fn object(engine: &Engine, table: &Table, id: CommitId, key: &[u8]) -> Option<Vec<u8>> {
    let wanted = [(id, BTreeSet::from([key.to_vec()]))];
    let found = engine.read_history(|snapshot| objects_at(snapshot, table, &wanted));
    let mut found = found.unwrap().into_iter().flatten();
    let object = found.next();
    assert!(found.next().is_none());
    object.map(|(_, (_, payload))| payload)
}

#[test]
fn each_object_is_found_in_parts_of_any_size() {
    bounded(|| {
        for rows_of_part in [1, 2, 7, 100] {
            let ((_here, from), (_there, to)) = (file(), file());
            let made = open_both(&from);
            for number in 0..25 {
                put(&made, format!("{number:02}"), number);
            }
            note_others(&made, 0..13, "note");
            let id = made.history().commit("first").unwrap();
            let engine = engine(&to).unwrap();
            let commit = &commits(&from)[0];
            store(&engine, commit, &parts(&from, commit, rows_of_part));
            let others = || {
                for number in -1..14 {
                    let key = key::encode([ValueRef::Int(number)]);
                    let found = object(&engine, &Other::TABLE, id, &key);
                    let found = found.map(|payload| Other::from_bytes(&payload).unwrap().id());
                    let is_there = (0..13).contains(&number);
                    assert_eq!(found.map(i64::from), is_there.then_some(number), "{number}");
                }
            };
            others();
            let item = |number: i32| {
                let id_of_item = format!("{number:02}");
                let key = key::encode([ValueRef::Text(&id_of_item)]);
                let found = object(&engine, &Item::TABLE, id, &key);
                found.map(|payload| Item::from_bytes(&payload).unwrap().rank())
            };
            for number in -1..26 {
                let is_there = (0..25).contains(&number);
                assert_eq!(item(number), is_there.then_some(number), "{number}");
            }
            // Parts without changes are left behind.
            let workspace = open_both(&to);
            put(&workspace, "own", 1);
            workspace.history().forget::<Item>().unwrap();
            others();
            let wanted = [(id, BTreeSet::from([key::encode([ValueRef::Text("03")])]))];
            let lost = engine.read_history(|snapshot| objects_at(snapshot, &Item::TABLE, &wanted));
            assert_eq!(lost.unwrap_err().kind(), ErrorKind::NotFound);
        }
    });
}

#[test]
fn large_changes_are_kept_in_parts() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        note_others(&made, 0..4000, &"n".repeat(300));
        let id = made.history().commit("large").unwrap();
        let whole: Vec<Vec<u8>> = parts(&from, &commits(&from)[0], usize::MAX);
        assert!((4..8).contains(&whole.len()), "{}", whole.len());
        assert!(whole.iter().all(|part| part.len() < (256 << 10) + 1000));
        store(&engine(&to).unwrap(), &commits(&from)[0], &whole);
        let workspace = open_both(&to);
        assert_eq!(copy(&workspace.at(id).unwrap()), copy(&made));
    });
}
