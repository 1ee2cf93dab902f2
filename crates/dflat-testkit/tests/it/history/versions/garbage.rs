//! Collections of commits and nodes that no branch needs.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use dflat::history::{Change, CommitId, KeepTrees, Merged, Side};
use dflat::{ErrorKind, Result, Workspace};
use dflat_history::tree::CheckLimits;
use dflat_testkit::fault::{self, Action, Device, Failure, Operation, Outcome};
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, Other};

use super::super::files::{
    data, delete, file, note_others, open, open_both, open_durable, open_others, put, sql,
};
use super::commits::{built, chunks, last};

/// Only the trees that merges need.
const NEEDED: KeepTrees = KeepTrees {
    last: 0,
    age: Duration::ZERO,
    labelled: false,
};

type Ranks = BTreeMap<String, i32>;

fn ranks(workspace: &Workspace) -> Ranks {
    let items = workspace.fetch::<Item>().all().unwrap();
    items
        .iter()
        .map(|item| (item.id().to_owned(), item.rank()))
        .collect()
}

fn count(path: &Path, table: &str) -> i64 {
    let count = format!("SELECT count(*) FROM {table}");
    sql(path).query_row(&count, [], |row| row.get(0)).unwrap()
}

/// The keys that differ between two commits.
fn keys(workspace: &Workspace, from: CommitId, to: CommitId) -> Vec<String> {
    let diff = workspace.history().diff::<Item>(from, to).unwrap();
    let keys = diff.map(|change| match change.unwrap() {
        Change::Inserted(item) | Change::Deleted(item) => item.id().to_owned(),
        Change::Updated { after, .. } => after.id().to_owned(),
        change => panic!("{change:?}"),
    });
    keys.collect()
}

#[test]
fn collection_keeps_every_state_and_each_tree_that_a_branch_needs() {
    bounded(|| {
        for seed in 0..3 {
            let (_directory, path) = file();
            let workspace = open(&path);
            let history = workspace.history();
            let mut random = Random::new(seed);
            let mut copies: Vec<(CommitId, Ranks)> = Vec::new();
            put(&workspace, "0", 0);
            history.branch("draft").unwrap();
            for round in 0..60 {
                for _ in 0..1 + random.below(4) {
                    let id = format!("{}", random.below(300));
                    put(&workspace, id, round);
                }
                match random.below(6) {
                    0 => {
                        let current = history.current_branch().unwrap();
                        let other = if current == "main" { "draft" } else { "main" };
                        history.checkout(other).unwrap();
                    }
                    1 => {
                        if let Merged::Conflicts(mut pending) = history.merge("draft").unwrap() {
                            pending.keep_all(Side::Ours);
                            pending.finish().unwrap();
                        }
                    }
                    2 => drop(history.collect_garbage(&NEEDED).unwrap()),
                    _ => {}
                }
                copies.push((history.commit("a").unwrap(), ranks(&workspace)));
            }
            history.collect_garbage(&NEEDED).unwrap();
            // The tips have their trees, and nothing else is there but what merges need.
            let trees = chunks(&path);
            for branch in history.branches().unwrap() {
                workspace.history().checkout(&branch.name).unwrap();
                let root = last(&workspace).tables[0].root;
                assert_eq!(root, built::<Item>(&path));
                trees.check(&root, &CheckLimits::NONE).unwrap();
            }
            for (id, copy) in copies.iter().step_by(7) {
                assert_eq!(ranks(&workspace.at(*id).unwrap()), *copy);
            }
            for pair in copies.windows(12).step_by(5) {
                let (from, to) = (&pair[0], &pair[11]);
                let all: std::collections::BTreeSet<&String> =
                    from.1.keys().chain(to.1.keys()).collect();
                let differ = all
                    .into_iter()
                    .filter(|key| from.1.get(*key) != to.1.get(*key));
                assert!(keys(&workspace, from.0, to.0).iter().eq(differ));
            }
            // Collected files go on as others do.
            put(&workspace, "after", 1);
            history.commit("after").unwrap();
            assert_eq!(last(&workspace).tables[0].root, built::<Item>(&path));
        }
    });
}

#[test]
fn commits_of_a_deleted_branch_and_their_nodes_are_deleted() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open_others(&path);
        let history = workspace.history();
        note_others(&workspace, 0..20_000, "main");
        let first = history.commit("first").unwrap();
        let before = count(&path, "dflat__chunks");
        history.branch("draft").unwrap();
        history.checkout("draft").unwrap();
        note_others(&workspace, 0..20_000, "draft");
        let second = history.commit("second").unwrap();
        history.checkout("main").unwrap();
        assert!(count(&path, "dflat__chunks") > before + 100);
        // The branch needs its nodes.
        assert_eq!(history.collect_garbage(&NEEDED).unwrap().nodes, 0);
        history.delete_branch("draft").unwrap();
        let collected = history.collect_garbage(&NEEDED).unwrap();
        assert_eq!(collected.commits, 1);
        assert!(collected.nodes > 100 && collected.bytes > collected.nodes * 1000);
        assert_eq!(count(&path, "dflat__chunks"), before);
        assert_eq!(
            workspace.at(second).unwrap_err().kind(),
            ErrorKind::NotFound
        );
        assert_eq!(
            workspace
                .at(first)
                .unwrap()
                .fetch::<Other>()
                .count()
                .unwrap(),
            20_000
        );
        let again = history.collect_garbage(&NEEDED).unwrap();
        assert_eq!((again.commits, again.nodes), (0, 0));
    });
}

