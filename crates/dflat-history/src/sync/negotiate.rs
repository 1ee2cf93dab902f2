//! Finds the commits that one side has and the other lacks.

use std::collections::BTreeSet;

use dflat_engine::Result;
use dflat_engine::engine::Engine;
use dflat_engine::storage::Snapshot;

use super::wire::{Channel, Message, OFFERED_MAX, malformed, too_much};
use crate::branches::Graph;
use crate::commits::{CommitId, collections, has, load};

/// The number of commits before the tips that a request names.
const SAMPLES: usize = 8;

/// The maximum number of commits that a request names. A request without news is small.
const NAMES: usize = 12;

/// Commits that a request names: these, and some before the first of them, at distances that
/// double.
///
/// # Errors
/// The errors of reading.
pub(super) fn sample(
    snapshot: &mut dyn Snapshot,
    tips: impl IntoIterator<Item = CommitId>,
) -> Result<Vec<CommitId>> {
    let mut named: Vec<CommitId> = Vec::new();
    for tip in tips {
        if !named.contains(&tip) && named.len() < NAMES - SAMPLES {
            named.push(tip);
        }
    }
    let Some(first) = named.first().copied() else {
        return Ok(named);
    };
    let mut commit = load(snapshot, first)?;
    let mut distance = 0_u32;
    while let Some(parent) = commit.parents.first().copied()
        && named.len() < NAMES
    {
        commit = load(snapshot, parent)?;
        distance += 1;
        if distance.is_power_of_two() && !named.contains(&parent) {
            named.push(parent);
        }
    }
    Ok(named)
}

/// Those of some commits that the file has.
///
/// # Errors
/// The errors of reading.
pub(super) fn known(snapshot: &mut dyn Snapshot, ids: &[CommitId]) -> Result<Vec<CommitId>> {
    let found = has(snapshot, ids)?;
    let known = ids.iter().zip(found).filter(|(_, is_known)| *is_known);
    Ok(known.map(|(id, _)| *id).collect())
}

/// The commit `tip` and those before it, each after its parents, without the `known` ones and those
/// before them.
///
/// # Errors
/// The errors of reading.
pub(super) fn missing(
    snapshot: &mut dyn Snapshot,
    tip: CommitId,
    known: &[CommitId],
) -> Result<Vec<CommitId>> {
    // A request without news reads no graph.
    match known.contains(&tip) {
        true => Ok(Vec::new()),
        false => Ok(missing_in(&Graph::read(snapshot)?, tip, known)),
    }
}

fn missing_in(graph: &Graph, tip: CommitId, known: &[CommitId]) -> Vec<CommitId> {
    let of_known = graph.ancestors(known.iter().copied());
    let mut missing = graph.ancestors([tip]);
    missing.retain(|id| !of_known.contains(id));
    graph.in_order(&missing)
}

/// The commits to push, if the last commit of the other side's branch is `tip` or before it.
///
/// # Errors
/// The errors of reading.
pub(super) fn ahead(
    snapshot: &mut dyn Snapshot,
    tip: CommitId,
    (known, theirs): (&[CommitId], Option<CommitId>),
) -> Result<Option<Vec<CommitId>>> {
    if theirs == Some(tip) {
        return Ok(Some(Vec::new()));
    }
    let graph = Graph::read(snapshot)?;
    let is_before = |theirs| graph.ancestors([tip]).contains(&theirs);
    Ok(theirs.is_none_or(is_before).then(|| {
        let known: Vec<CommitId> = known.iter().copied().chain(theirs).collect();
        missing_in(&graph, tip, &known)
    }))
}

/// Offers commits, and returns those that the other side wants. If there are none, neither side
/// sends anything further of them.
///
/// # Errors
/// The errors of the connection.
pub(super) fn offer(
    channel: &mut Channel<'_>,
    tip: CommitId,
    ids: &[CommitId],
) -> Result<Vec<CommitId>> {
    let mut messages = ids.chunks(OFFERED_MAX).peekable();
    loop {
        let ids = messages.next().unwrap_or_default().to_vec();
        let is_last = messages.peek().is_none();
        channel.send(&Message::Offer { tip, ids, is_last })?;
        if is_last {
            break;
        }
    }
    channel.flush()?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let Message::Want(bits) = channel.expect()? else {
        return Err(malformed("another message than the wanted commits"));
    };
    if bits.len() != ids.len().div_ceil(8) {
        return Err(malformed(
            "another number of wanted commits than was offered",
        ));
    }
    let is_wanted = |place: usize| {
        let byte = bits.get(place / 8).copied().unwrap_or_default();
        byte >> (place % 8) & 1 == 1
    };
    let wanted = ids
        .iter()
        .enumerate()
        .filter(|(place, _)| is_wanted(*place));
    Ok(wanted.map(|(_, id)| *id).collect())
}

/// The commits that were offered: the last one, and those that this side lacks.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) tip: CommitId,
    pub(super) wanted: Vec<CommitId>,
    /// The number of collections of garbage before this side has said which commits it has.
    pub(super) collections: u64,
}

/// Takes an offer, and asks for the commits that this side lacks. `None` if the other side ends the
/// request instead.
///
/// # Errors
/// [`Corrupt`](dflat_engine::ErrorKind::Corrupt) if an offer is malformed;
/// [`InvalidArgument`](dflat_engine::ErrorKind::InvalidArgument) if it is beyond the limits;
/// otherwise the errors of the connection and of reading.
pub(super) fn take_offer(engine: &Engine, channel: &mut Channel<'_>) -> Result<Option<Offered>> {
    let mut offered: Vec<CommitId> = Vec::new();
    let mut seen = BTreeSet::new();
    let tip = loop {
        let (tip, ids, is_last) = match channel.expect()? {
            Message::Offer { tip, ids, is_last } => (tip, ids, is_last),
            Message::Done if offered.is_empty() => return Ok(None),
            _ => return Err(malformed("another message than an offer of commits")),
        };
        if !ids.iter().all(|id| seen.insert(*id)) {
            return Err(malformed("a commit is offered twice"));
        }
        if ids.is_empty() && !(is_last && offered.is_empty()) {
            return Err(malformed("an offer without commits"));
        }
        offered.extend(ids);
        if offered.len() > channel.limits.commits {
            return Err(too_much(&format!("{} commits", offered.len())));
        }
        if is_last {
            break tip;
        }
    };
    let (found, collections) =
        engine.read_history(|snapshot| Ok((has(snapshot, &offered)?, collections(snapshot)?)))?;
    if offered.is_empty() {
        return Ok(Some(Offered {
            tip,
            wanted: Vec::new(),
            collections,
        }));
    }
    let mut bits = vec![0_u8; offered.len().div_ceil(8)];
    let mut wanted = Vec::new();
    for (place, (id, is_known)) in offered.iter().zip(found).enumerate() {
        if !is_known && let Some(byte) = bits.get_mut(place / 8) {
            *byte |= 1 << (place % 8);
            wanted.push(*id);
        }
    }
    channel.send(&Message::Want(bits))?;
    channel.flush()?;
    Ok(Some(Offered {
        tip,
        wanted,
        collections,
    }))
}
