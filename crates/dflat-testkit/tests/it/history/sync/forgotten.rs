//! Exchanges after an object was forgotten: no commit of another file brings it back.

use dflat::history::{Commit, CommitId, Pulled, SyncLimits};
use dflat::{ErrorKind, Result, Workspace};
use dflat_testkit::schema::Item;
use dflat_testkit::wire::{CHANGES, COMMIT, DONE, MARKS, REST, Script, message, messages, served};

use super::super::files::{delete, file, having, open, put, rank};
use super::exchange::items;

/// The key of the object that is forgotten.
const KEY: &str = "secret key";

// Promise: sync-format#Y14
#[test]
fn pulls_bring_no_forgotten_object_back() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    put(&there, KEY, 1);
    put(&there, "open", 1);
    there.history().commit("both have it").unwrap();
    let pull = || here.history().remote("there").pull_from(&there, "main");
    pull().unwrap();
    here.history().merge("there/main").unwrap();
    delete(&here, KEY);
    here.history().commit("deleted").unwrap();
    here.history().forget_object::<Item>(KEY).unwrap();
    let refused = |why: &str| {
        let error = pull().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains(why), "{error}");
    };
    // A commit that still has the object, and one that changes it.
    put(&there, "open", 2);
    let with = there.history().commit("still with it").unwrap();
    refused("may have an object");
    put(&there, KEY, 2);
    there
        .history()
        .branch_at(
            "back",
            there.history().commits().last().unwrap().unwrap().id,
        )
        .unwrap();
    there.history().checkout("back").unwrap();
    put(&there, KEY, 3);
    there.history().commit("changed").unwrap();
    let error = here
        .history()
        .remote("there")
        .pull_from(&there, "back")
        .unwrap_err();
    assert!(error.to_string().contains("it has an object"), "{error}");
    // One that deletes it is taken, and its key is not stored.
    delete(&there, KEY);
    there.history().checkout("main").unwrap();
    there.history().delete_branch("back").unwrap();
    let first = there.history().commits().last().unwrap().unwrap().id;
    there.history().branch_at("back", first).unwrap();
    there.history().checkout("back").unwrap();
    delete(&there, KEY);
    put(&there, "open", 3);
    there.history().commit("deleted as well").unwrap();
    let back = here
        .history()
        .remote("there")
        .pull_from(&there, "back")
        .unwrap();
    assert_eq!(back.commits, 1);
    here.history().merge("there/back").unwrap();
    assert_eq!((rank(&here, KEY), rank(&here, "open")), (None, Some(3)));
    here.purge().unwrap();
    here.shutdown().unwrap();
    assert_eq!(having(&one, KEY), [] as [String; 0]);
    assert!(there.at(with).unwrap().get::<Item>(KEY).unwrap().is_some());
}

#[test]
fn new_object_with_a_forgotten_key_is_exchanged_with_files_that_took_it() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    here.history().forget_object::<Item>(KEY).unwrap_err();
    put(&here, "open", 1);
    here.history().forget_object::<Item>(KEY).unwrap();
    put(&here, KEY, 1);
    there
        .history()
        .remote("here")
        .pull_from(&here, "main")
        .unwrap();
    there.history().merge("here/main").unwrap();
    put(&there, KEY, 2);
    here.history()
        .remote("there")
        .pull_from(&there, "main")
        .unwrap();
    here.history().merge("there/main").unwrap();
    assert_eq!(rank(&here, KEY), Some(2));
    // One that another file has made anew is refused.
    delete(&here, KEY);
    here.history()
        .remote("there")
        .push_to(&there, "main")
        .unwrap();
    put(&there, KEY, 3);
    there.history().commit("anew").unwrap();
    let error = here
        .history()
        .remote("there")
        .pull_from(&there, "main")
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}

#[test]
fn files_that_have_all_forgotten_an_object_go_on() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    for rank in 0..3 {
        put(&there, KEY, rank);
        put(&there, "open", rank);
        there.history().commit("with it").unwrap();
    }
    let pull = || here.history().remote("there").pull_from(&there, "main");
    pull().unwrap();
    here.history().merge("there/main").unwrap();
    delete(&there, KEY);
    put(&there, "open", 3);
    there.history().forget_object::<Item>(KEY).unwrap();
    // The other file has forgotten that the object was deleted.
    let error = pull().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(
        error.to_string().contains("forget it on this side"),
        "{error}"
    );
    delete(&here, KEY);
    assert_eq!(
        here.history().forget_object::<Item>(KEY).unwrap().commits,
        3
    );
    assert_eq!(pull().unwrap().commits, 1);
    here.history().merge("there/main").unwrap();
    assert_eq!((rank(&here, KEY), rank(&here, "open")), (None, Some(3)));
    put(&here, "open", 4);
    here.history()
        .remote("there")
        .push_to(&there, "main")
        .unwrap();
    assert_eq!(rank(&there, "open"), Some(4));
    assert_eq!(
        here.history().head().unwrap(),
        there.history().head().unwrap()
    );
    for (workspace, path) in [(here, &one), (there, &other)] {
        workspace.purge().unwrap();
        workspace.shutdown().unwrap();
        assert_eq!(having(path, KEY), [] as [String; 0]);
    }
}

