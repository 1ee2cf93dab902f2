//! Fetching.

use dflat::Durability;
use dflat_engine::object::TableView;

use super::sides::{Sides, initial_sum};
use super::subscribe::{Ranges, rank_all};
use crate::floor::Arena;
use crate::measure::{Report, Settings};
use crate::workload::{BenchDoc, PRIORITY_VOFFSET, selected_count, threshold, titles};
use crate::{Result, check};

/// The maximum number of runs if each scans the table once for each range.
const RANGES_RUNS_MAX: usize = 5;

/// Fetches a sixth of the objects, by a field without an index.
pub(super) fn scan(name: &'static str, settings: &Settings) -> Result<Report> {
    let Sides {
        workspace, floor, ..
    } = &mut Sides::filled(settings, Durability::Normal)?;
    let (wanted, above) = (
        selected_count(settings.objects),
        threshold(settings.objects),
    );
    settings.compare(
        name,
        |probe| {
            let query = || workspace.fetch().filter(BenchDoc::PRIORITY.gt(above)).all();
            let (found, time) = probe.time(|| Ok(query()?))?;
            check("objects found", &found.len(), &wanted)?;
            check(
                "found rightly",
                &found.iter().all(|o| o.priority() > above),
                &true,
            )?;
            Ok(time)
        },
        |probe| {
            let work = || floor.fetch_owned::<BenchDoc>(0, |root| priority(root) > above);
            let (found, time) = probe.time(work)?;
            check("objects found", &found.len(), &wanted)?;
            Ok(time)
        },
    )
}

/// Evaluates a condition on a field without an index that no object meets. The floor steps through
/// the rows without reading them. The difference is the cost of evaluating the condition.
pub(super) fn condition(name: &'static str, settings: &Settings) -> Result<Report> {
    let Sides {
        workspace, floor, ..
    } = &mut Sides::filled(settings, Durability::Normal)?;
    settings.compare(
        name,
        |probe| {
            let query = || workspace.fetch().filter(BenchDoc::PRIORITY.gt(i32::MAX));
            let (found, time) = probe.time(|| Ok(query().count()?))?;
            check("objects found", &found, &0)?;
            Ok(time)
        },
        |probe| {
            let mut rows = 0;
            let (_, time) = probe.time(|| floor.scan(0, |_, _| rows += 1))?;
            check("rows", &rows, &settings.objects)?;
            Ok(time)
        },
    )
}

/// Fetches all objects. The floor copies them into one buffer.
pub(super) fn all(name: &'static str, settings: &Settings) -> Result<Report> {
    let Sides {
        workspace, floor, ..
    } = &mut Sides::filled(settings, Durability::Normal)?;
    let sum = initial_sum::<BenchDoc>(settings.objects);
    settings.compare(
        name,
        |probe| {
            let (found, time) = probe.time(|| Ok(workspace.fetch::<BenchDoc>().all()?))?;
            check("objects found", &found.len(), &settings.objects)?;
            let is: i64 = found
                .iter()
                .map(|object| i64::from(object.priority()))
                .sum();
            check("sum", &is, &sum)?;
            Ok(time)
        },
        |probe| {
            let (found, time) = probe.time(|| floor.fetch_arena(0))?;
            check("objects found", &found.places.len(), &settings.objects)?;
            check("sum", &arena_sum(&found)?, &sum)?;
            Ok(time)
        },
    )
}

/// Fetches each object by its key.
pub(super) fn key(name: &'static str, settings: &Settings) -> Result<Report> {
    let Sides {
        workspace, floor, ..
    } = &mut Sides::filled(settings, Durability::Normal)?;
    let titles = titles(settings.objects);
    let sum = initial_sum::<BenchDoc>(settings.objects);
    settings.compare(
        name,
        |probe| {
            let (is, time) = probe.time(|| {
                sum_by_key(&titles, |title| {
                    let found = workspace.get::<BenchDoc>(title)?;
                    Ok(found.map(|object| object.priority()))
                })
            })?;
            check("sum", &is, &sum)?;
            Ok(time)
        },
        |probe| {
            let (is, time) = probe.time(|| {
                sum_by_key(&titles, |title| {
                    Ok(floor
                        .get::<BenchDoc>(0, title)?
                        .map(|(_, data)| data.priority))
                })
            })?;
            check("sum", &is, &sum)?;
            Ok(time)
        },
    )
}

