//! Peers that send wrong bytes change nothing.

use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use dflat::history::{CommitId, SyncLimits};
use dflat::{ErrorKind, Result, Workspace};

use super::super::files::{file, open, put};
use super::exchange::{items, store};
use dflat_testkit::wire::{
    CHANGES, COMMIT, DESCRIPTOR, DONE, OFFER, Script, message, messages, recorded,
};

/// The bytes of a pull of two small commits, and the last commit.
fn recording(there: &Path) -> (Vec<u8>, CommitId) {
    let (_third, third) = file();
    let there = open(there);
    store(&there, 0..3, "text");
    there.history().commit("first").unwrap();
    store(&there, 1..2, "other text");
    let (pulled, bytes) = recorded(&open(&third), &there);
    (bytes, pulled.commit)
}

fn pull(here: &Workspace, script: &[u8]) -> Result<CommitId> {
    let pulled = here
        .history()
        .remote("peer")
        .pull(&mut Script(script), "main");
    pulled.map(|pulled| pulled.commit)
}

/// The error of a pull of these bytes, which has changed nothing.
fn refused(here: &Workspace, script: &[u8]) -> ErrorKind {
    let error = pull(here, script).unwrap_err();
    assert!(here.history().remote_branches().unwrap().is_empty());
    assert!(items(here).is_empty());
    error.kind()
}

/// Pulls a recording of one commit with each byte flipped. `here` has no such commit.
fn flip_each(here: &Workspace, bytes: &[u8], fresh: impl Fn() -> Workspace, there: &Workspace) {
    let tracked = here.history().remote_branches().unwrap();
    let (mut here, mut taken) = (here.clone(), 0);
    for at in 0..bytes.len() {
        for bit in [1, 0x80] {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= bit;
            let Ok(commit) = pull(&here, &flipped) else {
                assert_eq!(here.history().remote_branches().unwrap(), tracked, "{at}");
                continue;
            };
            // A byte that the objects do not depend on, such as one of a name in a descriptor.
            assert_eq!(Some(commit), there.history().head().unwrap(), "{at}");
            let pulled = here.at_branch("peer/main").unwrap();
            assert_eq!(items(&pulled), items(there), "{at}");
            taken += 1;
            here = fresh();
        }
    }
    assert!(taken < bytes.len() / 2, "{taken} of {}", bytes.len());
    assert!(pull(&here, bytes).is_ok());
}

// Promise: sync-format#Y9
#[test]
fn flipped_byte_is_refused_or_does_not_matter() {
    let ((_one, one), (_other, other)) = (file(), file());
    let there = open(&other);
    store(&there, 0..3, "text");
    there.history().commit("first").unwrap();
    let number = AtomicUsize::new(0);
    let fresh = || {
        let number = number.fetch_add(1, Relaxed);
        open(&one.with_file_name(format!("{number}.db")))
    };
    let (_, first) = recorded(&fresh(), &there);
    flip_each(&fresh(), &first, fresh, &there);
    // A commit with a difference, to a file that has the one before.
    store(&there, 1..2, "other text");
    there.history().commit("second").unwrap();
    let with_first = || {
        let here = fresh();
        pull(&here, &first).unwrap();
        here
    };
    let (_, second) = recorded(&with_first(), &there);
    flip_each(&with_first(), &second, with_first, &there);
}

// Promise: sync-format#Y9
#[test]
fn stream_that_is_cut_anywhere_moves_no_branch() {
    let ((_one, one), (_other, other)) = (file(), file());
    let there = open(&other);
    store(&there, 0..3, "text");
    there.history().commit("first").unwrap();
    let (pulled, bytes) = recorded(&open(&one.with_file_name("recorder.db")), &there);
    let here = open(&one);
    let mut length = 0;
    // Once the whole commit has arrived, the next pull misses nothing.
    while here.history().find_commit("").is_err() {
        assert_eq!(refused(&here, &bytes[..length]), ErrorKind::Io, "{length}");
        length += 1;
    }
    let without_end = bytes.len() - message(DONE, &[]).len();
    assert_eq!(length - 1, without_end);
    assert_eq!(pull(&here, &bytes).unwrap(), pulled.commit);
    assert_eq!(items(&here.at_branch("peer/main").unwrap()), items(&there));
}

#[test]
fn message_that_claims_to_be_large_is_refused_before_it_takes_memory() {
    let (_one, one) = file();
    let here = open(&one);
    let script = [&[OFFER][..], &[255; 4]].concat();
    assert_eq!(refused(&here, &script), ErrorKind::InvalidArgument);
    // The length is within the limits, and the bytes are not there.
    let script = [&[OFFER][..], &1_000_000_u32.to_le_bytes()].concat();
    assert_eq!(refused(&here, &script), ErrorKind::Io);
}

/// The messages of a recording, changed by hand.
struct Messages(Vec<(u8, Vec<u8>)>);

impl Messages {
    fn of(bytes: &[u8]) -> Self {
        Self(messages(bytes))
    }

    /// The places of the messages of a kind.
    fn places(&self, kind: u8) -> Vec<usize> {
        let places = self.0.iter().enumerate();
        let places = places.filter(|(_, (other, _))| *other == kind);
        places.map(|(place, _)| place).collect()
    }

