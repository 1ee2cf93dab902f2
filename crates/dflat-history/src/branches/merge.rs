//! Merges: transactions that give the tables the changes of two branches.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::storage::{NamedTable, Snapshot, StepId, WriteTransaction};
use dflat_engine::transaction::Transaction;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use super::attempt::{Attempt, attempts};
use super::base::{Bases, Roots, root, roots_of};
use super::cases::{Decisions, Sides, merge_table};
use super::checkout::differences;
use super::conflict::ObjectConflict;
use super::graph::Graph;
use super::names::{any_tip, tip_of};
use super::set::{ToSet, set, with_taken};
use super::start::{is_there, start};
use super::unique::unique_conflict;
use crate::chunk::{Address, ChunkStore};
use crate::commits::{
    Commit, CommitId, CommitTable, FileStore, Head, Marks, head, latest, put_head, put_place,
    without_trees,
};
use crate::steps::{Note, prepare};
use crate::tree::{Edit, Root, Trees};

/// The outcome of a merge.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Merged {
    /// The current branch had all changes already. Its last commit.
    UpToDate(CommitId),
    /// The current branch had no changes of its own, and has the last commit of the other now.
    Forward {
        /// The commit.
        commit: CommitId,
        /// The number of objects that were changed.
        changed: u64,
    },
    /// A commit with the changes of both was made.
    Commit {
        /// The commit.
        commit: CommitId,
        /// The number of objects that were changed.
        changed: u64,
    },
    /// Nothing was changed: these objects need a decision.
    Conflicts(Vec<ObjectConflict>),
}

/// A merge of a branch into the current one.
#[derive(Clone, Debug, Default)]
pub struct Merge {
    /// The name of the branch.
    pub branch: String,
    /// Decisions about objects in conflict.
    decisions: Decisions,
    /// The marks of forgotten objects when the conflicts were found.
    marks: Marks,
}

impl Merge {
    /// The merge of a branch.
    #[must_use]
    pub fn of(branch: &str) -> Self {
        Self {
            branch: branch.to_owned(),
            ..Self::default()
        }
    }

    /// Drops the decisions about objects that have a mark now and had none when the conflicts were
    /// found.
    fn drop_forgotten(&mut self, now: Marks) {
        let before = std::mem::replace(&mut self.marks, now);
        let marks = &self.marks;
        self.decisions
            .retain(|(table, key), _| !marks.has_since(&before, table, key));
    }

    /// Decides about an object: it gets this payload, or is deleted.
    pub fn decide(&mut self, conflict: &ObjectConflict, payload: Option<Vec<u8>>) {
        let place = (conflict.table.clone(), conflict.encoded.clone());
        self.decisions.insert(place, payload);
    }

    /// Merges the branch into the current one. Changes since the last commit are committed first.
    /// A decision about an object that was forgotten since is dropped, because it may have the
    /// object. `tables` are all versioned tables.
    ///
    /// # Errors
    /// - [`ErrorKind::NotFound`] if there is no branch of this name.
    /// - [`ErrorKind::InvalidArgument`] if a type of the branch is versioned no more.
    /// - [`ErrorKind::Corrupt`] if the history does not fit the objects.
    /// - [`ErrorKind::Busy`] if others change objects again and again.
    /// - Otherwise those of [`commit`](crate::commits::commit).
    pub fn perform(&mut self, engine: &Engine, tables: &[Table]) -> Result<Merged> {
        tip_of(engine, &self.branch)?;
        let what = format!("merge {}", self.branch);
        attempts(engine, tables, &what, || {
            self.drop_forgotten(engine.read_history(Marks::read)?);
            let run = Run {
                engine,
                tables,
                merge: self,
                ours: start(engine, tables)?,
                trees: Trees::new(FileStore::new(engine) as Arc<dyn ChunkStore>),
                store: FileStore::new(engine),
            };
            let mut refused = Vec::new();
            let options = PerformOptions { write_first: true };
            let handler = |transaction: &Rc<Transaction>| run.run(transaction, &mut refused);
            let done = engine.perform_here(tables.iter().cloned(), options, handler, |_| ());
            match refused.is_empty() {
                true => done,
                false => Ok(Attempt::Done(Merged::Conflicts(refused))),
            }
        })
    }
}

/// One attempt of a merge.
struct Run<'r> {
    engine: &'r Engine,
    tables: &'r [Table],
    merge: &'r Merge,
    /// Our commit; none in a file without objects.
    ours: Option<CommitId>,
    /// Trees for comparisons, whose new nodes are not stored.
    trees: Trees,
    /// The store of the new trees.
    store: Arc<FileStore>,
}

