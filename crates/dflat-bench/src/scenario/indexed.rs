//! Queries by an index. The floor is hand-written SQL on a copy of the same tables.

use std::path::PathBuf;

use dflat::{Fetch, FetchedResult, Workspace};
use tempfile::TempDir;

use crate::floor::{IndexedFloor, IndexedQuery};
use crate::measure::{Report, Settings};
use crate::workload::{Indexed, Ranked, RankedChangeRequest, number};
use crate::{Result, check};

pub(super) fn point(name: &'static str, settings: &Settings) -> Result<Report> {
    let query =
        |workspace: &Workspace, from, _| workspace.fetch().filter(Ranked::RANK.eq(from)).all();
    compare(name, settings, IndexedQuery::Point, 1, query)
}

pub(super) fn range(name: &'static str, settings: &Settings) -> Result<Report> {
    let query = |workspace: &Workspace, from, to| within(workspace, from, to).all();
    compare(
        name,
        settings,
        IndexedQuery::Range,
        settings.objects / 10,
        query,
    )
}

pub(super) fn ordered(name: &'static str, settings: &Settings) -> Result<Report> {
    let query = |workspace: &Workspace, from, to| {
        within(workspace, from, to)
            .order_by(Ranked::RANK.ascending())
            .all()
    };
    compare(
        name,
        settings,
        IndexedQuery::Ordered,
        settings.objects / 10,
        query,
    )
}

pub(super) fn top_ten(name: &'static str, settings: &Settings) -> Result<Report> {
    let query = |workspace: &Workspace, from, _| {
        let behind = workspace.fetch().filter(Ranked::RANK.ge(from));
        behind.order_by(Ranked::RANK.ascending()).limit(10).all()
    };
    compare(name, settings, IndexedQuery::TopTen, 10, query)
}

fn within(workspace: &Workspace, from: i32, to: i32) -> Fetch<'_, Ranked> {
    workspace
        .fetch()
        .filter(Ranked::RANK.ge(from) & Ranked::RANK.lt(to))
}

/// Runs a query from each of many ranks on. Each query returns `width` objects.
fn compare(
    name: &'static str,
    settings: &Settings,
    indexed: IndexedQuery,
    width: usize,
    query: impl Fn(&Workspace, i32, i32) -> dflat::Result<FetchedResult<Ranked>>,
) -> Result<Report> {
    let files = Files::new(settings)?;
    let workspace = Workspace::open(&files.ours)?;
    let mut floor = IndexedFloor::open(&files.floor)?;
    let count = settings.objects;
    let width = width.max(1);
    let starts: Vec<i32> = (0..count - width)
        .step_by((count / 100).max(1))
        .map(number)
        .collect();
    let wanted = starts.len() * width;
    settings.compare(
        name,
        |probe| {
            let fetch = |from: &i32| Ok(query(&workspace, *from, from + number(width))?.len());
            let work = || starts.iter().map(fetch).sum::<Result<usize>>();
            let (found, time) = probe.time(work)?;
            check("objects found", &found, &wanted)?;
            Ok(time)
        },
        |probe| {
            let mut fetch =
                |from: &i32| Ok(floor.fetch(indexed, *from, from + number(width))?.len());
            let work = || starts.iter().map(&mut fetch).sum::<Result<usize>>();
            let (found, time) = probe.time(work)?;
            check("objects found", &found, &wanted)?;
            Ok(time)
        },
    )
}

/// Opens a file and runs the first query on it: a range of a tenth of the objects.
pub(super) fn first(name: &'static str, settings: &Settings) -> Result<Report> {
    let files = Files::new(settings)?;
    let width = (settings.objects / 10).max(1);
    let to = number(width);
    settings.compare(
        name,
        |probe| {
            let ((workspace, found), time) = probe.time(|| {
                let workspace = Workspace::open(&files.ours)?;
                let found = within(&workspace, 0, to).all()?;
                Ok((workspace, found))
            })?;
            check("objects of ours", &found.len(), &width)?;
            workspace.shutdown()?;
            Ok(time)
        },
        |probe| {
            let ((floor, found), time) = probe.time(|| {
                let mut floor = IndexedFloor::open(&files.floor)?;
                let found = floor.fetch(IndexedQuery::Range, 0, to)?;
                Ok((floor, found))
            })?;
            check("objects of the floor", &found.len(), &width)?;
            drop(floor);
            Ok(time)
        },
    )
}

/// Runs the same query without the time of opening the file.
pub(super) fn first_opened(name: &'static str, settings: &Settings) -> Result<Report> {
    let files = Files::new(settings)?;
    let width = (settings.objects / 10).max(1);
    let to = number(width);
    settings.compare(
        name,
        |probe| {
            let workspace = Workspace::open(&files.ours)?;
            let (found, time) = probe.time(|| Ok(within(&workspace, 0, to).all()?))?;
            check("objects of ours", &found.len(), &width)?;
            workspace.shutdown()?;
            Ok(time)
        },
        |probe| {
            let mut floor = IndexedFloor::open(&files.floor)?;
            let (found, time) = probe.time(|| floor.fetch(IndexedQuery::Range, 0, to))?;
            check("objects of the floor", &found.len(), &width)?;
            Ok(time)
        },
    )
}

/// A file with all objects and a copy of it, both closed.
struct Files {
    ours: PathBuf,
    /// A separate file: on Dflat's file the floor would share the locks that Dflat's readers keep,
    /// and would not take the locks that hand-written SQL has to take.
    floor: PathBuf,
    // Order: the directory is removed after the files above are closed.
    _scratch: TempDir,
}

impl Files {
    fn new(settings: &Settings) -> Result<Self> {
        let count = settings.objects;
        let scratch = settings.scratch()?;
        let ours = scratch.path().join("ours.db");
        let workspace = Workspace::open(&ours)?;
        let filled = workspace.perform_changes([Ranked::TABLE], move |tx| {
            for i in 0..count {
                tx.submit(RankedChangeRequest::creation(Ranked::data(i, count)))?;
            }
            Ok(())
        });
        filled.wait()?;
        workspace.settle()?;
        let floor = scratch.path().join("floor.db");
        workspace.backup(&floor)?;
        workspace.shutdown()?;
        Ok(Self {
            ours,
            floor,
            _scratch: scratch,
        })
    }
}
