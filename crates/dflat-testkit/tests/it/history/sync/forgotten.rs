//! Exchanges after an object was forgotten: no commit of another file brings it back.

use dflat::ErrorKind;
use dflat_testkit::schema::Item;

use super::super::files::{delete, file, having, open, put, rank};

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
    // A commit that has lost an object is not sent.
    let here = open(&one);
    let (_third, third) = file();
    let third = open(&third);
    let error = third
        .history()
        .remote("here")
        .pull_from(&here, "main")
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
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