/// A workspace with commits that have lost an object, and later ones with a new object of its key.
fn with_lost_commits(path: &std::path::Path) -> Workspace {
    let workspace = open(path);
    let history = workspace.history();
    for rank in 0..3 {
        put(&workspace, KEY, rank);
        put(&workspace, "open", rank);
        history.commit("with it").unwrap();
    }
    history.branch("draft").unwrap();
    put(&workspace, "open", 3);
    delete(&workspace, KEY);
    history.commit("deleted").unwrap();
    assert_eq!(history.forget_object::<Item>(KEY).unwrap().commits, 3);
    workspace
}

fn commits(workspace: &Workspace) -> Vec<Commit> {
    workspace.history().commits().map(Result::unwrap).collect()
}

// Promise: sync-format#Y15
#[test]
fn commits_that_have_lost_objects_are_taken_only_if_that_is_allowed() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), with_lost_commits(&other));
    let refused = here
        .history()
        .remote("there")
        .pull_from(&there, "main")
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
    assert!(here.history().remote_branches().unwrap().is_empty());
    let refused = there
        .history()
        .remote("here")
        .push_to(&here, "main")
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");

    let remote = || here.history().remote("there").accept_forgotten();
    assert_eq!(remote().pull_from(&there, "main").unwrap().commits, 4);
    here.history().merge("there/main").unwrap();
    let lost = |workspace: &Workspace| -> Vec<(CommitId, bool)> {
        let commits = commits(workspace);
        let commits = commits
            .iter()
            .map(|of| (of.id, of.tables[0].has_forgotten_objects));
        commits.collect()
    };
    assert_eq!(lost(&here), lost(&there));
    assert_eq!(items(&here), items(&there));
    for commit in commits(&there) {
        let [one, other] = [&here, &there].map(|workspace| workspace.at(commit.id).unwrap());
        assert_eq!(items(&one), items(&other));
        assert_eq!(rank(&one, KEY), None);
    }
}

#[test]
fn branches_that_have_lost_objects_are_like_others_and_are_passed_on_with_the_marks() {
    let ((_one, one), (_other, other), (_third, third)) = (file(), file(), file());
    let (here, there, third) = (open(&one), with_lost_commits(&other), open(&third));
    let remote = || here.history().remote("there").accept_forgotten();
    remote().pull_from(&there, "main").unwrap();
    here.history().merge("there/main").unwrap();
    remote().pull_from(&there, "draft").unwrap();
    let draft = here.history().remote_branches().unwrap();
    let draft = draft
        .iter()
        .find(|branch| branch.name == "there/draft")
        .unwrap();
    here.history().branch_at("draft", draft.commit).unwrap();
    here.history().checkout("draft").unwrap();
    put(&here, "open", 9);
    let pushed = here
        .history()
        .remote("there")
        .push_to(&there, "draft")
        .unwrap();
    assert_eq!(pushed.commits, 1);
    // They are passed on, and so are the marks.
    third
        .history()
        .remote("here")
        .accept_forgotten()
        .pull_from(&here, "main")
        .unwrap();
    third.history().merge("here/main").unwrap();
    assert_eq!(items(&third), items(&there));
    let (_fourth, fourth) = file();
    let fourth = open(&fourth);
    fourth
        .history()
        .remote("third")
        .accept_forgotten()
        .pull_from(&third, "main")
        .unwrap();
    fourth.history().merge("third/main").unwrap();
    put(&fourth, "open", 4);
    put(&there, KEY, 7);
    let refused = fourth
        .history()
        .remote("there")
        .pull_from(&there, "main")
        .unwrap_err();
    assert!(
        refused.to_string().contains("forgotten on this side"),
        "{refused}"
    );
}

