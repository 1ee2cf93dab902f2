//! A replica of a server, which a program reads only if it has chosen to.

use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use dflat::{ErrorKind, Staleness, Workspace};
use dflat_testkit::fixture::{bounded, next};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

use crate::engines::is_skipped;
use crate::process::{Process, make_data, programs, start_on};
use crate::server::{Server, new_server, sql_at};

pub(super) fn create(workspace: &Workspace, rank: i32) -> dflat::Result<()> {
    workspace.perform_changes_blocking([Item::TABLE], |tx| {
        let data = ItemData {
            id: format!("item {rank}"),
            rank,
            ..ItemData::default()
        };
        tx.submit(ItemChangeRequest::creation(data)).map(drop)
    })
}

/// Starts a replica of a server.
pub(super) fn replica_of(primary: &Server) -> Process {
    copy_of(primary, &["-R"])
}

/// Starts a server on a copy of the files of another one, made with these options.
pub(super) fn copy_of(primary: &Server, options: &[&str]) -> Process {
    let programs = programs().unwrap();
    let socket = primary.socket();
    let directory = socket.parent().unwrap().display().to_string();
    let port = primary.port.to_string();
    let copy = |data: &Path, is_root| {
        let program = programs.join("pg_basebackup");
        let of_primary = ["-h", &directory, "-p", &port, "-U", "dflat"];
        let arguments = [&of_primary[..], options, &["-X", "stream", "-c", "fast"]].concat();
        make_data(&program, &arguments, (data, is_root));
    };
    start_on(&programs, copy, |_, _| Vec::new())
}

pub(super) fn address(replica: &Process) -> String {
    let directory = replica.directory.display();
    format!(
        "host={directory} port={} user=dflat dbname=postgres",
        replica.port
    )
}

#[test]
fn a_replica_is_read_by_choice_and_tells_how_old_it_is() {
    if is_skipped() {
        return;
    }
    // To start two servers may take a while.
    let primary = new_server(&[]).unwrap();
    let writer = Workspace::connect(&primary.address()).unwrap();
    create(&writer, 0).unwrap();
    assert_eq!(writer.staleness().unwrap(), Staleness::Current);
    let replica = replica_of(&primary);
    bounded(move || {
        is_followed(&writer, &replica);
        drop(primary);
    });
}

fn is_followed(writer: &Workspace, replica: &Process) {
    refuses_the_unaware(replica);
    let reader = Workspace::server(&address(replica)).replica(true);
    let reader = reader.open().unwrap();
    let refused = create(&reader, 1).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ReadOnly, "{refused:?}");
    // Live queries follow the primary.
    let (send, counts) = channel();
    let all = reader.fetch::<Item>();
    let subscription = reader.subscribe(all, move |update| {
        let _ = send.send(update.unwrap().result().len());
    });
    let subscription = subscription.unwrap();
    assert_eq!(next(&counts), 1);
    create(writer, 1).unwrap();
    while next(&counts) != 2 {}
    let age = reader.staleness().unwrap();
    assert!(matches!(age, Staleness::AtMost(_)), "{age:?}");

    // While the replica does not take in changes, its state grows older.
    let control = |statement: &str| sql_at(&address(replica), statement).unwrap();
    control("SELECT pg_wal_replay_pause()");
    while control("SELECT pg_get_wal_replay_pause_state()") != [["paused"]] {
        thread::sleep(Duration::from_millis(10));
    }
    create(writer, 2).unwrap();
    thread::sleep(Duration::from_millis(300));
    assert_eq!(reader.fetch::<Item>().count().unwrap(), 2);
    match reader.staleness().unwrap() {
        Staleness::AtMost(age) => assert!(age >= Duration::from_millis(250), "{age:?}"),
        other => panic!("{other:?}"),
    }
    control("SELECT pg_wal_replay_resume()");
    while next(&counts) != 3 {}
    // A later read sees no earlier state.
    assert_eq!(reader.fetch::<Item>().count().unwrap(), 3);

    // A replica that becomes a primary is one.
    promote(replica);
    assert_eq!(reader.staleness().unwrap(), Staleness::Current);
    create(&reader, 3).unwrap();
    drop(subscription);
}

/// Makes a primary of a replica.
pub(super) fn promote(replica: &Process) {
    let control = |statement: &str| sql_at(&address(replica), statement).unwrap();
    control("SELECT pg_promote()");
    while control("SELECT pg_is_in_recovery()") != [["f"]] {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Without the choice, nothing is read.
fn refuses_the_unaware(replica: &Process) {
    let unaware = Workspace::connect(&address(replica)).unwrap();
    let refused = unaware.fetch::<Item>().count().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ReadOnly, "{refused:?}");
    assert!(refused.to_string().contains("`replica`"), "{refused}");
}
