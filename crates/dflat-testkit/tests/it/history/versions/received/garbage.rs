//! Garbage collections and forgotten types in a file with received commits.

use std::path::Path;

use dflat::history::{CommitId, KeepTrees, Merged};
use dflat::{ErrorKind, Workspace};
use dflat_history::commits::{ensure_trees, put_incoming};
use dflat_history::received::{each_change, put_part};
use dflat_history::tree::CheckLimits;
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, Other};

use super::super::super::files::{delete, file, note_others, open_both, put, rank, sql};
use super::super::commits::{built, chunks, last};
use super::copying::{commits, copy, engine, parts, pull, tables, write};

/// Only the trees that branches and merges need.
const NEEDED: KeepTrees = {
    let mut keep = KeepTrees::ALL;
    (keep.last, keep.age, keep.labelled) = (0, std::time::Duration::ZERO, false);
    keep
};

fn count(path: &Path, table: &str) -> i64 {
    let count = format!("SELECT count(*) FROM {table}");
    sql(path).query_row(&count, [], |row| row.get(0)).unwrap()
}

/// Makes commits of items and others.
fn make(workspace: &Workspace, rounds: std::ops::Range<i32>) -> Vec<CommitId> {
    let made = rounds.map(|round| {
        put(workspace, format!("{round}"), round);
        put(workspace, "all", round);
        note_others(workspace, round..round + 2, "note");
        if round > 0 {
            delete(workspace, &format!("{}", round - 1));
        }
        workspace.history().commit("round").unwrap()
    });
    made.collect()
}

#[test]
fn received_commits_and_their_changes_are_kept_as_long_as_a_branch_of_a_remote_has_them() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        let ids = make(&made, 0..4);
        pull(&from, &to, "laptop").unwrap();
        let workspace = open_both(&to);
        put(&workspace, "own", 1);
        let own = workspace.history().commit("own").unwrap();
        let stored = count(&to, "dflat__received");
        let collected = workspace.history().collect_garbage(&NEEDED).unwrap();
        assert_eq!(
            (collected.commits, count(&to, "dflat__received")),
            (0, stored)
        );
        assert!(collected.nodes > 0);
        for id in &ids {
            assert_eq!(
                copy(&workspace.at(*id).unwrap()),
                copy(&made.at(*id).unwrap())
            );
        }
        // A branch of this file keeps those before it.
        workspace.history().branch_at("kept", ids[1]).unwrap();
        workspace.history().delete_branch("laptop/main").unwrap();
        let collected = workspace.history().collect_garbage(&NEEDED).unwrap();
        assert_eq!(collected.commits, 2);
        assert!(count(&to, "dflat__received") < stored);
        for id in &ids[..2] {
            assert_eq!(
                copy(&workspace.at(*id).unwrap()),
                copy(&made.at(*id).unwrap())
            );
        }
        let gone = workspace.at(ids[2]).unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound);
        workspace.history().delete_branch("kept").unwrap();
        workspace.history().collect_garbage(&NEEDED).unwrap();
        assert_eq!(count(&to, "dflat__received"), 0);
        assert_eq!(count(&to, "dflat__commits"), 1);
        assert_eq!(rank(&workspace.at(own).unwrap(), "own"), Some(1));
        // They can be received again.
        assert_eq!(pull(&from, &to, "laptop").unwrap(), ids);
        assert_eq!(copy(&workspace.at(ids[3]).unwrap()), copy(&made));
    });
}

#[test]
fn changes_without_their_commit_are_kept_until_all_pulls_are_finished() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        let ids = make(&made, 0..3);
        let workspace = open_both(&to);
        put(&workspace, "own", 1);
        let own = workspace.history().commit("own").unwrap();
        let engine = engine(&to).unwrap();
        let first = &commits(&from)[0];
        let parts = parts(&from, first, 1);
        assert!(parts.len() > 2);
        let put_parts = |range: std::ops::Range<usize>| {
            write(&engine, |writer| {
                let numbered = parts.iter().zip(0..).take(range.end).skip(range.start);
                for (part, number) in numbered {
                    put_part(writer, ids[0], number, part)?;
                }
                Ok(())
            })
        };
        put_parts(0..2).unwrap();
        write(&engine, |writer| {
            put_incoming(writer, ("laptop", "main"), own)
        })
        .unwrap();
        workspace.history().collect_garbage(&NEEDED).unwrap();
        assert_eq!(count(&to, "dflat__received"), 2);
        write(&engine, |writer| {
            dflat_history::commits::delete_incoming(writer, ("laptop", "main"))
        })
        .unwrap();
        let collected = workspace.history().collect_garbage(&NEEDED).unwrap();
        assert_eq!(count(&to, "dflat__received"), 0);
        assert_eq!(
            collected.bytes,
            parts[..2].iter().map(|part| part.len() as u64).sum::<u64>()
        );
        // The pull that was under way notices it.
        let refused = put_parts(2..3).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Busy);
        put_parts(0..parts.len()).unwrap();
    });
}

