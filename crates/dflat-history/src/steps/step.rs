//! A step as a program sees it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dflat_engine::Result;
use dflat_engine::storage::StepId;
use dflat_model::record::{Change, RecordHead};

use super::backwards::unreadable;
use super::{Note, StoredStep};

/// A step of a history: one transaction that has changed objects of versioned types.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// The number of the step. Later steps of a file have larger numbers.
    pub id: StepId,
    /// How it came about.
    pub note: Note,
    /// The time of the commit, by the clock of the process that made it.
    pub time: SystemTime,
    /// The label of the transaction.
    pub label: Option<String>,
    /// The author, as the program named it.
    pub author: Option<String>,
    /// The id of the workspace, if the program named it.
    pub workspace: Option<u128>,
    /// A random number of the opened workspace that made the step.
    pub engine: u64,
    /// The group of transactions that are undone together.
    pub undo_group: Option<u64>,
    /// The tables that the transaction has changed.
    pub tables: Vec<TableStep>,
}

/// The number of rows of a table that a step has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableStep {
    /// The name of the table in the file, such as `post`.
    pub name: String,
    /// The number of inserted objects.
    pub inserted: u64,
    /// The number of updated objects.
    pub updated: u64,
    /// The number of deleted objects.
    pub deleted: u64,
    /// Whether any other object may have been changed, too: a program has prevented that changes
    /// were noted.
    pub has_unnoted: bool,
}

impl TableStep {
    /// Whether the step has the changes of the table. The changes of a type that is not versioned
    /// are not kept.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        self.has_unnoted || self.inserted + self.updated + self.deleted > 0
    }
}

impl StoredStep {
    /// The step as a program sees it.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](dflat_engine::ErrorKind::Corrupt) for a step that cannot be read.
    pub fn step(&self) -> Result<Step> {
        let mut tables: Vec<TableStep> = Vec::new();
        let mut head = RecordHead::default();
        for (position, record) in self.records().enumerate() {
            let record = record?;
            if position == 0 {
                head = record.head;
            }
            for table in &record.tables {
                let known = tables.iter().position(|t| t.name == table.table.name);
                let position = known.unwrap_or_else(|| {
                    let name = table.table.name.to_owned();
                    tables.push(TableStep {
                        name,
                        ..TableStep::default()
                    });
                    tables.len() - 1
                });
                let Some(counts) = tables.get_mut(position) else {
                    continue;
                };
                counts.has_unnoted |= table.table.is_foreign;
                for row in table.rows() {
                    match row.map_err(|error| unreadable(self.id, &error))?.change {
                        Change::Inserted => counts.inserted += 1,
                        Change::Updated(_) => counts.updated += 1,
                        Change::Deleted(_) => counts.deleted += 1,
                        Change::Mended => {}
                    }
                }
            }
        }
        Ok(Step {
            id: self.id,
            note: self.note.clone(),
            time: UNIX_EPOCH + Duration::from_millis(head.time),
            label: head.label.map(str::to_owned),
            author: head.author.map(str::to_owned),
            workspace: head.workspace,
            engine: head.engine,
            undo_group: head.undo_group,
            tables,
        })
    }
}