/// Fetches each object by its key, all from one state.
pub(super) fn key_snapshot(name: &'static str, settings: &Settings) -> Result<Report> {
    let Sides {
        workspace, floor, ..
    } = &mut Sides::filled(settings, Durability::Normal)?;
    let titles = titles(settings.objects);
    let sum = initial_sum::<BenchDoc>(settings.objects);
    settings.compare(
        name,
        |probe| {
            let (is, time) = probe.time(|| {
                let snapshot = workspace.snapshot()?;
                sum_by_key(&titles, |title| {
                    let found = snapshot.get::<BenchDoc>(title)?;
                    Ok(found.map(|object| object.priority()))
                })
            })?;
            check("sum", &is, &sum)?;
            Ok(time)
        },
        |probe| {
            let (is, time) = probe.time(|| {
                floor.begin()?;
                let sum = sum_by_key(&titles, |title| {
                    Ok(floor
                        .get::<BenchDoc>(0, title)?
                        .map(|(_, data)| data.priority))
                })?;
                floor.commit()?;
                Ok(sum)
            })?;
            check("sum", &is, &sum)?;
            Ok(time)
        },
    )
}

/// Fetches ranges of a tenth of the objects each, by a field without an index.
pub(super) fn ranges(name: &'static str, settings: &Settings) -> Result<Report> {
    let mut sides = Sides::filled(settings, Durability::Normal)?;
    rank_all(&sides.workspace)?;
    sides.floor.update_all::<BenchDoc>(0, |data| {
        let i = data.title.trim_start_matches("title").parse();
        data.priority = i.unwrap_or_default();
    })?;
    let Sides {
        workspace, floor, ..
    } = &mut sides;
    let ranges = Ranges::new(settings.objects);
    settings.with_runs_max(RANGES_RUNS_MAX).compare(
        name,
        |probe| {
            let (found, time) = probe.time(|| {
                let fetch = |range| Ok(ranges.query(workspace, range).all()?.len());
                (0..ranges.count).map(fetch).sum::<Result<usize>>()
            })?;
            check("objects found", &found, &(ranges.count * ranges.width))?;
            Ok(time)
        },
        |probe| {
            let (found, time) = probe.time(|| {
                let fetch = |range| {
                    let bounds = ranges.bounds(range);
                    let found = floor
                        .fetch_owned::<BenchDoc>(0, |root| bounds.contains(&priority(root)))?;
                    Ok(found.len())
                };
                (0..ranges.count).map(fetch).sum::<Result<usize>>()
            })?;
            check("objects found", &found, &(ranges.count * ranges.width))?;
            Ok(time)
        },
    )
}

fn sum_by_key(titles: &[String], mut get: impl FnMut(&str) -> Result<Option<i32>>) -> Result<i64> {
    let mut sum = 0;
    for title in titles {
        sum += i64::from(get(title)?.ok_or_else(|| format!("{title} is missing"))?);
    }
    Ok(sum)
}

fn arena_sum(arena: &Arena) -> Result<i64> {
    let mut sum = 0;
    for (_, start, end) in &arena.places {
        let payload = arena
            .bytes
            .get(*start..*end)
            .ok_or("a place is outside the buffer")?;
        sum += i64::from(priority(&TableView::root(payload).unwrap_or_default()));
    }
    Ok(sum)
}

/// The priority in a payload.
pub(super) fn priority(root: &TableView<'_>) -> i32 {
    root.scalar(PRIORITY_VOFFSET)
        .ok()
        .flatten()
        .unwrap_or_default()
}