#[test]
fn new_object_under_a_forgotten_key_is_in_the_first_exchange() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), with_lost_commits(&other));
    put(&there, KEY, 7);
    let remote = || here.history().remote("there").accept_forgotten();
    remote().pull_from(&there, "main").unwrap();
    here.history().merge("there/main").unwrap();
    assert_eq!(rank(&here, KEY), Some(7));
    put(&there, KEY, 8);
    remote().pull_from(&there, "main").unwrap();
    here.history().merge("there/main").unwrap();
    assert_eq!(rank(&here, KEY), Some(8));
}

/// The kinds and contents of messages.
type Messages = Vec<(u8, Vec<u8>)>;

/// A pull of these bytes that accepts forgotten objects.
fn pull(here: &Workspace, script: &[u8], branch: &str) -> Result<Pulled> {
    let remote = here.history().remote("peer").accept_forgotten();
    remote.pull(&mut Script(script), branch)
}

/// The bytes that come in such a pull.
fn recorded(here: &Workspace, there: &Workspace, branch: &str) -> Vec<u8> {
    let (bytes, done) = served(there, |end| {
        let remote = here.history().remote("peer").accept_forgotten();
        remote.pull(end, branch).unwrap();
        std::mem::take(&mut end.received)
    });
    done.unwrap();
    bytes
}

// Promise: sync-format#Y15
#[test]
fn wrong_bytes_about_forgotten_objects_move_no_branch() {
    let ((_one, one), (_other, other)) = (file(), file());
    let there = with_lost_commits(&other);
    let fresh = |number: usize| open(&one.with_file_name(format!("{number}.db")));
    let bytes = recorded(&fresh(0), &there, "main");
    let all = messages(&bytes);
    let joined = |messages: &Messages| -> Vec<u8> {
        let messages = messages
            .iter()
            .map(|(kind, content)| message(*kind, content));
        messages.collect::<Vec<_>>().concat()
    };
    let kinds: Vec<u8> = all.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(
        kinds[1..],
        [
            MARKS, 6, COMMIT, REST, CHANGES, COMMIT, REST, CHANGES, COMMIT, REST, CHANGES, COMMIT,
            CHANGES, DONE
        ]
    );
    let here = fresh(1);
    let refused = |script: &[u8], expected: ErrorKind| {
        let error = pull(&here, script, "main").unwrap_err();
        assert_eq!(error.kind(), expected, "{error}");
        assert!(here.history().remote_branches().unwrap().is_empty());
    };
    let with = |change: &dyn Fn(&mut Messages)| {
        let mut changed = all.clone();
        change(&mut changed);
        joined(&changed)
    };
    // Of no type, twice, too late, missing, and of other objects.
    refused(&with(&|m| m[4].1[0] = 1), ErrorKind::Corrupt);
    refused(&with(&|m| m.insert(4, m[4].clone())), ErrorKind::Corrupt);
    refused(&with(&|m| m.swap(4, 5)), ErrorKind::Corrupt);
    refused(&with(&|m| drop(m.remove(4))), ErrorKind::Corrupt);
    refused(&with(&|m| m[4].1[7] ^= 1), ErrorKind::Corrupt);
    refused(&with(&|m| m[4].1.push(0)), ErrorKind::Corrupt);
    refused(&with(&|m| m[1].1[32] ^= 3), ErrorKind::Corrupt);
    let limited = here
        .history()
        .remote("peer")
        .accept_forgotten()
        .limits(SyncLimits {
            commits: 5,
            ..SyncLimits::default()
        });
    let many = with(&|m| (0..3).for_each(|_| m.insert(1, m[1].clone())));
    let error = limited.pull(&mut Script(&many), "main").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}

// Promise: sync-format#Y15
#[test]
fn flipped_byte_of_a_commit_that_has_lost_an_object_is_refused_or_does_not_matter() {
    let ((_one, one), (_other, other)) = (file(), file());
    let there = open(&other);
    put(&there, KEY, 1);
    put(&there, "open", 1);
    there.history().branch("draft").unwrap();
    delete(&there, KEY);
    there.history().forget_object::<Item>(KEY).unwrap();
    let fresh = |number: usize| open(&one.with_file_name(format!("{number}.db")));
    let bytes = recorded(&fresh(0), &there, "draft");
    let (mut here, mut taken) = (fresh(1), 0);
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        if pull(&here, &flipped, "draft").is_err() {
            assert!(here.history().remote_branches().unwrap().is_empty(), "{at}");
            continue;
        }
        let pulled = here.at_branch("peer/draft").unwrap();
        assert_eq!(items(&pulled), items(&there), "{at}");
        taken += 1;
        here = fresh(1 + taken);
    }
    assert!(taken < bytes.len() / 2, "{taken} of {}", bytes.len());
    pull(&here, &bytes, "draft").unwrap();
}
