//! Damaged exchanges: each is refused and moves no branch, or its commits can be read whole.

use std::collections::BTreeMap;

use dflat::history::Address;
use dflat::{ErrorKind, Object, Workspace};
use tempfile::TempDir;

use crate::fuzz::mutate;
use crate::random::Random;
use crate::schema::{Item, ItemChangeRequest, ItemData};
use crate::wire::{CHANGES, COMMIT, MARKS, OFFER, REST, Script, message, messages, served};

/// How many exchanges a seed damages.
const EXCHANGES: usize = 8;

const ID: usize = 32;

/// A message: its kind and its content.
type Message = (u8, Vec<u8>);

/// Runs a seed.
pub fn run_seed(seed: u64) {
    let mut random = Random::new(seed);
    let directory = tempfile::tempdir().unwrap();
    let there = open(&directory, "there");
    edit(&there, &mut random);
    // The damaged exchange may be a second one, after objects of the first one were forgotten.
    let first = random
        .one_in(2)
        .then(|| record(&open(&directory, "first"), &there));
    if random.one_in(2) {
        forget(&there, &mut random);
    }
    let begin = |name: &str| {
        let here = open(&directory, name);
        if let Some(first) = &first {
            let remote = here.history().remote("peer").accept_forgotten();
            remote.pull(&mut Script(first), "main").unwrap();
        }
        here
    };
    let sound = messages(&record(&begin("sound"), &there));
    let mut here = begin("0");
    for number in 1..=EXCHANGES {
        let mut damaged = sound.clone();
        for _ in 0..1 + random.below(2) {
            damage(&mut damaged, &mut random);
        }
        if !random.one_in(4) {
            seal(&sound, &mut damaged);
        }
        pull_and_check(&here, &damaged);
        if here
            .history()
            .find_commit("")
            .err()
            .map(|error| error.kind())
            != Some(ErrorKind::NotFound)
        {
            here = begin(&number.to_string());
        }
    }
}

/// Checks any bytes as the answers of a peer, and as the requests of one.
pub fn check_bytes(bytes: &[u8]) {
    let directory = tempfile::tempdir().unwrap();
    let here = open(&directory, "here");
    let history = here.history();
    for remote in [
        history.remote("peer"),
        history.remote("friend").accept_forgotten(),
    ] {
        let before = history.remote_branches().unwrap();
        let pulled = remote.pull(&mut Script(bytes), "main");
        assert!(pulled.is_ok() || history.remote_branches().unwrap() == before);
    }
    for server in [history.server(), history.server().accept_forgotten()] {
        let _ = server.accept_pushes().serve(&mut Script(bytes));
    }
    assert_eq!(here.fetch::<Item>().all().unwrap().len(), count(&here));
}

fn count(workspace: &Workspace) -> usize {
    workspace.fetch::<Item>().count().unwrap()
}

fn open(directory: &TempDir, name: &str) -> Workspace {
    let path = directory.path().join(name);
    Workspace::builder(path).versioned::<Item>().open().unwrap()
}

/// Makes some commits, among them a merge.
fn edit(workspace: &Workspace, random: &mut Random) {
    let history = workspace.history();
    change(workspace, random);
    history.commit("first").unwrap();
    history.branch("draft").unwrap();
    for _ in 0..random.below(3) {
        change(workspace, random);
        history.commit("more").unwrap();
    }
    history.checkout("draft").unwrap();
    change(workspace, random);
    history.checkout("main").unwrap();
    // In a conflict nothing is merged, which is as good.
    let _ = history.merge("draft").unwrap();
}

/// Deletes an item, and forgets it. The item may be inserted anew.
fn forget(workspace: &Workspace, random: &mut Random) {
    let items = workspace.fetch::<Item>().all().unwrap();
    let id = items[random.below(items.len())].id().to_owned();
    let deleted = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        let item = tx.get::<Item>(&id)?.unwrap();
        let deletion = ItemChangeRequest::deletion(tx, &item)?.unwrap();
        tx.submit(deletion).map(drop)
    });
    deleted.unwrap();
    workspace.history().forget_object::<Item>(&id).unwrap();
    change(workspace, random);
}

/// The bytes that come in a pull that accepts forgotten objects.
fn record(here: &Workspace, there: &Workspace) -> Vec<u8> {
    let (bytes, served) = served(there, |end| {
        let remote = here.history().remote("peer").accept_forgotten();
        remote.pull(end, "main").unwrap();
        std::mem::take(&mut end.received)
    });
    served.unwrap();
    bytes
}