#[test]
fn trees_of_the_last_the_young_and_the_labelled_commits_are_kept() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let history = workspace.history();
        for rank in 0..10 {
            put(&workspace, "a", rank);
            history.commit("labelled").unwrap();
        }
        let roots = || {
            let commits = history.commits().map(Result::unwrap);
            let roots: Vec<_> = commits.map(|commit| commit.tables[0].root).collect();
            let trees = chunks(&path);
            let is_there = |root| trees.check(root, &CheckLimits::NONE).is_ok();
            roots.iter().filter(|root| is_there(root)).count()
        };
        let hour = Duration::from_secs(3600);
        for keep in [
            KeepTrees::default(),
            KeepTrees {
                age: hour,
                ..NEEDED
            },
            KeepTrees {
                labelled: true,
                ..NEEDED
            },
        ] {
            history.collect_garbage(&keep).unwrap();
            assert_eq!(roots(), 10);
        }
        history
            .collect_garbage(&KeepTrees { last: 4, ..NEEDED })
            .unwrap();
        assert_eq!(roots(), 4);
        history.collect_garbage(&NEEDED).unwrap();
        assert_eq!(roots(), 1);
    });
}

/// While the trees of a commit are built from all objects, their first nodes are written, and no
/// commit needs them yet.
#[test]
fn trees_whose_first_nodes_are_collected_meanwhile_are_built_anew() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open_others(&path);
        note_others(&workspace, 0..130_000, "one");
        workspace.history().commit("first").unwrap();
        note_others(&workspace, 0..130_000, "two");
        let before = count(&path, "dflat__chunks");
        let committing = workspace.clone();
        let commit = std::thread::spawn(move || committing.history().commit("second").unwrap());
        while count(&path, "dflat__chunks") == before && !commit.is_finished() {
            std::thread::yield_now();
        }
        // As a collection does that began before: the nodes are new, and no branch needs them.
        let collect = format!(
            "DELETE FROM dflat__chunks WHERE id > {before}; \
             INSERT INTO dflat__refs (name, bytes) VALUES (x'{}', x'0100000000000000')",
            "collections"
                .bytes()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        );
        let sql = sql(&path);
        sql.busy_timeout(Duration::from_secs(20)).unwrap();
        sql.execute_batch("BEGIN IMMEDIATE").unwrap();
        let commits = "SELECT count(*) FROM dflat__commits";
        let commits: i64 = sql.query_row(commits, [], |row| row.get(0)).unwrap();
        assert_eq!(
            commits, 1,
            "the commit was made before its nodes were deleted"
        );
        sql.execute_batch(&collect).unwrap();
        sql.execute_batch("COMMIT").unwrap();
        commit.join().unwrap();
        let root = last(&workspace).tables[0].root;
        assert_eq!(root, built::<Other>(&path));
        let checked = chunks(&path).check(&root, &CheckLimits::NONE).unwrap();
        assert_eq!(checked.entries, 130_000);
    });
}

/// Whether a file has a text anywhere.
fn has_text(path: &Path, text: &str) -> bool {
    let bytes = std::fs::read(path).unwrap();
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

// Promise: storage-format#S50
#[test]
fn keys_of_a_forgotten_type_are_in_no_tree_and_after_a_purge_nowhere() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open_both(&path);
        let history = workspace.history();
        let note = |id: i32| note_others(&workspace, id..id + 1, "kept");
        note(1);
        for rank in 0..3 {
            put(&workspace, "secret key", rank);
            put(&workspace, "open key", rank);
            note(rank);
            history.commit("a").unwrap();
        }
        delete(&workspace, "secret key");
        history.commit("without").unwrap();
        assert!(has_text(&path, "secret key") || has_text(&wal(&path), "secret key"));
        history.forget::<Item>().unwrap();
        let stored = "SELECT count(*) FROM dflat__chunks WHERE instr(bytes, 'secret key') > 0";
        let count: i64 = sql(&path).query_row(stored, [], |row| row.get(0)).unwrap();
        assert_eq!(count, 0);
        workspace.purge().unwrap();
        workspace.shutdown().unwrap();
        assert!(!has_text(&path, "secret key"));
        // The other type has its trees, and the first one can be versioned again.
        let workspace = open_both(&path);
        put(&workspace, "new", 1);
        let commits = workspace
            .history()
            .commits()
            .collect::<Result<Vec<_>>>()
            .unwrap();
        let trees = chunks(&path);
        for commit in &commits {
            let table = commit
                .tables
                .iter()
                .find(|table| table.name == "other")
                .unwrap();
            trees.check(&table.root, &CheckLimits::NONE).unwrap();
        }
        let (first, without) = (commits.last().unwrap().id, commits[0].id);
        let forgotten = workspace
            .history()
            .diff::<Item>(first, without)
            .unwrap_err();
        assert_eq!(forgotten.kind(), ErrorKind::NotFound);
        workspace.history().commit("again").unwrap();
        let tables = last(&workspace).tables;
        assert_eq!(
            [tables[0].root, tables[1].root],
            [built::<Item>(&path), built::<Other>(&path)]
        );
    });
}