#[test]
fn damaged_and_missing_changes_are_reported() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        let ids = make(&made, 0..3);
        pull(&from, &to, "laptop").unwrap();
        let workspace = open_both(&to);
        let kinds = || {
            let at = workspace.at(ids[2]).map(drop).map_err(|error| error.kind());
            let merged = workspace.history().merge("laptop/main");
            (
                at.err(),
                merged.map(drop).map_err(|error| error.kind()).err(),
            )
        };
        let corrupt = Some(ErrorKind::Corrupt);
        for damage in [
            "UPDATE dflat__received SET bytes = zeroblob(length(bytes))",
            "UPDATE dflat__received SET bytes = substr(bytes, 1, length(bytes) - 1)",
            "DELETE FROM dflat__received WHERE substr(name, -1) = x'01'",
        ] {
            let sql = sql(&to);
            sql.execute_batch("CREATE TABLE saved AS SELECT * FROM dflat__received")
                .unwrap();
            sql.execute_batch(damage).unwrap();
            assert_eq!(kinds(), (corrupt, corrupt), "{damage}");
            let restore = "DELETE FROM dflat__received; \
                           INSERT INTO dflat__received SELECT * FROM saved; DROP TABLE saved";
            sql.execute_batch(restore).unwrap();
        }
        let engine = engine(&to).unwrap();
        let refused = write(&engine, |writer| put_part(writer, ids[0], 0, b"no part"));
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Corrupt);
        let mut count = 0;
        let counted = engine.read_history(|snapshot| {
            each_change(snapshot, ids[0], &mut |_| {
                count += 1;
                Ok(())
            })
        });
        counted.unwrap();
        assert_eq!(count, 4);
        assert_eq!(kinds(), (None, None));
        assert_eq!(copy(&workspace), copy(&made));
    });
}

#[test]
fn trees_that_were_collected_are_built_anew_when_a_branch_needs_them() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        let ids = make(&made, 0..6);
        pull(&from, &to, "laptop").unwrap();
        for (workspace, path) in [(&made, &from), (&open_both(&to), &to)] {
            let history = workspace.history();
            if path == &to {
                history.merge("laptop/main").unwrap();
            }
            let present = copy(workspace);
            history.collect_garbage(&NEEDED).unwrap();
            let first = commits(path)
                .iter()
                .find(|of| of.id == ids[0])
                .unwrap()
                .clone();
            let has_tree = || {
                let checked = chunks(path).check(&first.tables[0].root, &CheckLimits::NONE);
                checked.is_ok()
            };
            assert!(!has_tree());
            history.branch_at("old", ids[0]).unwrap();
            assert!(has_tree());
            history.checkout("old").unwrap();
            assert_eq!(last(workspace).id, ids[0]);
            assert_eq!(last(workspace).tables[0].root, built::<Item>(path));
            put(workspace, "old branch", 1);
            // The base of the merge is an older commit, whose trees are collected as well.
            let merged = history.merge("main").unwrap();
            assert!(matches!(merged, Merged::Commit { .. }), "{merged:?}");
            assert_eq!(copy(workspace).len(), present.len() + 1);
            assert_eq!(last(workspace).tables[0].root, built::<Item>(path));
            let engine = engine(path).unwrap();
            ensure_trees(&engine, &tables(), ids[3]).unwrap();
            let root = commits(path)
                .iter()
                .find(|of| of.id == ids[3])
                .unwrap()
                .tables[0]
                .root;
            chunks(path).check(&root, &CheckLimits::NONE).unwrap();
        }
    });
}

#[test]
fn trees_of_a_commit_whose_objects_were_forgotten_are_not_built() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open_both(&path);
        let ids = make(&workspace, 0..3);
        workspace.history().forget::<Item>().unwrap();
        let again = open_both(&path);
        put(&again, "new", 1);
        let now = copy(&again);
        let refused = again.history().branch_at("old", ids[0]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound);
        assert_eq!(again.history().branches().unwrap().len(), 1);
        // The present state can be committed, and have a branch.
        again.history().branch("new").unwrap();
        again.history().checkout("new").unwrap();
        assert_eq!(copy(&again), now);
    });
}

