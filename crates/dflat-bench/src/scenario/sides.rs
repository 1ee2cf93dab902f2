//! Two files with the same objects, one of Dflat and one of the floor.

use std::ops::Range;
use std::path::PathBuf;

use dflat::{ChangeRequest, Durability, TransactionHandle, Workspace};
use tempfile::TempDir;

use crate::floor::Floor;
use crate::measure::Settings;
use crate::workload::{BenchDoc, BenchDocV2, BenchDocV3, BenchDocV4, Doc};
use crate::{Result, check};

/// The number of objects inserted per transaction, because a transaction's changes are held in
/// memory.
const BATCH: usize = 100_000;

/// The tables of the workload.
pub(super) const TABLE_NAMES: [&str; 4] = [
    BenchDoc::TABLE_NAME,
    BenchDocV2::TABLE_NAME,
    BenchDocV3::TABLE_NAME,
    BenchDocV4::TABLE_NAME,
];

/// Both sides, open.
pub struct Sides {
    /// The workspace of Dflat.
    pub workspace: Workspace,
    /// The floor.
    pub floor: Floor,
    /// A connection of the floor to each file, for checkpoints. A checkpoint by another connection
    /// empties the page cache of the connection that writes; both sides must bear that cost. The
    /// connection to the floor's file also does the reads that Dflat does with connections that do
    /// not write.
    beside: [Floor; 2],
    /// The path of Dflat's file.
    pub ours_path: PathBuf,
    /// The path of the floor's file.
    pub floor_path: PathBuf,
    // Order: the directory is removed after the files above are closed.
    _scratch: TempDir,
}

impl Sides {
    /// Both sides without objects. Their files, tables and statements are made already.
    ///
    /// # Errors
    /// If either side fails.
    pub fn empty(settings: &Settings, durability: Durability) -> Result<Self> {
        let scratch = settings.scratch()?;
        let ours_path = scratch.path().join("ours.db");
        let floor_path = scratch.path().join("floor.db");
        let workspace = Workspace::builder(&ours_path)
            .durability(durability)
            .open()?;
        let mut floor = Floor::open(&floor_path, durability, &TABLE_NAMES)?;
        warm_all(&workspace, &mut floor)?;
        let beside = [
            Floor::open(&ours_path, durability, &[])?,
            Floor::open(&floor_path, durability, &TABLE_NAMES)?,
        ];
        // Once more: SQLite prepares statements anew after a table is made, and after a connection
        // is opened, which commits. This happens here, outside the measured time.
        warm_all(&workspace, &mut floor)?;
        let mut sides = Self {
            workspace,
            floor,
            beside,
            ours_path,
            floor_path,
            _scratch: scratch,
        };
        sides.settle_ours()?;
        sides.settle_floor()?;
        Ok(sides)
    }

    /// Both sides with the objects of one table.
    ///
    /// # Errors
    /// If either side fails.
    pub fn filled(settings: &Settings, durability: Durability) -> Result<Self> {
        let mut sides = Self::empty(settings, durability)?;
        sides.fill::<BenchDoc>(settings.objects, 0)?;
        Ok(sides)
    }

    /// Opens Dflat's file anew, with change records of each commit.
    ///
    /// # Errors
    /// If the file can't be closed or opened.
    pub fn record_changes(&mut self) -> Result<()> {
        self.workspace.shutdown()?;
        let builder = Workspace::builder(&self.ours_path);
        self.workspace = builder.change_log(true).open()?;
        Ok(())
    }

    /// Adds the objects of a table to both sides.
    ///
    /// # Errors
    /// If either side fails.
    pub fn fill<T: Doc>(&mut self, count: usize, table: usize) -> Result<()> {
        for from in (0..count).step_by(BATCH) {
            let to = count.min(from + BATCH);
            insert::<T>(&self.workspace, from..to, count).wait()?;
        }
        self.floor
            .insert::<T>(table, (0..count).map(|i| T::data(i, count)))?;
        self.settle_ours()?;
        self.settle_floor()
    }

