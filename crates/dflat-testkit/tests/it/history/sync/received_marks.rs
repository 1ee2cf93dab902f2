//! A file that accepts forgotten objects forgets them itself.

use std::path::Path;

use dflat::history::{CommitId, Merged, Pulled, Side};
use dflat::{ErrorKind, Object, Result, Workspace};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData, Other, OtherChangeRequest};
use dflat_testkit::wire::{COMMIT, Script, message, messages, served};

use super::super::files::{
    data, delete, file, having, note_others, open, open_both, put, rank, sql,
};
use super::exchange::items;

/// The key of the object that is forgotten, and a text in it.
const KEY: &str = "secret key";
const TEXT: &str = "secret text";

/// Stores the object that is forgotten.
fn put_secret(workspace: &Workspace, rank: i32) {
    let data = ItemData {
        nick: Some(format!("{TEXT} {rank}")),
        ..data(KEY, rank)
    };
    let request = ItemChangeRequest::upsert(data);
    let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| tx.submit(request));
    stored.unwrap();
}

fn pull(here: &Workspace, there: &Workspace) -> Result<Pulled> {
    let remote = here.history().remote("there").accept_forgotten();
    remote.pull_from(there, "main")
}

/// Three commits with the object that both files have. Returns the first one.
fn share(here: &Workspace, there: &Workspace) -> CommitId {
    for rank in 0..3 {
        put_secret(there, rank);
        put(there, "open", rank);
        there.history().commit("with it").unwrap();
    }
    pull(here, there).unwrap();
    here.history().merge("there/main").unwrap();
    assert_eq!(rank(here, KEY), Some(2));
    let commits = there.history().commits();
    commits.map(|commit| commit.unwrap().id).last().unwrap()
}

/// Deletes the object, and forgets it.
fn forget(workspace: &Workspace) {
    delete(workspace, KEY);
    workspace.history().forget_object::<Item>(KEY).unwrap();
}

/// Checks that the files have neither the key nor the text.
fn check_gone(workspace: &Workspace, path: &Path) {
    workspace.purge().unwrap();
    workspace.shutdown().unwrap();
    assert_eq!(having(path, KEY), [] as [String; 0]);
    assert_eq!(having(path, TEXT), [] as [String; 0]);
}

// Promise: sync-format#Y16
#[test]
fn received_mark_is_applied_to_the_history_of_the_receiver() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    let first = share(&here, &there);
    // The receiver has changes of its own, on another branch, too.
    here.history().branch("draft").unwrap();
    here.history().checkout("draft").unwrap();
    put_secret(&here, 7);
    put(&here, "mine", 7);
    let own = here.history().commit("own").unwrap();
    here.history().checkout("main").unwrap();
    delete(&here, KEY);
    forget(&there);
    put(&there, "open", 3);
    // A file that does not accept forgotten objects lacks the deletion.
    let refused = here.history().remote("there").pull_from(&there, "main");
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused}");
    assert!(
        refused.to_string().contains("accept forgotten"),
        "{refused}"
    );
    assert_eq!(rank(&here.at(first).unwrap(), KEY), Some(0));

    assert_eq!(pull(&here, &there).unwrap().commits, 1);
    assert_eq!(rank(&here.at(first).unwrap(), KEY), None);
    assert_eq!(rank(&here.at(first).unwrap(), "open"), Some(0));
    assert_eq!(rank(&here.at(own).unwrap(), KEY), None);
    assert_eq!(rank(&here.at(own).unwrap(), "mine"), Some(7));
    while here.history().undo_rest().unwrap().is_some() {
        assert_eq!(rank(&here, KEY), None);
    }
    here.history().merge("there/main").unwrap();
    assert_eq!((rank(&here, KEY), rank(&here, "open")), (None, Some(3)));
    check_gone(&here, &one);
    check_gone(&there, &other);
}

#[test]
fn received_mark_is_applied_by_a_server_that_takes_a_push() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    share(&here, &there);
    delete(&here, KEY);
    here.history()
        .remote("there")
        .push_to(&there, "main")
        .unwrap();
    here.history().forget_object::<Item>(KEY).unwrap();
    put(&here, "open", 3);
    let (mut end, mut other_end) = dflat_testkit::wire::connection();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let server = there.history().server().accept_pushes();
            let served = server.accept_forgotten().serve(&mut other_end);
            drop(other_end);
            served
        });
        let pushed = here.history().remote("there").push(&mut end, "main");
        drop(end);
        assert_eq!(server.join().unwrap().unwrap().pushes, 1);
        assert_eq!(pushed.unwrap().commits, 1);
    });
    assert_eq!(items(&there), items(&here));
    check_gone(&there, &other);
}

