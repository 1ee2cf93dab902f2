//! Another server takes the place of the first one: a promoted replica, or a restored copy.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use dflat::{Subscription, Workspace};
use dflat_testkit::fixture::{bounded, until};
use dflat_testkit::schema::{Item, ItemChangeRequest};

use super::replica::{address, copy_of, create, promote, replica_of};
use crate::engines::is_skipped;
use crate::process::Process;
use crate::server::{Server, new_server, sql_at};

/// The address of two servers: the second one is connected to if the first one is away.
fn either(first: &Server, second: &Process) -> String {
    format!(
        "host={},{} port={},{} user=dflat dbname=postgres",
        first.process.directory.display(),
        second.directory.display(),
        first.port,
        second.port
    )
}

fn connect(address: &str) -> Workspace {
    Workspace::connect(address).unwrap()
}

fn ranks(workspace: &Workspace) -> Vec<i32> {
    let list = workspace.fetch::<Item>().order_by(Item::RANK.ascending());
    list.all().unwrap().iter().map(|item| item.rank()).collect()
}

type Shown = Arc<Mutex<Vec<i32>>>;

/// Shows the ranks of all objects.
fn subscribe(workspace: &Workspace) -> (Shown, Subscription) {
    let shown = Shown::default();
    let noted = Arc::clone(&shown);
    let list = workspace.fetch::<Item>().order_by(Item::RANK.ascending());
    let subscription = workspace.subscribe(list, move |update| {
        let ranks = update.unwrap();
        *noted.lock().unwrap() = ranks.result().iter().map(|item| item.rank()).collect();
    });
    (shown, subscription.unwrap())
}

fn shows(shown: &Shown, ranks: &[i32]) {
    until(|| *shown.lock().unwrap() == ranks);
}

/// Programs have seen commits that the second server lacks, which has made others in their place.
/// The first server ends.
fn check_lost(first: Server, second: &Process) {
    let address_of_both = either(&first, second);
    let (writer, reader) = (connect(&address_of_both), connect(&address_of_both));
    let (shown, subscription) = subscribe(&reader);
    shows(&shown, &[0, 1, 2]);
    for rank in 3..6 {
        create(&writer, rank).unwrap();
    }
    shows(&shown, &[0, 1, 2, 3, 4, 5]);
    assert_eq!(ranks(&writer), [0, 1, 2, 3, 4, 5]);
    // More commits than the first server has.
    let other = connect(&address(second));
    for rank in 10..18 {
        create(&other, rank).unwrap();
    }
    let old = reader.get::<Item>("item 1").unwrap().unwrap();
    drop(first);
    shows(&shown, &[0, 1, 2, 10, 11, 12, 13, 14, 15, 16, 17]);
    assert!(reader.stats().renewals > 0);
    // The programs go on: what was lost is made again, and deliveries are followed one by one.
    let renewals = reader.stats().renewals;
    let again = (0..50).any(|_| {
        thread::sleep(Duration::from_millis(20));
        create(&writer, 3).is_ok()
    });
    assert!(again);
    create(&writer, 4).unwrap();
    create(&reader, 5).unwrap();
    let changed = reader.perform_changes_blocking([Item::TABLE], |tx| {
        let mut request = ItemChangeRequest::change(tx, &old)?.unwrap();
        request.rank = 100;
        tx.submit(request).map(drop)
    });
    changed.unwrap();
    let last = [0, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 100];
    shows(&shown, &last);
    assert_eq!(ranks(&writer), last);
    assert_eq!(ranks(&other), last);
    assert_eq!(reader.stats().renewals, renewals);
    drop(subscription);
}

#[test]
fn promoted_replica_that_lost_commits_lets_everything_be_read_again() {
    if is_skipped() {
        return;
    }
    // To start two servers may take a while.
    let primary = new_server(&[]).unwrap();
    let writer = connect(&primary.address());
    (0..3).for_each(|rank| create(&writer, rank).unwrap());
    let replica = replica_of(&primary);
    bounded(move || {
        promote(&replica);
        assert_eq!(ranks(&connect(&address(&replica))), [0, 1, 2]);
        check_lost(primary, &replica);
    });
}

#[test]
fn restored_copy_of_an_earlier_state_lets_everything_be_read_again() {
    if is_skipped() {
        return;
    }
    let server = new_server(&[]).unwrap();
    let writer = connect(&server.address());
    (0..3).for_each(|rank| create(&writer, rank).unwrap());
    let copy = copy_of(&server, &[]);
    bounded(move || {
        // The server says the same of itself.
        let itself = "SELECT system_identifier, timeline_id \
                      FROM pg_control_system(), pg_control_checkpoint()";
        let of_copy = sql_at(&address(&copy), itself).unwrap();
        assert_eq!(sql_at(&server.address(), itself).unwrap(), of_copy);
        check_lost(server, &copy);
    });
}

#[test]
fn promoted_replica_with_all_commits_is_followed_without_reading_again() {
    if is_skipped() {
        return;
    }
    let primary = new_server(&[]).unwrap();
    create(&connect(&primary.address()), 0).unwrap();
    let replica = replica_of(&primary);
    bounded(move || {
        let both = either(&primary, &replica);
        let (writer, reader) = (connect(&both), connect(&both));
        let (shown, subscription) = subscribe(&reader);
        (1..6).for_each(|rank| create(&writer, rank).unwrap());
        shows(&shown, &[0, 1, 2, 3, 4, 5]);
        let count = "SELECT count(*) FROM dflat.item";
        until(|| sql_at(&address(&replica), count).unwrap() == [["6"]]);
        promote(&replica);
        drop(primary);
        let other = connect(&address(&replica));
        (10..13).for_each(|rank| create(&other, rank).unwrap());
        shows(&shown, &[0, 1, 2, 3, 4, 5, 10, 11, 12]);
        assert_eq!(reader.stats().renewals, 0);
        let again = (0..50).any(|_| {
            thread::sleep(Duration::from_millis(20));
            create(&writer, 6).is_ok()
        });
        assert!(again);
        shows(&shown, &[0, 1, 2, 3, 4, 5, 6, 10, 11, 12]);
        assert_eq!(reader.stats().renewals, 0);
        drop(subscription);
    });
}
