//! Received commits are read as the file reads them that made them.

use std::collections::BTreeSet;

use dflat_history::compare::objects_at;
use dflat_model::{ValueRef, key};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::Item;

use super::super::super::files::{delete, file, note_others, open_both, put};
use super::copying::{commits, copy, engine, pull};

// Promise: storage-format#S54
#[test]
fn objects_of_received_commits_are_those_of_the_file_that_made_them() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        for round in 0..4 {
            for id in 0..8 {
                put(&made, format!("{id}"), id * round);
            }
            note_others(&made, round..round + 3, "note");
            if round > 1 {
                delete(&made, &format!("{round}"));
            }
            made.history().commit("round").unwrap();
        }
        assert_eq!(pull(&from, &to, "there").unwrap().len(), 4);
        assert_eq!(pull(&from, &to, "there").unwrap(), []);
        let received = open_both(&to);
        for commit in commits(&from) {
            let of_commit = copy(&received.at(commit.id).unwrap());
            assert_eq!(of_commit, copy(&made.at(commit.id).unwrap()));
            assert_eq!(
                of_commit.len() as u64,
                commit.tables.iter().map(|t| t.objects).sum::<u64>()
            );
        }
        assert!(copy(&received).is_empty());
    });
}

#[test]
fn chosen_objects_of_several_commits_are_read_at_once() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        for round in 0..5 {
            put(&made, format!("{round}"), round);
            put(&made, "all", round);
            if round == 3 {
                delete(&made, "1");
            }
            made.history().commit("round").unwrap();
        }
        pull(&from, &to, "there").unwrap();
        let ids: Vec<_> = commits(&from).iter().map(|commit| commit.id).collect();
        let key = |id: &str| key::encode([ValueRef::Text(id)]);
        let wanted = [
            (4, &["1", "all", "9"][..]),
            (0, &["0", "1"]),
            (2, &["1", "all"]),
        ];
        let wanted = wanted.map(|(at, keys)| {
            let keys: BTreeSet<Vec<u8>> = keys.iter().map(|id| key(id)).collect();
            (ids[at], keys)
        });
        for path in [&from, &to] {
            let engine = engine(path).unwrap();
            let found = engine.read_history(|snapshot| objects_at(snapshot, &Item::TABLE, &wanted));
            let ranks = found.unwrap().into_iter().map(|states| {
                let states = states.into_iter();
                let ranks = states.map(|(key, (_, payload))| {
                    (
                        key,
                        <Item as dflat::Object>::from_bytes(&payload)
                            .unwrap()
                            .rank(),
                    )
                });
                ranks.collect::<Vec<_>>()
            });
            let expected = [
                vec![(key("all"), 4)],
                vec![(key("0"), 0)],
                vec![(key("1"), 1), (key("all"), 2)],
            ];
            assert!(ranks.eq(expected));
        }
    });
}