    fn bytes(&self) -> Vec<u8> {
        let messages = self.0.iter();
        let bytes = messages.map(|(kind, content)| message(*kind, content));
        bytes.collect::<Vec<_>>().concat()
    }
}

// Promise: sync-format#Y9
#[test]
fn messages_in_another_order_or_left_out_are_refused() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (bytes, _) = recording(&other);
    let here = open(&one);
    let whole = Messages::of(&bytes);
    let kinds: Vec<u8> = whole.0.iter().map(|(kind, _)| *kind).collect();
    let expected = [OFFER, DESCRIPTOR, COMMIT, CHANGES, COMMIT, CHANGES, DONE];
    assert_eq!(kinds, expected);
    for left_out in 0..whole.0.len() {
        let mut changed = Messages::of(&bytes);
        changed.0.remove(left_out);
        refused(&here, &changed.bytes());
    }
    for one in 0..whole.0.len() {
        for other in 0..one {
            if whole.0[one] == whole.0[other] {
                continue;
            }
            let mut changed = Messages::of(&bytes);
            changed.0.swap(one, other);
            refused(&here, &changed.bytes());
        }
    }
}

#[test]
fn changes_that_do_not_give_the_root_are_refused() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (bytes, _) = recording(&other);
    let here = open(&one);
    let whole = Messages::of(&bytes);
    let [first, second] = whole.places(CHANGES)[..] else {
        panic!("two commits");
    };
    let changed = |first_content: Vec<u8>, second_content: Vec<u8>| {
        let mut changed = Messages::of(&bytes);
        changed.0[first].1 = first_content;
        changed.0[second].1 = second_content;
        changed.bytes()
    };
    let (of_first, of_second) = (&whole.0[first].1, &whole.0[second].1);
    // No change at all.
    let script = changed(vec![1], of_second.clone());
    assert_eq!(refused(&here, &script), ErrorKind::Corrupt);
    let script = changed(of_first.clone(), vec![1]);
    assert_eq!(refused(&here, &script), ErrorKind::Corrupt);
    // A deletion of an object that there is not, of the same table twice, and of no table.
    let deletion = [&[1, 0, 0][..], &[1, 2, 0x20, 0]].concat();
    for content in [
        [&of_second[..], &deletion[1..]].concat(),
        [&of_second[..], &of_second[1..]].concat(),
        [&[1][..], &deletion[3..]].concat(),
        vec![1, 0, 7],
        vec![1, 9],
    ] {
        let script = changed(of_first.clone(), content);
        assert_eq!(refused(&here, &script), ErrorKind::Corrupt);
    }
}

#[test]
fn commit_before_its_parent_is_refused() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (bytes, tip) = recording(&other);
    let here = open(&one);
    let mut changed = Messages::of(&bytes);
    let commits = changed.places(COMMIT);
    changed.0.drain(commits[0]..commits[1]);
    // Only the last commit is offered.
    let ids = [&1_u32.to_le_bytes()[..], tip.as_bytes()].concat();
    changed.0[0].1 = [&tip.as_bytes()[..], &[1], &ids].concat();
    assert_eq!(refused(&here, &changed.bytes()), ErrorKind::Corrupt);
}

#[test]
fn offers_without_end_are_refused() {
    let (_one, one) = file();
    let here = open(&one);
    let mut script = Vec::new();
    for number in 0..20_u32 {
        let ids = (0..8000_u32).flat_map(|id| {
            let mut bytes = [0; 32];
            bytes[..4].copy_from_slice(&id.to_le_bytes());
            bytes[4..8].copy_from_slice(&number.to_le_bytes());
            bytes
        });
        let content = [0; 32].into_iter().chain([0]).chain(8000_u32.to_le_bytes());
        let content: Vec<u8> = content.chain(ids).collect();
        script.extend(message(OFFER, &content));
    }
    assert_eq!(refused(&here, &script), ErrorKind::InvalidArgument);
}

#[test]
fn requests_of_a_hostile_client_change_nothing() {
    let (_one, one) = file();
    let there = open(&one);
    put(&there, "a", 1);
    there.history().commit("first").unwrap();
    let serve = |script: &[u8]| {
        let server = there.history();
        let server = server.server().accept_pushes();
        server
            .limits(SyncLimits::default())
            .serve(&mut Script(script))
    };
    let before = (items(&there), there.history().head().unwrap());
    for kind in 0..=20 {
        for content in [&[][..], &[1], &[1, 0, 0, 0, 0], &[0xff; 100]] {
            let _ = serve(&message(kind, content));
            assert_eq!((items(&there), there.history().head().unwrap()), before);
        }
    }
    // Another version is refused, and no error.
    let served = serve(&message(1, &[9, 9, 9])).unwrap();
    assert_eq!(served.refused, 1);
    // A name of a branch that no program can use.
    let mut push = vec![1];
    push.extend(3_u32.to_le_bytes());
    push.extend(b"a\nb");
    push.extend([0; 8]);
    let served = serve(&message(2, &push)).unwrap();
    assert_eq!((served.refused, served.pushes), (1, 0));
}
