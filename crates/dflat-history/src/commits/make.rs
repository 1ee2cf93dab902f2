//! Makes commits.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::storage::{NamedTable, ScanPlan, Snapshot, Source, StepId, WriteTransaction};
use dflat_engine::transaction::Transaction;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use super::advance::{advance, latest};
use super::building::{all_building, build_batch, building, is_far};
use super::commit::{Commit, CommitTable};
use super::grow::grow;
use super::log::load;
use super::refs::{self, Head};
use super::store::FileStore;
use crate::chunk::{Address, ChunkStore};
use crate::past::{Moment, Place};
use crate::steps::{Backwards, CommitId, StoredStep, delete_building, prepare};
use crate::tree::{Root, Trees};

/// How often the trees are built because others have deleted nodes meanwhile.
pub(super) const TRIES: u32 = 10;

/// The bytes of new nodes that are written in one transaction while a tree is built.
pub(super) const NODE_BYTES: usize = 4 << 20;

/// The trees of an earlier state of the file.
struct Base {
    place: Place,
    /// The number of collections before the trees were built, if they were built just now.
    collections: Option<u64>,
    roots: BTreeMap<String, Root>,
}

impl Base {
    fn of(commit: &Commit, head: &Head) -> Self {
        let tables = commit.tables.iter().filter(|of| !of.is_forgotten);
        Self {
            place: head.place(),
            collections: None,
            roots: tables
                .map(|table| (table.name.clone(), commit.root(&table.name)))
                .collect(),
        }
    }
}

/// Commits the present state of these tables, which must be all versioned ones. Without a change
/// since the last commit, that one is returned.
///
/// # Errors
/// - [`ErrorKind::InvalidArgument`] without a table, and if a key is too long for a tree.
/// - [`ErrorKind::Corrupt`] if an object or the history is damaged.
/// - Otherwise those of [`Engine::perform_here`].
pub fn commit(engine: &Engine, tables: &[Table], label: Option<&str>) -> Result<CommitId> {
    let Some(first) = tables.first() else {
        let message = "cannot commit: no type is versioned; a type that `versioned` names is \
                       versioned from its first write on";
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    };
    for _ in 0..TRIES {
        let store = FileStore::new(engine);
        let trees = Trees::new(Arc::clone(&store) as Arc<dyn ChunkStore>);
        finish_building(engine, tables)?;
        let missing = to_build(engine, tables)?;
        let base = match missing.is_empty() {
            false => Some(build(engine, &missing, (&store, &trees))?),
            true => None,
        };
        let options = PerformOptions { write_first: true };
        let handler = |transaction: &Rc<Transaction>| {
            prepare(transaction, tables)?;
            transaction.write_history(first, |writer| {
                let base = base.as_ref();
                let built = base.and_then(|base| base.collections);
                if built.is_some() && built != Some(refs::collections(writer)?) {
                    return Ok(None);
                }
                let made = Made {
                    engine,
                    tables,
                    label,
                    base,
                };
                made.write(writer, &store, &trees).map(Some)
            })
        };
        let made = engine.perform_here(tables.iter().cloned(), options, handler, |_| ())?;
        if let Some(id) = made {
            return Ok(id);
        }
    }
    let message = "cannot commit: others collect garbage again and again";
    Err(Error::new(ErrorKind::Busy, message))
}

/// Completes the trees that are being built beside writers.
fn finish_building(engine: &Engine, tables: &[Table]) -> Result<()> {
    for table in tables {
        let is_begun = |snapshot: &mut dyn Snapshot| {
            let building = building(snapshot, &table.name)?;
            Ok(building.is_some_and(|building| building.until.is_some()))
        };
        while engine.read_history(is_begun)? && !build_batch(engine, table)? {}
    }
    Ok(())
}

