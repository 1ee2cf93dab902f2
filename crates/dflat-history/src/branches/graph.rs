//! The commits of a file and their parents.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{NamedTable, Snapshot};

use crate::commits::{Commit, CommitId};

/// All commits of a file. The memory is about 100 bytes and 32 for each parent.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    commits: BTreeMap<CommitId, Node>,
}

#[derive(Debug)]
struct Node {
    parents: Vec<CommitId>,
    /// The number of the row; larger than those of the parents.
    row: i64,
}

impl Graph {
    /// Reads all commits.
    ///
    /// # Errors
    /// [`Corrupt`](dflat_engine::ErrorKind::Corrupt) if a commit is damaged; otherwise the errors
    /// of reading.
    pub(crate) fn read(snapshot: &mut dyn Snapshot) -> Result<Self> {
        let (mut graph, mut failed) = (Self::default(), None);
        snapshot.all_named(
            NamedTable::Commits,
            None,
            &mut |row| match Commit::from_row(row.name, row.bytes) {
                Ok(commit) => {
                    let node = Node {
                        parents: commit.parents,
                        row: row.id,
                    };
                    graph.commits.insert(commit.id, node);
                    ControlFlow::Continue(())
                }
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            },
        )?;
        failed.map_or(Ok(graph), Err)
    }

    /// Some commits, and all before them.
    pub(crate) fn ancestors(&self, of: impl IntoIterator<Item = CommitId>) -> BTreeSet<CommitId> {
        let mut found = BTreeSet::new();
        let mut left: Vec<CommitId> = of.into_iter().collect();
        while let Some(id) = left.pop() {
            if found.insert(id) {
                left.extend(self.parents(id));
            }
        }
        found
    }

    /// All commits.
    pub(crate) fn ids(&self) -> impl Iterator<Item = CommitId> {
        self.commits.keys().copied()
    }

    /// Some commits, each after its parents.
    pub(crate) fn in_order(&self, of: &BTreeSet<CommitId>) -> Vec<CommitId> {
        let row = |id: &CommitId| self.commits.get(id).map_or(0, |node| node.row);
        let mut ordered: Vec<CommitId> = of.iter().copied().collect();
        ordered.sort_by_key(row);
        ordered
    }

    fn parents(&self, id: CommitId) -> &[CommitId] {
        self.commits.get(&id).map_or(&[], |node| &node.parents)
    }

    /// The best common ancestors of two sets of commits with their ancestors, in the order of their
    /// ids: those that are before no other.
    pub(crate) fn bases(
        &self,
        one: &BTreeSet<CommitId>,
        other: &BTreeSet<CommitId>,
    ) -> BTreeSet<CommitId> {
        let common = one.intersection(other);
        let row = |id: &CommitId| self.commits.get(id).map_or(0, |node| node.row);
        let mut common: Vec<CommitId> = common.copied().collect();
        common.sort_by_key(|id| std::cmp::Reverse(row(id)));
        let (mut best, mut before) = (BTreeSet::new(), BTreeSet::new());
        for id in common {
            if !before.contains(&id) {
                best.insert(id);
                before.extend(self.ancestors(self.parents(id).iter().copied()));
            }
        }
        best
    }

    /// Some commits, and all that their merges are based on.
    pub(crate) fn with_bases(&self, mut of: BTreeSet<CommitId>) -> BTreeSet<CommitId> {
        let mut new: Vec<CommitId> = of.iter().copied().collect();
        while let Some(one) = new.pop() {
            let of_one = self.ancestors([one]);
            for other in of.clone() {
                for base in self.bases(&of_one, &self.ancestors([other])) {
                    if of.insert(base) {
                        new.push(base);
                    }
                }
            }
        }
        of
    }

    /// The commits of a set that are no merges.
    pub(super) fn ordinary<'g>(
        &'g self,
        of: &'g BTreeSet<CommitId>,
    ) -> impl Iterator<Item = CommitId> + 'g {
        let is_ordinary = |id: &&CommitId| self.parents(**id).len() < 2;
        of.iter().filter(is_ordinary).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> CommitId {
        CommitId::from_bytes([number; 32])
    }

    fn graph(commits: &[(u8, &[u8])]) -> Graph {
        let commits = commits.iter().zip(1..).map(|((number, parents), row)| {
            let parents = parents.iter().map(|parent| id(*parent)).collect();
            (id(*number), Node { parents, row })
        });
        Graph {
            commits: commits.collect(),
        }
    }

    fn bases(graph: &Graph, one: u8, other: u8) -> Vec<CommitId> {
        let (one, other) = (graph.ancestors([id(one)]), graph.ancestors([id(other)]));
        graph.bases(&one, &other).into_iter().collect()
    }

    #[test]
    fn best_common_ancestors_are_before_no_other() {
        // 1 - 2 - 3, 2 - 4; 3 and 4 were merged on both sides.
        let graph = graph(&[
            (1, &[]),
            (2, &[1]),
            (3, &[2]),
            (4, &[2]),
            (6, &[4, 3]),
            (5, &[3, 4]),
        ]);
        assert_eq!(bases(&graph, 3, 4), [id(2)]);
        assert_eq!(bases(&graph, 5, 6), [id(3), id(4)]);
        assert_eq!(bases(&graph, 2, 5), [id(2)]);
        assert_eq!(bases(&graph, 5, 5), [id(5)]);
        let all = graph.ancestors([id(5)]);
        assert!(graph.ordinary(&all).eq([1, 2, 3, 4].map(id)));
    }

    #[test]
    fn commits_without_a_common_past_have_no_base() {
        let graph = graph(&[(1, &[]), (2, &[])]);
        assert_eq!(bases(&graph, 1, 2), []);
    }
}
