//! Writes of objects with a string as primary key and one, three or five indexes. The floor is
//! hand-written SQL on a copy of the same tables.

use std::path::PathBuf;
use std::time::Duration;

use dflat::{ChangeRequest, Durability, FetchedResult, UpdatedObject, Workspace};
use tempfile::TempDir;

use crate::floor::{EntriesFloor, Floor};
use crate::measure::{Probe, Report, Settings};
use crate::workload::{Indexed, titles};
use crate::{Result, check};

/// Inserts all objects in one transaction.
pub(super) fn insert<T: Indexed>(name: &'static str, settings: &Settings) -> Result<Report> {
    let count = settings.objects;
    settings.compare(
        name,
        |probe| {
            let sides = IndexedSides::<T>::empty(settings)?;
            let ((), time) = probe.time(|| insert_all::<T>(&sides.workspace, count))?;
            sides.check_ours(&objects::<T>(count))?;
            Ok(time)
        },
        |probe| {
            let mut sides = IndexedSides::<T>::empty(settings)?;
            let objects = (0..count).map(|i| T::data(i, count));
            let ((), time) = probe.time(|| sides.floor.insert(objects))?;
            sides.check_floor(&self::objects::<T>(count))?;
            Ok(time)
        },
    )
}

/// Fetches each object by its key, changes every value that its indexes hold and writes the object,
/// in one transaction.
pub(super) fn update<T: Indexed>(name: &'static str, settings: &Settings) -> Result<Report> {
    let mut ours = Updates::<T>::new(settings)?;
    let mut floor = Updates::<T>::new(settings)?;
    settings.compare(name, |probe| ours.ours(probe), |probe| floor.floor(probe))
}

/// Deletes all objects, which were fetched before, in one transaction.
pub(super) fn delete<T: Indexed>(name: &'static str, settings: &Settings) -> Result<Report> {
    settings.compare(
        name,
        |probe| {
            let sides = IndexedSides::<T>::filled(settings)?;
            // The objects are dropped outside the measured time, as the floor's objects are.
            let objects = sides.workspace.fetch::<T>().all()?;
            let ((), time) = probe.time(|| delete_all(&sides.workspace, objects.clone()))?;
            sides.check_ours(&[])?;
            Ok(time)
        },
        |probe| {
            let mut sides = IndexedSides::<T>::filled(settings)?;
            let objects = sides.beside.objects()?;
            let ((), time) = probe.time(|| sides.floor.delete(&objects))?;
            sides.check_floor(&[])?;
            Ok(time)
        },
    )
}

/// Two files with the same tables, one of Dflat and one of the floor.
pub struct IndexedSides<T: Indexed> {
    /// The workspace of Dflat.
    pub workspace: Workspace,
    /// The floor.
    pub floor: EntriesFloor<T>,
    /// A connection of the floor to its file that does not write, because Dflat reads with such a
    /// connection.
    beside: EntriesFloor<T>,
    /// A connection to Dflat's file that makes its checkpoints.
    beside_ours: Floor,
    /// The path of Dflat's file.
    pub ours_path: PathBuf,
    // Order: the directory is removed after the files above are closed.
    _scratch: TempDir,
}

impl<T: Indexed> IndexedSides<T> {
    /// Both sides without objects. Their files, tables and statements are made already.
    ///
    /// # Errors
    /// If either side fails.
    pub fn empty(settings: &Settings) -> Result<Self> {
        let scratch = settings.scratch()?;
        let ours_path = scratch.path().join("ours.db");
        let floor_path = scratch.path().join("floor.db");
        let workspace = Workspace::open(&ours_path)?;
        warm_ours::<T>(&workspace)?;
        workspace.backup(&floor_path)?;
        let mut sides = Self {
            floor: EntriesFloor::open(&floor_path)?,
            beside: EntriesFloor::open(&floor_path)?,
            beside_ours: Floor::open(&ours_path, Durability::Normal, &[])?,
            workspace,
            ours_path,
            _scratch: scratch,
        };
        // SQLite prepares statements anew after a table is made or a connection is opened. This
        // happens here, outside the measured time.
        warm_ours::<T>(&sides.workspace)?;
        sides.floor.insert([T::data(0, 1)].into_iter())?;
        let objects = sides.floor.objects()?;
        sides.floor.delete(&objects)?;
        sides.settle()?;
        Ok(sides)
    }

    /// Both sides with all objects.
    ///
    /// # Errors
    /// If either side fails.
    pub fn filled(settings: &Settings) -> Result<Self> {
        let mut sides = Self::empty(settings)?;
        let count = settings.objects;
        insert_all::<T>(&sides.workspace, count)?;
        sides.floor.insert((0..count).map(|i| T::data(i, count)))?;
        sides.settle()?;
        Ok(sides)
    }

    /// Makes a checkpoint of both files, so that none is made during the measurement.
    fn settle(&mut self) -> Result<()> {
        self.beside_ours.checkpoint()?;
        self.beside.checkpoint()
    }