fn change(workspace: &Workspace, random: &mut Random) {
    let changed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        for _ in 0..1 + random.below(6) {
            let data = ItemData {
                id: format!("item {}", random.below(9)),
                rank: i32::try_from(random.below(100)).unwrap(),
                nick: Some("nick".repeat(random.below(30))),
                ..ItemData::default()
            };
            tx.submit(ItemChangeRequest::upsert(data))?;
        }
        Ok(())
    });
    changed.unwrap();
}

/// Damages the content of a message, leaves one out, or repeats one.
fn damage(messages: &mut Vec<Message>, random: &mut Random) {
    let place = random.below(messages.len());
    match random.below(8) {
        0 => drop(messages.remove(place)),
        1 => {
            let again = messages[place].clone();
            messages.insert(place, again);
        }
        2 => {
            let other = random.below(messages.len());
            messages.swap(place, other);
        }
        _ => {
            let is_deep =
                |(kind, _): &&mut Message| matches!(*kind, COMMIT | CHANGES | MARKS | REST);
            let deep: Vec<&mut Message> = messages.iter_mut().filter(is_deep).collect();
            let count = deep.len();
            if let Some((_, content)) = deep.into_iter().nth(random.below(count.max(1))) {
                mutate::bytes(content, random);
            }
        }
    }
    if messages.is_empty() {
        messages.push((OFFER, Vec::new()));
    }
}

/// Gives damaged commits the ids that belong to their bytes, wherever they are named, so that the
/// damage is not found by the ids alone.
fn seal(sound: &[Message], damaged: &mut [Message]) {
    let of_sound = sound.iter().filter(|(kind, _)| *kind == COMMIT);
    let of_sound: Vec<&Vec<u8>> = of_sound.map(|(_, content)| content).collect();
    let mut names: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let commits = damaged.iter_mut().filter(|(kind, _)| *kind == COMMIT);
    for (number, (_, content)) in commits.enumerate() {
        replace(content, &names);
        if let Some(before) = of_sound.get(number) {
            let id = |bytes: &[u8]| Address::of(bytes).as_bytes().to_vec();
            names.insert(id(before), id(content));
        }
    }
    for (kind, content) in damaged.iter_mut() {
        if *kind == OFFER {
            replace(content, &names);
        }
    }
}

/// Replaces ids in bytes.
fn replace(bytes: &mut [u8], names: &BTreeMap<Vec<u8>, Vec<u8>>) {
    let mut at = 0;
    while at + ID <= bytes.len() {
        let name = names.get(&bytes[at..at + ID]);
        if let Some(name) = name {
            bytes[at..at + ID].copy_from_slice(name);
        }
        at += if name.is_some() { ID } else { 1 };
    }
}

/// Pulls, and checks the outcome.
fn pull_and_check(here: &Workspace, messages: &[Message]) {
    let bytes = messages.iter();
    let bytes: Vec<Vec<u8>> = bytes
        .map(|(kind, content)| message(*kind, content))
        .collect();
    let bytes = bytes.concat();
    let history = here.history();
    let before = history.remote_branches().unwrap();
    let remote = history.remote("peer").accept_forgotten();
    let pulled = remote.pull(&mut Script(&bytes), "main");
    assert_eq!(count(here), 0, "a pull has changed objects");
    for branch in &before {
        // The commits of before can be read, also after objects of them were forgotten.
        here.at(branch.commit)
            .unwrap()
            .fetch::<Item>()
            .all()
            .unwrap();
    }
    let Ok(pulled) = pulled else {
        assert_eq!(history.remote_branches().unwrap(), before);
        return;
    };
    let at = here.at(pulled.commit).unwrap();
    let items = at.fetch::<Item>().all().unwrap();
    for item in items.iter() {
        let found = at.get::<Item>(item.id()).unwrap().unwrap();
        assert_eq!(found.to_bytes(), item.to_bytes());
    }
    history.merge("peer/main").unwrap();
    assert_eq!(count(here), items.len());
    // The next commit builds its tree on those of the peer.
    let changed = here.perform_changes_blocking([Item::TABLE], |tx| {
        let data = ItemData {
            id: "after".to_owned(),
            ..ItemData::default()
        };
        tx.submit(ItemChangeRequest::upsert(data))
    });
    changed.unwrap();
    history.commit("after").unwrap();
}