/// The tables whose trees are built from all objects: because there are none, or too much has
/// changed.
fn to_build(engine: &Engine, tables: &[Table]) -> Result<Vec<Table>> {
    let (head, commit, building) = engine.read_history(|snapshot| {
        let head = refs::head(snapshot)?;
        let commit = head.commit.map(|id| load(snapshot, id)).transpose()?;
        Ok((head, commit, all_building(snapshot)?))
    })?;
    let mut missing = tables.to_vec();
    if let Some(commit) = &commit {
        let base = Base::of(commit, &head);
        missing.retain(|table| !base.roots.contains_key(table.name.as_ref()));
        // Without a change, no commit is made.
        let is_same = !missing.is_empty()
            && engine.read_history(|snapshot| {
                Ok(closed(snapshot, &head.place())?.0 == 0 && is_of(snapshot, tables, commit)?)
            })?;
        if is_same {
            return Ok(Vec::new());
        }
        if is_far(&mut &*engine, &head.place())? {
            return Ok(tables.to_vec());
        }
    }
    let mut to_build = Vec::new();
    for table in missing {
        let built = building.get(table.name.as_ref());
        let is_built = match built.filter(|building| building.until.is_none()) {
            Some(building) => !is_far(&mut &*engine, &building.place())?,
            None => false,
        };
        if !is_built {
            to_build.push(table);
        }
    }
    Ok(to_build)
}

/// Whether a commit without steps since has the types that are versioned now, apart from those
/// without objects.
///
/// # Errors
/// The errors of reading.
fn is_of(snapshot: &mut dyn Snapshot, tables: &[Table], commit: &Commit) -> Result<bool> {
    let is_versioned = |of: &CommitTable| tables.iter().any(|table| table.name == *of.name);
    let mut known = commit.tables.iter();
    if !known.all(|of| of.root == Root::EMPTY || is_versioned(of)) {
        return Ok(false);
    }
    let mut is_of = true;
    let is_missing = |table: &&Table| {
        let mut kept = commit.tables.iter().filter(|of| !of.is_forgotten);
        !kept.any(|of| of.name == *table.name)
    };
    for table in tables.iter().filter(is_missing) {
        let plan = ScanPlan {
            table,
            source: Source::Rows,
            payload: false,
        };
        snapshot.scan(&plan, &mut |_| {
            is_of = false;
            ControlFlow::Break(())
        })?;
    }
    Ok(is_of)
}

/// Builds the trees of all tables from a snapshot, beside writers. The nodes are written in
/// transactions of their own.
fn build(engine: &Engine, tables: &[Table], (store, trees): (&FileStore, &Trees)) -> Result<Base> {
    let collections = engine.read_history(refs::collections)?;
    let snapshot = engine.snapshot()?;
    let (mut step, mut roots) = (StepId(0), BTreeMap::new());
    for table in tables {
        let mut rest = || match store.new_bytes() > NODE_BYTES {
            true => write_nodes(engine, table, store),
            false => Ok(()),
        };
        let root = snapshot.read(table, |snapshot, _| {
            step = latest(snapshot)?;
            grow(trees, snapshot, table, &mut rest)
        })?;
        roots.insert(table.name.to_string(), root);
    }
    let place = Place {
        step: Some(step),
        commit: None,
        received: Vec::new(),
        named: None,
    };
    Ok(Base {
        place,
        collections: Some(collections),
        roots,
    })
}

/// Writes the new nodes so far.
///
/// # Errors
/// Those of [`Engine::perform_here`].
pub(super) fn write_nodes(engine: &Engine, table: &Table, store: &FileStore) -> Result<()> {
    let options = PerformOptions { write_first: true };
    let handler = |transaction: &Rc<Transaction>| {
        transaction.write_history(table, |writer| store.write(writer))
    };
    engine.perform_here([table.clone()], options, handler, |_| ())
}

/// The steps since a place: their number and their hash.
///
/// # Errors
/// The errors of reading.
pub(crate) fn closed(snapshot: &mut dyn Snapshot, place: &Place) -> Result<(u64, Address)> {
    let (mut count, mut hash) = (0, Address::of(b""));
    let mut steps = Backwards::below(None);
    while let Some(step) = steps.next(snapshot)?
        && !place.is_at(&step)
    {
        count += 1;
        hash = chained(hash, &step)?;
    }
    Ok((count, hash))
}

/// The hash of a step and of those after it.
fn chained(after: Address, step: &StoredStep) -> Result<Address> {
    let mut bytes = after.as_bytes().to_vec();
    bytes.extend(step.note.to_bytes());
    for part in step.bytes() {
        bytes.extend(Address::of(part).as_bytes());
    }
    Ok(Address::of(&bytes))
}

/// A commit to make.
struct Made<'m> {
    engine: &'m Engine,
    tables: &'m [Table],
    label: Option<&'m str>,
    base: Option<&'m Base>,
}