/// Two branches of a file whose common commit has lost its trees, because no branch needed it: the
/// other branch comes from elsewhere.
#[test]
fn merge_with_a_branch_from_a_commit_without_trees_builds_them_anew() {
    bounded(|| {
        let ((_here, here), (_there, there)) = (file(), file());
        let (one, other) = (open_both(&here), open_both(&there));
        make(&one, 0..3);
        pull(&here, &there, "one").unwrap();
        other.history().merge("one/main").unwrap();
        put(&other, "other", 1);
        other.history().commit("other").unwrap();
        make(&one, 3..6);
        one.history().collect_garbage(&NEEDED).unwrap();
        assert_eq!(pull(&there, &here, "other").unwrap().len(), 1);
        let merged = one.history().merge("other/main").unwrap();
        assert!(
            matches!(merged, Merged::Commit { changed: 1, .. }),
            "{merged:?}"
        );
        assert_eq!(rank(&one, "other"), Some(1));
        assert_eq!(last(&one).tables[0].root, built::<Item>(&here));
    });
}

#[test]
fn merge_and_checkout_need_no_tree_of_the_file() {
    bounded(|| {
        let ((_here, here), (_there, there)) = (file(), file());
        let (one, other) = (open_both(&here), open_both(&there));
        make(&one, 0..3);
        pull(&here, &there, "one").unwrap();
        other.history().merge("one/main").unwrap();
        other.history().branch("before").unwrap();
        make(&one, 3..5);
        put(&other, "other", 1);
        other.history().commit("other").unwrap();
        pull(&here, &there, "one").unwrap();
        let lose = || {
            sql(&there)
                .execute("DELETE FROM dflat__chunks", [])
                .unwrap()
        };
        lose();
        let merged = other.history().merge("one/main").unwrap();
        assert!(matches!(merged, Merged::Commit { .. }), "{merged:?}");
        let root = last(&other).tables[0].root;
        assert_eq!(root, built::<Item>(&there));
        chunks(&there).check(&root, &CheckLimits::NONE).unwrap();
        assert_eq!(copy(&other).len(), copy(&one).len() + 1);
        lose();
        other.history().checkout("before").unwrap();
        assert_eq!(last(&other).tables[0].root, built::<Item>(&there));
        lose();
        let merged = other.history().merge("main").unwrap();
        assert!(matches!(merged, Merged::Forward { .. }), "{merged:?}");
        assert_eq!(copy(&other).len(), copy(&one).len() + 1);
    });
}

/// Whether a file or its log has a text anywhere.
fn has_text(path: &Path, text: &str) -> bool {
    let files = [path.to_owned(), path.with_extension("db-wal")];
    let bytes = files.map(|path| std::fs::read(path).unwrap_or_default());
    let has = |bytes: &Vec<u8>| {
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    bytes.iter().any(has)
}

// Promise: storage-format#S50
#[test]
fn forgotten_type_is_in_no_received_change_and_after_a_purge_nowhere() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        put(&made, "secret key", 1);
        note_others(&made, 0..5, "kept");
        let first = made.history().commit("first").unwrap();
        delete(&made, "secret key");
        note_others(&made, 2..4, "changed");
        made.history().commit("second").unwrap();
        pull(&from, &to, "laptop").unwrap();
        let workspace = open_both(&to);
        assert!(has_text(&to, "secret key"));
        workspace.history().merge("laptop/main").unwrap();
        workspace.history().forget::<Item>().unwrap();
        let stored = "SELECT count(*) FROM dflat__received WHERE instr(bytes, 'secret key') > 0";
        let left: i64 = sql(&to).query_row(stored, [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0);
        workspace.purge().unwrap();
        workspace.shutdown().unwrap();
        assert!(!has_text(&to, "secret key"));
        // The changes of the other type are left.
        let engine = engine(&to).unwrap();
        let mut left = Vec::new();
        let read = engine.read_history(|snapshot| {
            each_change(snapshot, first, &mut |(table, ..)| {
                left.push(table.to_owned());
                Ok(())
            })
        });
        read.unwrap();
        assert_eq!(left, ["other"; 5]);
        drop(engine);
        // If the type is versioned again, its objects in the commit are lost all the same.
        let workspace = open_both(&to);
        put(&workspace, "new", 1);
        let before = workspace.at(first).unwrap();
        assert_eq!(before.fetch::<Other>().count().unwrap(), 5);
        let lost = before.fetch::<Item>().count().unwrap_err();
        assert_eq!(lost.kind(), ErrorKind::NotFound, "{lost}");
    });
}
