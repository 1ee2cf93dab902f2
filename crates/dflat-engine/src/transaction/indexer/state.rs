//! The tables whose indexes are to be built, and the progress of each index.

use std::collections::{HashMap, VecDeque};

use dflat_model::{RowId, Table};

use super::super::backfill::Batch;
use super::{Duplicate, Ready};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::JoinHandle;
use crate::telemetry::TARGET;

/// How far an index is built.
#[derive(Clone, Debug)]
pub struct IndexProgress {
    /// The type's full name.
    pub type_name: String,
    /// The readable name of the index.
    pub index: String,
    /// Whether it is unique.
    pub unique: bool,
    /// Number of rows that this process has processed for the index.
    pub rows_done: u64,
    /// Number of rows when the build began, or `rows_done` if that is larger.
    pub rows_total: u64,
    /// How the build stands.
    pub state: BuildState,
    /// The first of the values of a unique index that several objects had when the index became
    /// ready.
    pub duplicates: Vec<Duplicate>,
}

/// How the build of an index stands.
#[derive(Clone, Debug)]
pub enum BuildState {
    /// The index is being built, or waits to be built.
    Building,
    /// The index is ready.
    Ready,
    /// The index could not be built, because of this error.
    Failed(Error),
}

#[derive(Default)]
pub(super) struct IndexerState {
    /// Tables with indexes to build.
    pub(super) wanted: VecDeque<Table>,
    /// Whether one of these tables was requested again since the latest batch began.
    pub(super) wanted_again: bool,
    pub(super) builds: Vec<Build>,
    /// By the names of tables, the foreign rows that the latest batch has left out of the indexes
    /// because it could not read them.
    left: HashMap<String, Vec<RowId>>,
    pub(super) working: bool,
    pub(super) closed: bool,
    /// Whether the indexer was closed before all requested indexes were built.
    pub(super) cut_short: bool,
    pub(super) thread: Option<JoinHandle<()>>,
    pub(super) waiting: Vec<Ready>,
}

pub(super) struct Build {
    table: String,
    storage_key: String,
    pub(super) progress: IndexProgress,
}

impl IndexerState {
    pub(super) fn of<'s>(&'s self, table: &'s Table) -> impl Iterator<Item = &'s Build> {
        self.builds.iter().filter(|b| b.table == table.name)
    }

    pub(super) fn find(&mut self, table: &Table, storage_key: &str) -> Option<&mut Build> {
        let mut builds = self.builds.iter_mut();
        builds.find(|b| b.table == table.name && b.storage_key == storage_key)
    }

    pub(super) fn is_building(&self, table: &Table) -> bool {
        self.of(table)
            .any(|build| matches!(build.progress.state, BuildState::Building))
    }

    pub(super) fn has_damage(&self, table: &Table) -> bool {
        self.of(table).any(|build| {
            matches!(&build.progress.state, BuildState::Failed(error)
                if error.kind() == ErrorKind::Corrupt)
        })
    }

    pub(super) fn has_failed(&self, table: &Table) -> bool {
        self.of(table)
            .any(|build| matches!(build.progress.state, BuildState::Failed(_)))
    }

    pub(super) fn left_of(&self, table: &Table) -> &[RowId] {
        self.left
            .get(table.name.as_ref())
            .map_or(&[], Vec::as_slice)
    }

    pub(super) fn start(&mut self, table: &Table, rows_total: u64) {
        for index in table.indexes.iter() {
            let storage_key = index.storage_key();
            let progress = IndexProgress {
                type_name: table.type_name.to_string(),
                index: index.to_string(),
                unique: index.unique,
                rows_done: 0,
                rows_total,
                state: BuildState::Building,
                duplicates: Vec::new(),
            };
            match self.find(table, &storage_key) {
                Some(build) => build.progress = progress,
                None => self.builds.push(Build {
                    table: table.name.to_string(),
                    storage_key,
                    progress,
                }),
            }
        }
    }

    pub(super) fn advance(&mut self, batch: &Batch) {
        let left = batch.left.clone();
        self.left.insert(batch.table.name.to_string(), left);
        for (position, index) in batch.table.indexes.iter().enumerate() {
            let is_filled = batch.indexes.contains(&position);
            if let Some(build) = self.find(&batch.table, &index.storage_key())
                && is_filled
            {
                let progress = &mut build.progress;
                progress.rows_done += batch.rows;
                // Rows that were written meanwhile are processed too.
                progress.rows_total = progress.rows_total.max(progress.rows_done);
            }
        }
    }

    pub(super) fn fail(&mut self, table: &Table, error: &Error) {
        if self.of(table).next().is_none() {
            self.start(table, 0);
        }
        let type_name = table.type_name.as_ref();
        tracing::warn!(target: TARGET, type_name, %error, "backfill failed");
        for build in self.builds.iter_mut().filter(|b| b.table == table.name) {
            if matches!(build.progress.state, BuildState::Building) {
                build.progress.state = BuildState::Failed(error.clone());
            }
        }
    }

    /// The first error of a build, if any; otherwise an error if the indexer was closed before all
    /// requested indexes were built.
    pub(super) fn outcome(&self) -> Result<()> {
        let failed = self.builds.iter().find_map(|b| match &b.progress.state {
            BuildState::Failed(error) => Some(error.clone()),
            _ => None,
        });
        let cut_short = || {
            let message = "cannot build all indexes: the workspace was shut down";
            Error::new(ErrorKind::ShutDown, message)
        };
        failed
            .or_else(|| self.cut_short.then(cut_short))
            .map_or(Ok(()), Err)
    }
}
