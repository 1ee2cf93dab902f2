//! The commits and nodes that are needed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::{Duration, SystemTime};

use dflat_engine::Result;
use dflat_engine::engine::Engine;
use dflat_engine::storage::Snapshot;
use dflat_model::Table;

use crate::branches::Graph;
use crate::chunk::Address;
use crate::commits::{self, Building, CommitId, CommitLog, has_trees};
use crate::tree::Trees;

/// The commits whose trees are kept beside those that merges need: the last ones of branches, and
/// their common ancestors. The trees of other commits are deleted; their states can be read all the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepTrees {
    /// The last commits, by this number.
    pub last: usize,
    /// Those that are not older than this.
    pub age: Duration,
    /// Those with a label.
    pub labelled: bool,
}

impl KeepTrees {
    /// All commits of branches.
    pub const ALL: Self = Self {
        last: usize::MAX,
        age: Duration::MAX,
        labelled: true,
    };
}

impl Default for KeepTrees {
    /// The last 100 commits, and those of 30 days.
    fn default() -> Self {
        Self {
            last: 100,
            age: Duration::from_secs(30 * 24 * 3600),
            labelled: false,
        }
    }
}

/// The commits and nodes that are needed at a moment.
#[derive(Debug)]
pub(super) struct Marked {
    /// The branches and their last commits, as they were.
    pub(super) tips: Vec<(String, CommitId)>,
    /// How often commits had got other trees.
    pub(super) rebuilds: u64,
    pub(super) commits: BTreeSet<CommitId>,
    nodes: HashSet<Address>,
    /// The trees that were being built.
    building: BTreeMap<String, Building>,
    /// The stored commits that are not needed.
    garbage: BTreeSet<CommitId>,
    /// Whether a pull is unfinished.
    is_pulling: bool,
}

impl Marked {
    /// Whether the node of a name is needed.
    pub(super) fn has_node(&self, name: &[u8]) -> bool {
        let address = name.try_into().map(Address::from_bytes);
        address.is_ok_and(|address| self.nodes.contains(&address))
    }

    /// Adds the nodes of trees that are being built, if there are new ones.
    ///
    /// # Errors
    /// The errors of reading.
    pub(super) fn add_building(
        &mut self,
        snapshot: &mut dyn Snapshot,
        trees: &Trees,
    ) -> Result<()> {
        let building = commits::all_building(snapshot)?;
        if self.building != building {
            let mut roots = building.values().map(|building| building.root);
            roots.try_for_each(|root| trees.mark(&root, &mut self.nodes))?;
            self.building = building;
        }
        Ok(())
    }

    /// Whether the changes of a received commit are needed. A pull stores the changes of a commit
    /// before the commit, so changes without a commit are kept until all pulls are finished.
    pub(super) fn needs_parts(&self, commit: CommitId) -> bool {
        self.commits.contains(&commit) || self.is_pulling && !self.garbage.contains(&commit)
    }
}

/// The branches, those of remotes, and the last commits that unfinished pulls have received.
///
/// # Errors
/// The errors of reading.
pub(super) fn tips(snapshot: &mut dyn Snapshot) -> Result<Vec<(String, CommitId)>> {
    let mut branches = commits::branches(snapshot)?;
    branches.append(&mut commits::remotes(snapshot)?);
    branches.append(&mut commits::incoming(snapshot)?);
    let branches = branches.into_iter();
    Ok(branches
        .map(|branch| (branch.name, branch.commit))
        .collect())
}

/// Finds the commits and nodes that are needed. `tables` are all versioned tables: the trees of
/// other types are not needed.
///
/// # Errors
/// [`Corrupt`](dflat_engine::ErrorKind::Corrupt) if a commit or a node is damaged or missing;
/// otherwise the errors of reading.
pub(super) fn mark(
    engine: &Engine,
    trees: &Trees,
    tables: &[Table],
    keep: &KeepTrees,
) -> Result<Marked> {
    let (tips, rebuilds, graph, is_pulling) = engine.read_history(|snapshot| {
        let is_pulling = !commits::incoming(snapshot)?.is_empty();
        let rebuilds = commits::rebuilds(snapshot)?;
        Ok((
            tips(snapshot)?,
            rebuilds,
            Graph::read(snapshot)?,
            is_pulling,
        ))
    })?;
    let of_tips: BTreeSet<CommitId> = tips.iter().map(|(_, commit)| *commit).collect();
    let commits = graph.ancestors(of_tips.iter().copied());
    let garbage = graph.ids().filter(|id| !commits.contains(id)).collect();
    let merged = graph.with_bases(of_tips.clone());
    let youngest = SystemTime::now().checked_sub(keep.age);
    let mut nodes = HashSet::new();
    let mut log = CommitLog::of(of_tips);
    let mut number = 0;
    while let Some(commit) = log.next(engine)? {
        let is_young = youngest.is_none_or(|youngest| commit.time >= youngest);
        let is_labelled = keep.labelled && commit.label.is_some();
        if number < keep.last || is_young || is_labelled || merged.contains(&commit.id) {
            let is_versioned = |name: &str| tables.iter().any(|table| table.name == name);
            for table in commit
                .tables
                .iter()
                .filter(|table| is_versioned(&table.name))
            {
                // Trees that were collected before are built anew when they are needed.
                if let Some(root) = table.kept()
                    && engine.read_history(|snapshot| has_trees(snapshot, [root]))?
                {
                    trees.mark(&root, &mut nodes)?;
                }
            }
        }
        number += 1;
    }
    let mut marked = Marked {
        tips,
        rebuilds,
        commits,
        nodes,
        building: BTreeMap::new(),
        garbage,
        is_pulling,
    };
    engine.read_history(|snapshot| marked.add_building(snapshot, trees))?;
    Ok(marked)
}