// Promise: sync-format#Y17
#[test]
fn object_that_exists_is_not_deleted_by_a_pull() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    let first = share(&here, &there);
    forget(&there);
    put(&there, "open", 3);
    let before = here.history().remote_branches().unwrap();
    for _ in 0..2 {
        let refused = pull(&here, &there).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists, "{refused}");
        let message = refused.to_string();
        assert!(message.contains("Item \"secret key\""), "{message}");
        assert_eq!(here.history().remote_branches().unwrap(), before);
        assert_eq!(rank(&here, KEY), Some(2));
        assert_eq!(rank(&here.at(first).unwrap(), KEY), Some(0));
    }
    delete(&here, KEY);
    pull(&here, &there).unwrap();
    here.history().merge("there/main").unwrap();
    assert_eq!(items(&here), items(&there));
    check_gone(&here, &one);
}

#[test]
fn object_that_exists_and_is_in_no_commit_is_not_deleted_by_a_pull() {
    let ((_one, one), (_other, other)) = (file(), file());
    // The object is older than the history of its type.
    let plain = Workspace::open(&one).unwrap();
    put(&plain, KEY, 1);
    plain.shutdown().unwrap();
    let (here, there) = (open(&one), open(&other));
    put(&there, KEY, 1);
    put(&there, "open", 1);
    there.history().commit("with it").unwrap();
    forget(&there);
    let refused = pull(&here, &there).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists, "{refused}");
    assert_eq!(rank(&here, KEY), Some(1));
}

/// The history of the type has ended, the object was stored, and the history has begun again.
#[test]
fn object_that_was_stored_without_a_history_is_not_deleted_by_a_pull() {
    for is_empty in [true, false] {
        let ((_one, one), (_other, other)) = (file(), file());
        let here = open(&one);
        put(&here, "first", 1);
        if is_empty {
            delete(&here, "first");
        }
        here.history().commit("first").unwrap();
        here.history().forget::<Item>().unwrap();
        here.shutdown().unwrap();
        let plain = Workspace::open(&one).unwrap();
        put(&plain, KEY, 1);
        plain.shutdown().unwrap();
        let (here, there) = (open(&one), open(&other));
        put(&here, "open", 1);
        put(&there, KEY, 1);
        put(&there, "more", 1);
        there.history().commit("with it").unwrap();
        forget(&there);
        there.history().commit("without it").unwrap();
        let refused = pull(&here, &there).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists, "{refused}");
        assert_eq!(rank(&here, KEY), Some(1));
    }
}

#[test]
fn all_marks_of_an_exchange_are_applied_to_all_types() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open_both(&one), open_both(&other));
    for round in 0..4 {
        for id in 0..40 {
            put(&there, format!("{KEY} {id}"), round);
        }
        note_others(&there, 0..40, &format!("note {round}"));
        there.history().commit("round").unwrap();
    }
    pull(&here, &there).unwrap();
    here.history().merge("there/main").unwrap();
    let delete_all = there.perform_changes_blocking([Item::TABLE, Other::TABLE], |tx| {
        for id in 0..30 {
            let item = tx.get::<Item>(&format!("{KEY} {id}"))?.unwrap();
            tx.submit(ItemChangeRequest::deletion(tx, &item)?.unwrap())?;
            let other = tx.get::<Other>(id)?.unwrap();
            tx.submit(OtherChangeRequest::deletion(tx, &other)?.unwrap())?;
        }
        Ok(())
    });
    delete_all.unwrap();
    pull(&here, &there).unwrap();
    here.history().merge("there/main").unwrap();
    for id in 0..30 {
        let history = there.history();
        history
            .forget_object::<Item>(&format!("{KEY} {id}"))
            .unwrap();
        history.forget_object::<Other>(id).unwrap();
    }
    put(&there, "open", 1);
    pull(&here, &there).unwrap();
    here.history().merge("there/main").unwrap();
    let commits = there.history().commits().map(|commit| commit.unwrap());
    for commit in commits {
        let [of_here, of_there] = [&here, &there].map(|workspace| {
            let at = workspace.at(commit.id).unwrap();
            let others = at.fetch::<Other>().all().unwrap();
            let others: Vec<_> = others.iter().map(Object::to_bytes).collect();
            (items(&at), others)
        });
        assert_eq!(of_here, of_there);
        let [of_here, of_there] = [&here, &there].map(|workspace| {
            let commits = workspace.history().commits().map(|found| found.unwrap());
            let mut commits = commits.filter(|found| found.id == commit.id);
            commits.next().unwrap().tables
        });
        assert_eq!(of_here, of_there);
    }
}