    /// Makes a checkpoint of Dflat's file, so that none is made during the measurement.
    ///
    /// # Errors
    /// If the checkpoint fails.
    pub fn settle_ours(&mut self) -> Result<()> {
        self.beside[0].checkpoint()
    }

    /// As [`Self::settle_ours`], for the floor.
    ///
    /// # Errors
    /// If the checkpoint fails.
    pub fn settle_floor(&mut self) -> Result<()> {
        self.beside[1].checkpoint()
    }

    /// The row ids of a table of the floor. They are read by a connection that does not write, so
    /// that the writing connection has no page in its cache that Dflat's does not have.
    ///
    /// # Errors
    /// If they can't be read.
    pub fn row_ids_of_floor(&mut self, table: usize) -> Result<Vec<i64>> {
        let mut row_ids = Vec::new();
        self.beside[1].scan(table, |row_id, _| row_ids.push(row_id))?;
        Ok(row_ids)
    }

    /// Checks the number of objects in a table of Dflat, and the sum of their priorities.
    ///
    /// # Errors
    /// If the number or the sum differs.
    pub fn check_ours<T: Doc>(&self, count: usize, sum: i64) -> Result<()> {
        let objects = self.workspace.fetch::<T>().all()?;
        check("objects of ours", &objects.len(), &count)?;
        let is: i64 = objects
            .iter()
            .map(|object| i64::from(object.priority()))
            .sum();
        check("sum of ours", &is, &sum)
    }

    /// As [`Self::check_ours`], for the floor.
    ///
    /// # Errors
    /// If the number or the sum differs.
    pub fn check_floor<T: Doc>(&mut self, table: usize, count: usize, sum: i64) -> Result<()> {
        let mut objects = self.floor.fetch_owned::<T>(table, |_| true)?;
        check("objects of the floor", &objects.len(), &count)?;
        let priorities = objects
            .iter_mut()
            .map(|(_, data)| i64::from(*T::priority_of(data)));
        check("sum of the floor", &priorities.sum(), &sum)
    }
}

/// The sum of the priorities of newly made objects.
pub(super) fn initial_sum<T: Doc>(count: usize) -> i64 {
    (0..count)
        .map(|i| i64::from(*T::priority_of(&mut T::data(i, count))))
        .sum()
}

/// Inserts the objects of a table in a transaction of a workspace.
pub fn insert_all<T: Doc>(workspace: &Workspace, count: usize) -> TransactionHandle<()> {
    insert::<T>(workspace, 0..count, count)
}

/// Inserts the objects `some` of `count` in a transaction of a workspace.
fn insert<T: Doc>(
    workspace: &Workspace,
    some: Range<usize>,
    count: usize,
) -> TransactionHandle<()> {
    workspace.perform_changes([T::TABLE], move |tx| {
        for i in some {
            tx.submit(ChangeRequest::<T>::creation(T::data(i, count)))?;
        }
        Ok(())
    })
}

/// Inserts and deletes an object of each table on both sides.
fn warm_all(workspace: &Workspace, floor: &mut Floor) -> Result<()> {
    warm::<BenchDoc>(workspace, floor, 0)?;
    warm::<BenchDocV2>(workspace, floor, 1)?;
    warm::<BenchDocV3>(workspace, floor, 2)?;
    warm::<BenchDocV4>(workspace, floor, 3)
}

/// Inserts and deletes an object on both sides.
fn warm<T: Doc>(workspace: &Workspace, floor: &mut Floor, table: usize) -> Result<()> {
    insert_all::<T>(workspace, 1).wait()?;
    let found = workspace
        .get::<T>("title0")?
        .ok_or("the object is missing")?;
    workspace
        .perform_changes([T::TABLE], move |tx| {
            ChangeRequest::deletion(tx, &found)?
                .map(|request| tx.submit(request))
                .transpose()
        })
        .wait()?;
    floor.insert::<T>(table, [T::data(0, 1)].into_iter())?;
    let (row_id, _) = floor
        .get::<T>(table, "title0")?
        .ok_or("the object is missing")?;
    floor.delete(table, &[row_id])
}