#[test]
fn objects_that_were_forgotten_are_not_read_as_those_of_a_commit_before() {
    bounded(|| {
        let ((_directory, path), (_fresh, to)) = (file(), file());
        let (workspace, fresh) = (open_both(&path), open_both(&to));
        put(&workspace, "a", 1);
        note_others(&workspace, 1..2, "kept");
        let history = workspace.history();
        let first = history.commit("first").unwrap();
        history.branch("draft").unwrap();
        history.checkout("draft").unwrap();
        put(&workspace, "c", 1);
        history.checkout("main").unwrap();
        let item = |workspace: &Workspace| {
            workspace
                .get::<Item>("a")
                .map(|item| item.map(|i| i.rank()))
        };
        assert_eq!(item(&workspace.at(first).unwrap()).unwrap(), Some(1));
        put(&workspace, "a", 2);
        history.forget::<Item>().unwrap();
        drop(workspace);
        // The type is versioned again, and has changed since.
        let workspace = open_both(&path);
        let history = workspace.history();
        put(&workspace, "a", 3);
        put(&workspace, "b", 3);
        let again = history.commit("again").unwrap();
        put(&workspace, "a", 4);
        assert_eq!(item(&workspace.at(again).unwrap()).unwrap(), Some(3));
        let before = workspace.at(first).unwrap();
        assert_eq!(before.fetch::<Other>().count().unwrap(), 1);
        let why = [
            item(&before).unwrap_err(),
            before.fetch::<Item>().count().unwrap_err(),
            history.diff::<Item>(first, again).err().unwrap(),
            history.checkout("draft").unwrap_err(),
        ];
        for error in why {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
            assert!(error.to_string().contains("forgotten since"), "{error}");
        }
        // A checkout that is refused makes no commit, and the current branch goes on.
        let commits = history.commits().collect::<Result<Vec<_>>>().unwrap();
        history.checkout("main").unwrap();
        let forgotten = commits.iter().map(|commit| {
            let tables = commit.tables.iter();
            tables.map(|table| table.is_forgotten).collect::<Vec<_>>()
        });
        let forgotten: Vec<_> = forgotten.collect();
        assert_eq!(forgotten, [vec![false, false], vec![true, false]]);
        let remote = fresh.history().remote("old");
        for error in [
            history.merge("draft").unwrap_err(),
            remote.pull_from(&workspace, "main").unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        }
    });
}

/// The log beside a file.
fn wal(path: &Path) -> std::path::PathBuf {
    path.with_extension("db-wal")
}

fn workload(device: &Device) -> Outcome {
    let path = device.path();
    let text = |error: dflat::Error| error.to_string();
    {
        let workspace = open_durable(&path).map_err(|error| format!("cannot open: {error}"))?;
        let history = workspace.history();
        for rank in 0..4 {
            let data = data("a", rank);
            let request = dflat_testkit::schema::ItemChangeRequest::upsert(data);
            let _ = workspace.perform_changes_blocking([Item::TABLE], |tx| tx.submit(request));
            let _ = history.commit("a");
        }
        let _ = history.collect_garbage(&NEEDED);
        let _ = workspace.shutdown();
    }
    device.heal();
    let workspace = open_durable(&path).map_err(text)?;
    put(&workspace, "after", 1);
    workspace.history().commit("after").map_err(text)?;
    workspace.history().collect_garbage(&NEEDED).map_err(text)?;
    let root = last(&workspace).tables[0].root;
    let checked = chunks(&path)
        .check(&root, &CheckLimits::NONE)
        .map_err(text)?;
    match root == built::<Item>(&path) && checked.nodes as i64 == count(&path, "dflat__chunks") {
        true => Ok(()),
        false => Err("the tree differs, or nodes are left".to_owned()),
    }
}

#[test]
fn failed_collection_loses_nothing_and_is_completed_by_the_next() {
    let failures = [Action::Fail(Failure::Io), Action::Fail(Failure::NoSpace)];
    fault::each_sampled(
        &[Operation::Write, Operation::Flush],
        &failures,
        40,
        workload,
    );
}