    /// Checks that Dflat has these objects, and finds half of them by an index.
    fn check_ours(&self, wanted: &[T::Data]) -> Result<()> {
        let objects = self.workspace.fetch::<T>().all()?;
        let objects: Vec<T::Data> = objects.iter().map(T::to_data).collect();
        check("objects of ours", &(objects == wanted), &true)?;
        let half = crate::workload::number(wanted.len() / 2);
        let found = self.workspace.fetch::<T>();
        let found = found.filter(T::rank_field().lt(half)).count()?;
        check("objects found by their ranks", &found, &(wanted.len() / 2))
    }

    /// Checks that the floor has these objects, and an index entry for each object that must have
    /// one.
    fn check_floor(&mut self, wanted: &[T::Data]) -> Result<()> {
        let objects = self.floor.objects()?;
        let objects = objects.iter().map(|(_, data)| data);
        check("objects of the floor", &objects.eq(wanted), &true)?;
        let open = wanted.iter().filter(|data| T::is_open(data)).count();
        let wanted = |index: &dflat_model::IndexDescriptor| match index.condition {
            Some(_) => i64::try_from(open),
            None => i64::try_from(wanted.len()),
        };
        let table = T::TABLE;
        let wanted = table.indexes.iter().map(wanted);
        let wanted: Vec<i64> = wanted.collect::<Result<_, _>>()?;
        check("entries of the floor", &self.floor.entry_counts()?, &wanted)
    }
}

/// Both sides, one of which is changed repeatedly, and the expected objects.
struct Updates<T: Indexed> {
    sides: IndexedSides<T>,
    titles: Vec<String>,
    wanted: Vec<T::Data>,
}

impl<T: Indexed> Updates<T> {
    fn new(settings: &Settings) -> Result<Self> {
        Ok(Self {
            sides: IndexedSides::filled(settings)?,
            titles: titles(settings.objects),
            wanted: objects::<T>(settings.objects),
        })
    }

    fn ours(&mut self, probe: &mut Probe) -> Result<Duration> {
        self.sides.settle()?;
        let titles = self.titles.clone();
        let ((), time) = probe.time(|| update_all::<T>(&self.sides.workspace, titles))?;
        self.change_wanted();
        self.sides.check_ours(&self.wanted)?;
        Ok(time)
    }

    fn floor(&mut self, probe: &mut Probe) -> Result<Duration> {
        self.sides.settle()?;
        let (sides, count) = (&mut self.sides, self.titles.len());
        let change = |data: &mut T::Data| T::change(data, count);
        let ((), time) = probe.time(|| sides.floor.update_by_key(&self.titles, change))?;
        self.change_wanted();
        self.sides.check_floor(&self.wanted)?;
        Ok(time)
    }

    fn change_wanted(&mut self) {
        for data in &mut self.wanted {
            T::change(data, self.titles.len());
        }
    }
}

fn objects<T: Indexed>(count: usize) -> Vec<T::Data> {
    (0..count).map(|i| T::data(i, count)).collect()
}

fn warm_ours<T: Indexed>(workspace: &Workspace) -> Result<()> {
    insert_all::<T>(workspace, 1)?;
    delete_all(workspace, workspace.fetch::<T>().all()?)
}

fn insert_all<T: Indexed>(workspace: &Workspace, count: usize) -> Result<()> {
    let transaction = workspace.perform_changes([T::TABLE], move |tx| {
        for i in 0..count {
            tx.submit(ChangeRequest::<T>::creation(T::data(i, count)))?;
        }
        Ok(())
    });
    Ok(transaction.wait()?)
}

/// Changes the objects of these titles in a workspace.
///
/// # Errors
/// If the transaction fails, or an object is missing.
pub fn update_all<T: Indexed>(workspace: &Workspace, titles: Vec<String>) -> Result<()> {
    let count = titles.len();
    let transaction = workspace.perform_changes([T::TABLE], move |tx| {
        let mut updated = 0;
        for title in &titles {
            let Some(object) = tx.get::<T>(title)? else {
                continue;
            };
            let Some(mut request) = ChangeRequest::change(tx, &object)? else {
                continue;
            };
            T::change(&mut request, count);
            updated += usize::from(matches!(tx.submit(request)?, UpdatedObject::Updated(_)));
        }
        Ok(updated)
    });
    check("objects updated", &transaction.wait()?, &count)
}

/// Deletes objects of a workspace.
///
/// # Errors
/// If the transaction fails.
pub fn delete_all<T: Indexed>(workspace: &Workspace, objects: FetchedResult<T>) -> Result<()> {
    let transaction = workspace.perform_changes([T::TABLE], move |tx| {
        for object in &objects {
            if let Some(request) = ChangeRequest::deletion(tx, object)? {
                tx.submit(request)?;
            }
        }
        Ok(())
    });
    Ok(transaction.wait()?)
}