#[test]
fn types_that_are_not_allowed_forget_nothing() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open_both(&one), open(&other));
    share(&here, &there);
    note_others(&here, 0..1, "note");
    forget(&there);
    put(&there, "open", 3);
    let remote = here.history().remote("there").of::<Other>();
    let refused = remote.accept_forgotten().pull_from(&there, "main");
    refused.unwrap_err();
    assert_eq!(rank(&here, KEY), Some(2));
}

#[test]
fn new_object_under_a_forgotten_key_comes_after_an_interruption() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    share(&here, &there);
    delete(&here, KEY);
    // Another file of the same state, for the bytes of the exchange.
    let (_third, third) = file();
    let third = open(&third);
    pull(&third, &there).unwrap();
    forget(&there);
    there.history().commit("without it").unwrap();
    put(&there, KEY, 8);
    there.history().commit("with a new one").unwrap();
    let (recorded, _) = served(&there, |end| {
        let remote = third.history().remote("there").accept_forgotten();
        remote.pull(end, "main").unwrap();
        std::mem::take(&mut end.received)
    });
    // The connection ends before each of the commits.
    let mut sent = Vec::new();
    for (kind, content) in messages(&recorded) {
        if kind == COMMIT {
            let remote = here.history().remote("there").accept_forgotten();
            remote.pull(&mut Script(&sent), "main").unwrap_err();
        }
        sent.extend(message(kind, &content));
    }
    pull(&here, &there).unwrap();
    here.history().merge("there/main").unwrap();
    assert_eq!(rank(&here, KEY), Some(8));
}

#[test]
fn nodes_of_a_forgotten_object_are_collected_after_an_interruption() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    share(&here, &there);
    delete(&here, KEY);
    forget(&there);
    put(&there, "open", 3);
    let sql = sql(&one);
    sql.execute_batch("CREATE TABLE kept AS SELECT * FROM dflat__chunks")
        .unwrap();
    pull(&here, &there).unwrap();
    // The nodes are there, as if the pull had ended before they were collected.
    let restore = "INSERT OR IGNORE INTO dflat__chunks (name, bytes) SELECT name, bytes FROM kept; \
                   DROP TABLE kept; \
                   INSERT INTO dflat__refs (name, bytes) VALUES (CAST('uncollected' AS BLOB), x'00')";
    sql.execute_batch(restore).unwrap();
    drop(sql);
    put(&there, "open", 4);
    pull(&here, &there).unwrap();
    check_gone(&here, &one);
}

#[test]
fn object_that_was_inserted_after_both_files_had_forgotten_the_one_before_stays() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    share(&here, &there);
    forget(&here);
    forget(&there);
    put(&here, KEY, 9);
    let new = here.history().commit("a new one").unwrap();
    put(&there, "open", 3);
    pull(&here, &there).unwrap();
    assert_eq!(rank(&here, KEY), Some(9));
    delete(&here, KEY);
    put(&there, "open", 4);
    pull(&here, &there).unwrap();
    assert_eq!(rank(&here.at(new).unwrap(), KEY), Some(9));
}

/// A file with a conflict about the object.
fn conflict(workspace: &Workspace) -> dflat::history::PendingMerge {
    let history = workspace.history();
    put_secret(workspace, 0);
    put(workspace, "open", 0);
    history.branch("draft").unwrap();
    put_secret(workspace, 1);
    put(workspace, "open", 1);
    history.checkout("draft").unwrap();
    put_secret(workspace, 2);
    put(workspace, "open", 2);
    history.checkout("main").unwrap();
    match history.merge("draft").unwrap() {
        Merged::Conflicts(mut pending) => {
            assert_eq!(pending.conflicts().len(), 2);
            pending.keep_all(Side::Theirs);
            pending
        }
        merged => panic!("no conflict: {merged:?}"),
    }
}

#[test]
fn merge_that_began_before_an_object_was_forgotten_does_not_bring_it_back() {
    let (_directory, path) = file();
    let workspace = open(&path);
    let pending = conflict(&workspace);
    forget(&workspace);
    pending.finish().unwrap();
    assert_eq!(
        (rank(&workspace, KEY), rank(&workspace, "open")),
        (None, Some(2))
    );
    check_gone(&workspace, &path);
}

#[test]
fn merge_that_began_before_an_object_was_forgotten_does_not_set_a_new_one() {
    let (_directory, path) = file();
    let workspace = open(&path);
    // The key was forgotten before, so that the mark is not new.
    put_secret(&workspace, 9);
    forget(&workspace);
    let pending = conflict(&workspace);
    forget(&workspace);
    put(&workspace, KEY, 5);
    pending.finish().unwrap();
    assert_eq!(
        (rank(&workspace, KEY), rank(&workspace, "open")),
        (Some(5), Some(2))
    );
}
