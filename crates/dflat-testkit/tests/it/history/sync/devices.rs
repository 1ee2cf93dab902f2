//! Devices that edit offline and sync at random end with one head.

use std::collections::BTreeMap;

use dflat::history::{CommitId, Merged, Side};
use dflat::{ErrorKind, Object, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};
use tempfile::TempDir;

use super::super::files::{data, delete, open, put};
use super::exchange::items;

const DEVICES: usize = 3;

/// The number of exchanges with a hub after which all devices have one head: each device gives its
/// commits, and then each takes those of the others.
const EXCHANGES: usize = 2 * DEVICES;

struct Device {
    workspace: Workspace,
    name: String,
}

fn devices(directory: &TempDir) -> Vec<Device> {
    let devices = (0..DEVICES).map(|number| {
        let name = format!("device-{number}");
        let path = directory.path().join(&name);
        Device {
            workspace: open(&path),
            name,
        }
    });
    devices.collect()
}

/// Changes some objects. The unique field is never used, so no merge is in conflict about it.
fn edit(device: &Device, random: &mut Random) {
    let workspace = &device.workspace;
    for _ in 0..random.below(4) {
        let id = format!("item {}", random.below(12));
        let rank = i32::try_from(random.below(1000)).unwrap();
        let stored = workspace.get::<Item>(&*id).unwrap();
        match (random.below(5), stored) {
            (0, Some(_)) => delete(workspace, &id),
            (1, Some(item)) => {
                let data = ItemData {
                    size: rank,
                    ..item.to_data()
                };
                let request = ItemChangeRequest::upsert(data);
                let stored =
                    workspace.perform_changes_blocking([Item::TABLE], |tx| tx.submit(request));
                stored.unwrap();
            }
            (2, Some(item)) => {
                let data = ItemData {
                    name: Some(format!("name {rank}")),
                    ..item.to_data()
                };
                let request = ItemChangeRequest::upsert(data);
                let stored =
                    workspace.perform_changes_blocking([Item::TABLE], |tx| tx.submit(request));
                stored.unwrap();
            }
            _ => put(workspace, id, rank),
        }
        if random.one_in(4) {
            workspace.history().commit("work").unwrap();
        }
    }
}

/// The device takes the commits of another, and merges them. Its own objects win.
fn take(device: &Device, other: &Device) {
    let history = device.workspace.history();
    let remote = history.remote(&other.name);
    match remote.pull_from(&other.workspace, "main") {
        Err(error) if error.kind() == ErrorKind::NotFound => return,
        pulled => drop(pulled.unwrap()),
    }
    let merged = history.merge(&format!("{}/main", other.name)).unwrap();
    if let Merged::Conflicts(mut pending) = merged {
        pending.keep_all(Side::Ours);
        let merged = pending.finish().unwrap();
        assert!(!matches!(merged, Merged::Conflicts(_)), "{merged:?}");
    }
}

/// The device takes the commits of another, and gives it all of its own.
fn exchange(device: &Device, other: &Device) {
    take(device, other);
    let remote = device.workspace.history();
    let remote = remote.remote(&other.name);
    match remote.push_to(&other.workspace, "main") {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        pushed => drop(pushed.unwrap()),
    }
}

fn head(device: &Device) -> Option<CommitId> {
    device.workspace.history().head().unwrap()
}

fn roots(device: &Device) -> BTreeMap<String, dflat::history::Root> {
    let commit = device.workspace.history().commits().next();
    let tables = commit.map(|commit| commit.unwrap().tables);
    let tables = tables.unwrap_or_default().into_iter();
    tables.map(|table| (table.name, table.root)).collect()
}

fn run(seed: u64, rounds: usize) {
    let mut random = Random::new(seed);
    let directory = tempfile::tempdir().unwrap();
    let devices = devices(&directory);
    for _ in 0..rounds {
        let one = random.below(DEVICES);
        edit(&devices[one], &mut random);
        let other = (one + 1 + random.below(DEVICES - 1)) % DEVICES;
        match random.below(4) {
            0 => take(&devices[one], &devices[other]),
            1 => exchange(&devices[one], &devices[other]),
            _ => {}
        }
    }
    for device in &devices {
        device.workspace.history().commit("last").unwrap();
    }
    // The first device is the hub.
    let mut exchanges = 0;
    for _ in 0..2 {
        for device in &devices[1..] {
            exchange(device, &devices[0]);
            exchanges += 1;
        }
    }
    assert!(exchanges <= EXCHANGES);
    let first = (head(&devices[0]), items(&devices[0].workspace));
    for device in &devices[1..] {
        assert_eq!(
            (head(device), items(&device.workspace)),
            first,
            "seed {seed}"
        );
        assert_eq!(roots(device), roots(&devices[0]));
    }
}

// Promise: sync-format#Y10
#[test]
fn devices_that_sync_at_random_end_with_one_head() {
    bounded(|| {
        for seed in 0..12 {
            run(seed, 40);
        }
    });
}

// Promise: sync-format#Y11
#[test]
fn devices_that_have_merged_the_same_commits_take_one_head_without_a_commit() {
    let directory = tempfile::tempdir().unwrap();
    let devices = devices(&directory);
    put(&devices[0].workspace, "a", 1);
    for device in &devices[1..] {
        take(device, &devices[0]);
        put(&device.workspace, device.name.clone(), 1);
        device.workspace.history().commit("own").unwrap();
    }
    let [hub, one, other] = &devices[..] else {
        panic!("three devices");
    };
    // Both merge the same two commits: they make one commit.
    take(one, other);
    take(other, one);
    assert_eq!(head(one), head(other));
    take(hub, other);
    assert_eq!(head(hub), head(one));
    let count = |device: &Device| device.workspace.history().commits().count();
    assert_eq!([count(hub), count(one), count(other)], [4; 3]);
    for device in &devices {
        assert_eq!(device.workspace.fetch::<Item>().count().unwrap(), 3);
        let item = device.workspace.get::<Item>("a").unwrap().unwrap();
        assert_eq!(item.to_data(), data("a", 1));
    }
}

// Promise: sync-format#Y11
#[test]
fn devices_that_have_merged_in_another_order_take_the_commit_with_the_smaller_id() {
    let directory = tempfile::tempdir().unwrap();
    let devices = devices(&directory);
    let [hub, one, other] = &devices[..] else {
        panic!("three devices");
    };
    let history = hub.workspace.history();
    put(&hub.workspace, "a", 1);
    for branch in ["b", "c"] {
        history.branch(branch).unwrap();
        history.checkout(branch).unwrap();
        put(&hub.workspace, branch, 1);
        history.checkout("main").unwrap();
    }
    put(&hub.workspace, "a", 2);
    history.commit("main").unwrap();
    let merge = |device: &Device, branches: [&str; 3]| {
        for branch in branches {
            let history = device.workspace.history();
            let remote = history.remote("hub");
            remote.pull_from(&hub.workspace, branch).unwrap();
            history.merge(&format!("hub/{branch}")).unwrap();
        }
        head(device).unwrap()
    };
    let merged = [
        merge(one, ["main", "b", "c"]),
        merge(other, ["main", "c", "b"]),
    ];
    assert_ne!(merged[0], merged[1]);
    assert_eq!(roots(one), roots(other));
    take(one, other);
    take(other, one);
    let smaller = merged.into_iter().min();
    assert_eq!([head(one), head(other)], [smaller; 2]);
    assert_eq!(items(&one.workspace).len(), 3);
}