/// The work that a merge has found.
enum Plan<'r> {
    UpToDate(CommitId),
    Forward(CommitId, StepId, ToSet<'r>),
    Merge(Box<Planned<'r>>),
    Conflicts(Vec<ObjectConflict>),
}

struct Planned<'r> {
    head: Head,
    commit: Commit,
    step: StepId,
    to_set: ToSet<'r>,
}

impl<'r> Run<'r> {
    fn run(
        &self,
        transaction: &Transaction,
        refused: &mut Vec<ObjectConflict>,
    ) -> Result<Attempt<Merged>> {
        prepare(transaction, self.tables)?;
        let Some(first) = self.tables.first() else {
            return Ok(Attempt::Again);
        };
        let plan = match transaction.read_to_write(first, |snapshot| self.plan(snapshot))? {
            Attempt::Again => return Ok(Attempt::Again),
            Attempt::Restore(ids) => return Ok(Attempt::Restore(ids)),
            Attempt::Done(plan) => plan,
        };
        Ok(Attempt::Done(match plan {
            Plan::UpToDate(commit) => Merged::UpToDate(commit),
            Plan::Conflicts(conflicts) => Merged::Conflicts(conflicts),
            Plan::Forward(commit, step, to_set) => {
                transaction.set_history_note(&Note::Checkout(commit).to_bytes());
                let changed = self.set(transaction, &to_set, refused)?;
                transaction.write_history(first, |writer| {
                    let head = Head {
                        commit: Some(commit),
                        step,
                        ..head(writer)?
                    };
                    put_place(writer, commit, step)?;
                    put_head(writer, &head)
                })?;
                Merged::Forward { commit, changed }
            }
            Plan::Merge(planned) => {
                let id = planned.commit.id;
                transaction.set_history_note(&Note::Merge(id).to_bytes());
                let changed = self.set(transaction, &planned.to_set, refused)?;
                transaction.write_history(first, |writer| self.write(writer, &planned))?;
                Merged::Commit {
                    commit: id,
                    changed,
                }
            }
        }))
    }

