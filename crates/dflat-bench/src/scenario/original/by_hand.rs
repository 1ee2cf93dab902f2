//! The program by raw SQLite, with the automatic checkpoints that SQLite makes by default.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use dflat::Durability;
use tempfile::TempDir;

use super::{FILL_TIMES, Step, Timed, time};
use crate::floor::Floor;
use crate::measure::{Probe, Settings};
use crate::scenario::fetch::priority;
use crate::scenario::sides::TABLE_NAMES;
use crate::scenario::subscribe::Ranges;
use crate::scenario::update::raise;
use crate::workload::{
    BenchDoc, BenchDocData, BenchDocV2, BenchDocV3, BenchDocV4, Doc, number, selected_count,
    threshold, titles,
};
use crate::{Result, check};

/// A connection to a new file.
pub struct ByHand {
    floor: Floor,
    /// The path of the file.
    pub path: PathBuf,
    count: usize,
    ranges: Ranges,
    // Order: the directory is removed after the connection is closed.
    _scratch: TempDir,
}

impl ByHand {
    /// Opens a new file.
    ///
    /// # Errors
    /// If it can't be opened.
    pub fn new(settings: &Settings) -> Result<Self> {
        let scratch = settings.scratch()?;
        let path = scratch.path().join("floor.db");
        Ok(Self {
            floor: Floor::open(&path, Durability::Normal, &TABLE_NAMES)?,
            path,
            count: settings.objects,
            ranges: Ranges::new(settings.objects),
            _scratch: scratch,
        })
    }

    /// Makes the next step, and returns its time.
    ///
    /// # Errors
    /// If the step fails or has a wrong result.
    pub fn run(&mut self, step: Step, probe: &mut Probe) -> Result<Duration> {
        let (floor, count) = (&mut self.floor, self.count);
        match step {
            Step::Fill => time(probe, || insert::<BenchDoc>(floor, 0, FILL_TIMES * count)),
            Step::Insert | Step::InsertLater => time(probe, || insert::<BenchDoc>(floor, 0, count)),
            Step::Empty | Step::Delete => time(probe, || delete_all(floor, 0)),
            Step::Scan | Step::ScanAgain => scan(floor, count, probe),
            Step::Update => time(probe, || floor.update_all::<BenchDoc>(0, raise)),
            Step::UpdateEach => {
                let mut objects = floor.fetch_owned::<BenchDoc>(0, |_| true)?;
                time(probe, || {
                    floor.update_each::<BenchDoc>(0, &mut objects, raise)
                })
            }
            Step::FetchByKey => fetch_by_key(floor, count, probe),
            Step::InsertThreads => time(probe, || {
                insert::<BenchDoc>(floor, 0, count)?;
                insert::<BenchDocV2>(floor, 1, count)?;
                insert::<BenchDocV3>(floor, 2, count)?;
                insert::<BenchDocV4>(floor, 3, count)
            }),
            Step::DeleteThreads => time(probe, || {
                (0..4).try_for_each(|table| delete_all(floor, table))
            }),
            Step::DeliverResults | Step::DeliverObjects => self.deliver_each(),
            Step::FetchRanges => {
                floor.update_all::<BenchDoc>(0, |data| {
                    let i = data.title.trim_start_matches("title").parse();
                    data.priority = i.unwrap_or_default();
                })?;
                time(probe, || self.fetch_ranges())
            }
            Step::DeliverRanges => {
                let moved = mover(count, self.ranges.width);
                self.floor.begin_update_all::<BenchDoc>(0, moved)?;
                let start = Instant::now();
                self.floor.commit()?;
                self.fetch_ranges()?;
                Ok(start.elapsed())
            }
        }
    }

    /// Moves all objects by one place. The time is that of the commit, and of fetching the objects
    /// that a program shows.
    fn deliver_each(&mut self) -> Timed {
        let titles = titles(self.ranges.count);
        self.floor
            .begin_update_all::<BenchDoc>(0, mover(self.count, 1))?;
        let start = Instant::now();
        self.floor.commit()?;
        for title in &titles {
            let found = self.floor.get::<BenchDoc>(0, title)?;
            check("an object", &found.is_some(), &true)?;
        }
        Ok(start.elapsed())
    }

    /// Fetches each range by a scan of the table.
    fn fetch_ranges(&mut self) -> Result<()> {
        let mut fetched = 0;
        for range in 0..self.ranges.count {
            let bounds = self.ranges.bounds(range);
            let found = self
                .floor
                .fetch_owned::<BenchDoc>(0, |root| bounds.contains(&priority(root)))?;
            fetched += found.len();
        }
        check(
            "objects found",
            &fetched,
            &(self.ranges.count * self.ranges.width),
        )
    }
}

/// Moves an object up by this many places.
fn mover(count: usize, places: usize) -> impl Fn(&mut BenchDocData) {
    let (count, places) = (number(count), number(places));
    move |data| data.priority = (data.priority + places).rem_euclid(count)
}

fn insert<T: Doc>(floor: &mut Floor, table: usize, count: usize) -> Result<()> {
    floor.insert::<T>(table, (0..count).map(|i| T::data(i, count)))
}

/// Reads the row ids of a table, and deletes the rows.
fn delete_all(floor: &mut Floor, table: usize) -> Result<()> {
    let mut row_ids = Vec::new();
    floor.scan(table, |row_id, _| row_ids.push(row_id))?;
    floor.delete(table, &row_ids)
}

fn scan(floor: &mut Floor, count: usize, probe: &mut Probe) -> Timed {
    let above = threshold(count);
    let work = || floor.fetch_owned::<BenchDoc>(0, |root| priority(root) > above);
    let (found, time) = probe.time(work)?;
    check("objects found", &found.len(), &selected_count(count))?;
    Ok(time)
}

fn fetch_by_key(floor: &mut Floor, count: usize, probe: &mut Probe) -> Timed {
    let titles = titles(count);
    let (found, time) = probe.time(|| {
        let mut found = 0;
        for title in &titles {
            found += usize::from(floor.get::<BenchDoc>(0, title)?.is_some());
        }
        Ok(found)
    })?;
    check("objects found", &found, &count)?;
    Ok(time)
}