impl Made<'_> {
    fn write(
        &self,
        writer: &mut dyn WriteTransaction,
        store: &FileStore,
        trees: &Trees,
    ) -> Result<CommitId> {
        let head = refs::head(writer)?;
        let parent = head.commit.map(|id| load(writer, id)).transpose()?;
        let (steps, steps_hash) = closed(writer, &head.place())?;
        if let Some(parent) = &parent
            && steps == 0
            && is_of(writer, self.tables, parent)?
        {
            return Ok(parent.id);
        }
        let roots = self.roots(writer, trees, parent.as_ref().map(|parent| (parent, &head)))?;
        for table in self.tables {
            delete_building(writer, &table.name)?;
        }
        let step = latest(writer)?;
        let mut commit = Commit {
            id: CommitId::from_bytes([0; CommitId::BYTES]),
            parents: head.commit.into_iter().collect(),
            tables: self.committed(trees, &roots)?,
            steps,
            steps_hash,
            time: SystemTime::now(),
            workspace: self.engine.record_names().0,
            author: self.engine.author().map(str::to_owned),
            label: self.label.map(str::to_owned),
            last_step: Some(step),
        };
        commit.name();
        store.write(writer)?;
        writer.put_named(NamedTable::Commits, commit.id.as_bytes(), &commit.to_row())?;
        let head = Head {
            commit: Some(commit.id),
            step,
            ..head
        };
        refs::put_head(writer, &head)?;
        Ok(commit.id)
    }

    /// The roots of the present state.
    fn roots(
        &self,
        writer: &mut dyn WriteTransaction,
        trees: &Trees,
        parent: Option<(&Commit, &Head)>,
    ) -> Result<BTreeMap<String, Root>> {
        let mut gaps = Vec::new();
        for table in self.tables {
            if refs::take_gap(writer, &table.name)? {
                gaps.push(table.name.to_string());
            }
        }
        let of_parent = parent.map(|(commit, head)| Base::of(commit, head));
        let mut roots = BTreeMap::new();
        for base in self.base.into_iter().chain(&of_parent) {
            let mut known = base.roots.clone();
            known.retain(|name, _| !gaps.contains(name) && !roots.contains_key(name));
            let advanced = self.advance(writer, trees, (&base.place, &known))?;
            roots.extend(advanced);
        }
        for (name, built) in all_building(writer)? {
            if built.until.is_none() && !roots.contains_key(&name) {
                let known = BTreeMap::from([(name, built.root)]);
                let advanced = self.advance(writer, trees, (&built.place(), &known))?;
                roots.extend(advanced);
            }
        }
        for table in self.tables {
            // The steps do not lead to its objects, or it was versioned a moment ago.
            if !roots.contains_key(table.name.as_ref()) {
                let root = grow(trees, writer, table, &mut || Ok(()))?;
                roots.insert(table.name.to_string(), root);
            }
        }
        Ok(roots)
    }

    /// The present roots, from those at a place.
    fn advance(
        &self,
        writer: &mut dyn WriteTransaction,
        trees: &Trees,
        (place, known): (&Place, &BTreeMap<String, Root>),
    ) -> Result<BTreeMap<String, Root>> {
        let tables = self.tables.iter();
        let tables = tables.filter(|table| known.contains_key(table.name.as_ref()));
        let tables: Vec<Table> = tables.cloned().collect();
        match tables.is_empty() {
            true => Ok(BTreeMap::new()),
            false => advance(
                trees,
                writer,
                &tables,
                (&Moment::Commit(place.clone()), known),
            ),
        }
    }

    fn committed(&self, trees: &Trees, roots: &BTreeMap<String, Root>) -> Result<Vec<CommitTable>> {
        let tables = roots.iter().filter_map(|(name, root)| {
            let table = self.tables.iter().find(|table| table.name == *name)?;
            Some((name, root, table))
        });
        let committed = tables.map(|(name, root, table)| {
            Ok(CommitTable {
                name: name.clone(),
                root: *root,
                descriptor: Address::of(&table.to_bytes()),
                objects: trees.len(root)?,
                is_forgotten: false,
                has_forgotten_objects: false,
                rest: None,
            })
        });
        committed.collect()
    }
}