    fn plan(&self, snapshot: &mut dyn Snapshot) -> Result<Attempt<Plan<'r>>> {
        if Marks::read(snapshot)? != self.merge.marks {
            return Ok(Attempt::Again);
        }
        let theirs = any_tip(snapshot, &self.merge.branch)?;
        let (true, Some(theirs)) = (is_there(snapshot, self.tables, self.ours)?, theirs) else {
            return Ok(Attempt::Again);
        };
        let head = head(snapshot)?;
        if head.commit == Some(theirs) {
            return Ok(Attempt::Done(Plan::UpToDate(theirs)));
        }
        let Some(ours) = self.ours else {
            return self.forward(snapshot, theirs);
        };
        let graph = Graph::read(snapshot)?;
        let (of_ours, of_theirs) = (graph.ancestors([ours]), graph.ancestors([theirs]));
        if of_ours.contains(&theirs) {
            return Ok(Attempt::Done(Plan::UpToDate(ours)));
        }
        let (our_roots, their_roots) = (roots_of(snapshot, ours)?, roots_of(snapshot, theirs)?);
        let has_no_own = of_theirs.contains(&ours);
        // Both sides have merged the same commits, in another order: they take the smaller id.
        let is_same =
            our_roots == their_roots && graph.ordinary(&of_ours).eq(graph.ordinary(&of_theirs));
        if is_same && !has_no_own && ours < theirs {
            return Ok(Attempt::Done(Plan::UpToDate(ours)));
        }
        if has_no_own || is_same {
            return self.forward(snapshot, theirs);
        }
        let mut bases = Bases {
            graph: &graph,
            trees: &self.trees,
            tables: self.tables,
            used: BTreeSet::new(),
            made: HashMap::new(),
            merged: HashMap::new(),
            lost: without_trees(snapshot, self.tables, [ours, theirs])?,
        };
        let base = bases.of(snapshot, &of_ours, &of_theirs)?;
        if !bases.lost.is_empty() {
            return Ok(Attempt::Restore(bases.lost));
        }
        let sides = Sides {
            base: &base,
            ours: &our_roots,
            theirs: &their_roots,
            commit: theirs,
            decisions: &self.merge.decisions,
        };
        let (mut to_set, mut conflicts, mut edits) = (Vec::new(), Vec::new(), BTreeMap::new());
        self.check_types(&their_roots)?;
        for table in self.tables {
            let mut merged = merge_table(snapshot, table, &bases, &sides)?;
            conflicts.append(&mut merged.conflicts);
            edits.insert(table.name.to_string(), merged.edits);
            to_set.push((table, merged.objects));
        }
        if !conflicts.is_empty() {
            return Ok(Attempt::Done(Plan::Conflicts(conflicts)));
        }
        let step = latest(snapshot)?;
        let mut commit = self.commit((ours, &our_roots), (theirs, &their_roots), edits)?;
        commit.last_step = Some(step);
        let to_set = with_taken(snapshot, to_set)?;
        Ok(Attempt::Done(Plan::Merge(Box::new(Planned {
            head,
            commit,
            step,
            to_set,
        }))))
    }

    /// The plan to take their commit.
    fn forward(&self, snapshot: &mut dyn Snapshot, theirs: CommitId) -> Result<Attempt<Plan<'r>>> {
        let lost = without_trees(snapshot, self.tables, self.ours.into_iter().chain([theirs]))?;
        if !lost.is_empty() {
            return Ok(Attempt::Restore(lost));
        }
        let step = latest(snapshot)?;
        let to_set = differences(snapshot, self.tables, &self.trees, (self.ours, theirs))?;
        let to_set = with_taken(snapshot, to_set)?;
        Ok(Attempt::Done(Plan::Forward(theirs, step, to_set)))
    }

    fn check_types(&self, theirs: &Roots) -> Result<()> {
        let is_known = |name: &&String| self.tables.iter().any(|table| table.name == **name);
        match theirs.keys().find(|name| !is_known(name)) {
            Some(name) => {
                let message = format!("cannot merge: {name} is not versioned");
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
            None => Ok(()),
        }
    }

    /// The commit with the changes of both.
    fn commit(
        &self,
        (ours, our_roots): (CommitId, &Roots),
        (theirs, their_roots): (CommitId, &Roots),
        edits: BTreeMap<String, Vec<Edit>>,
    ) -> Result<Commit> {
        let trees = Trees::new(Arc::clone(&self.store) as Arc<dyn ChunkStore>);
        let mut tables = Vec::new();
        for (name, edits) in edits {
            let Some(table) = self.tables.iter().find(|table| table.name == *name) else {
                continue;
            };
            let of_both = [our_roots, their_roots].map(|roots| root(roots, &name));
            let root = trees.apply(&of_both[0], edits)?;
            // Another file may not know a type without objects, and must make the same commit.
            if root == Root::EMPTY && of_both == [Root::EMPTY; 2] {
                continue;
            }
            tables.push(CommitTable {
                name,
                root,
                descriptor: Address::of(&table.to_bytes()),
                objects: trees.len(&root)?,
                is_forgotten: false,
                has_forgotten_objects: false,
                rest: None,
            });
        }
        let mut parents = vec![ours, theirs];
        parents.sort_unstable();
        let mut commit = Commit {
            id: CommitId::from_bytes([0; CommitId::BYTES]),
            parents,
            tables,
            steps: 0,
            steps_hash: Address::of(b""),
            time: SystemTime::now(),
            workspace: self.engine.record_names().0,
            author: self.engine.author().map(str::to_owned),
            label: None,
            last_step: None,
        };
        commit.name();
        Ok(commit)
    }

    /// Sets objects. If one has a unique value of another, the transaction fails, and `refused` has
    /// the conflicts.
    fn set(
        &self,
        transaction: &Transaction,
        to_set: &ToSet<'_>,
        refused: &mut Vec<ObjectConflict>,
    ) -> Result<u64> {
        let (changed, left) = set(transaction, to_set)?;
        let conflicts = left
            .into_iter()
            .map(|(table, payload)| unique_conflict(to_set, table, payload));
        refused.extend(conflicts);
        match refused.is_empty() {
            true => Ok(changed),
            false => {
                let message = "a merge needs decisions about unique values";
                Err(Error::new(ErrorKind::AlreadyExists, message))
            }
        }
    }

    fn write(&self, writer: &mut dyn WriteTransaction, planned: &Planned<'_>) -> Result<()> {
        self.store.write(writer)?;
        let commit = &planned.commit;
        writer.put_named(NamedTable::Commits, commit.id.as_bytes(), &commit.to_row())?;
        let head = Head {
            commit: Some(commit.id),
            step: planned.step,
            ..planned.head.clone()
        };
        put_head(writer, &head)
    }
}
