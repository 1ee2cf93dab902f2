//! Queries by an index, beside SQL by hand on a copy of the same tables.

use dflat::{Fetch, FetchedResult, Workspace};

use crate::floor::{IndexedFloor, IndexedQuery};
use crate::measure::{Report, Settings};
use crate::workload::{Ranked, RankedChangeRequest, RankedData, number};
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

/// Runs a query from many ranks on, each of which gives `width` objects.
fn compare(
    name: &'static str,
    settings: &Settings,
    indexed: IndexedQuery,
    width: usize,
    query: impl Fn(&Workspace, i32, i32) -> dflat::Result<FetchedResult<Ranked>>,
) -> Result<Report> {
    let count = settings.objects;
    let scratch = settings.scratch()?;
    let path = scratch.path().join("ours.db");
    let workspace = Workspace::open(&path)?;
    let filled = workspace.perform_changes([Ranked::TABLE], move |tx| {
        for i in 0..count {
            let data = RankedData {
                title: format!("title{i}"),
                // A prime, so that each rank is given once.
                rank: number(i * 7919 % count),
                text: Some(format!("text{i}")),
            };
            tx.submit(RankedChangeRequest::creation(data))?;
        }
        Ok(())
    });
    filled.wait()?;
    workspace.settle()?;
    // A file of its own: in that of ours it would share the locks that our readers keep, and take
    // none itself, which SQL by hand has to.
    let copy = scratch.path().join("floor.db");
    workspace.backup(&copy)?;
    let mut floor = IndexedFloor::open(&copy)?;
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
